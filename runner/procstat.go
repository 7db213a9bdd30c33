package runner

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// What the kernel says in /proc about processes. A process that is gone has no children, no memory and
// has used no time: callers need no error for what ends by itself at any moment.

// children appends to pids the processes whose parent is pid.
func children(pids []int, pid int) []int {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	dir, err := os.Open(tasks)
	if err != nil {
		return pids
	}
	defer dir.Close()
	threads, _ := dir.Readdirnames(-1) // an adopted child belongs to any of them
	for _, thread := range threads {
		text, err := os.ReadFile(tasks + "/" + thread + "/children")
		if err != nil {
			continue
		}
		for _, field := range bytes.Fields(text) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// descendants returns every process below pid, parents before their children.
func descendants(pid int) []int {
	found := children(nil, pid)
	for i := 0; i < len(found); i++ {
		found = children(found, found[i])
	}
	return found
}

// living counts those of pids that have not ended.
func living(pids []int) (n int) {
	for _, pid := range pids {
		if s, there := readStat(pid); there && s.State != 'Z' {
			n++
		}
	}
	return n
}

// killAll sends each of pids SIGKILL.
func killAll(pids []int) {
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// stat holds fields of /proc/<pid>/stat.
type stat struct {
	State  byte // R, S, D, Z, T, …
	Parent int
	Group  int
	Cpu    time.Duration // user and system, of itself
	Start  uint64        // clock ticks after boot; with the pid, the name of one process for ever
}

// clockTick is the unit of times in stat: USER_HZ, which Linux fixed at 100 for every architecture of Go's.
const clockTick = 10 * time.Millisecond

// readStat returns false when pid is gone.
func readStat(pid int) (stat, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	// The second field is the program's name in parentheses and may hold anything; the last ")" ends it.
	end := bytes.LastIndexByte(text, ')')
	fields := bytes.Fields(text[end+1:])
	const fieldsBefore = 3 // fields[0] is field 3 of proc(5)
	if end < 0 || len(fields) <= 22-fieldsBefore {
		return stat{}, false
	}
	number := func(field int) uint64 {
		n, _ := strconv.ParseUint(string(fields[field-fieldsBefore]), 10, 64)
		return n
	}
	return stat{
		State:  fields[0][0],
		Parent: int(number(4)),
		Group:  int(number(5)),
		Cpu:    time.Duration(number(14)+number(15)) * clockTick,
		Start:  number(22),
	}, true
}

// memory is what a process holds, in bytes.
type memory struct {
	Resident int64 // with all that it shares with others: too much for a fork
	Share    int64 // what it shares counts in part (PSS)
	Private  int64 // its own alone
}

// readMemory returns false when pid is gone or may not be looked at. It costs the better part of a
// millisecond for a large process; residentMemory costs a hundredth.
func readMemory(pid int) (memory, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return memory{}, false
	}
	var m memory
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		number, _, _ := bytes.Cut(bytes.TrimSpace(value), []byte(" "))
		n, err := strconv.ParseInt(string(number), 10, 64)
		if err != nil {
			continue
		}
		switch string(name) {
		case "Rss":
			m.Resident = n << 10
		case "Pss":
			m.Share = n << 10
		case "Private_Clean", "Private_Dirty":
			m.Private += n << 10
		}
	}
	return m, m.Resident > 0
}

// residentMemory returns the resident memory of pid, in bytes; 0 when it is gone.
func residentMemory(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}

// peakMemory returns the highest resident memory that pid ever had, in bytes; 0 when it is gone. It is
// not what the kernel reports at its end (ru_maxrss), which begins with that of the process that
// started it.
func peakMemory(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(text, []byte("\nVmHWM:"))
	number, _, _ := bytes.Cut(bytes.TrimSpace(after), []byte(" "))
	n, _ := strconv.ParseInt(string(number), 10, 64)
	return n << 10
}
