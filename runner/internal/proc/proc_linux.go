package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// Children appends to pids the processes whose parent is pid.
func Children(pids []int, pid int) []int {
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

// Read returns false when pid is gone.
func Read(pid int) (Stat, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Stat{}, false
	}
	// The second field is the program's name in parentheses and may hold anything; the last ")" ends it.
	end := bytes.LastIndexByte(text, ')')
	fields := bytes.Fields(text[end+1:])
	const fieldsBefore = 3 // fields[0] is field 3 of proc(5)
	if end < 0 || len(fields) <= 22-fieldsBefore {
		return Stat{}, false
	}
	number := func(field int) uint64 {
		n, _ := strconv.ParseUint(string(fields[field-fieldsBefore]), 10, 64)
		return n
	}
	return Stat{
		State:  fields[0][0],
		Parent: int(number(4)),
		Group:  int(number(5)),
		Start:  number(22),
	}, true
}

// ReadMemory returns false when pid is gone or may not be looked at. It costs the better part of a
// millisecond for a large process; Resident costs a hundredth.
func ReadMemory(pid int) (Memory, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return Memory{}, false
	}
	var m Memory
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

// Resident returns the resident memory of pid, in bytes; 0 when it is gone.
func Resident(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}

// Peak returns the highest resident memory that pid ever had, in bytes; 0 when it is gone. It is
// not what the kernel reports at its end (ru_maxrss), which begins with that of the process that
// started it.
func Peak(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(text, []byte("\nVmHWM:"))
	number, _, _ := bytes.Cut(bytes.TrimSpace(after), []byte(" "))
	n, _ := strconv.ParseInt(string(number), 10, 64)
	return n << 10
}

// Environment returns the environment that pid was started with, a NUL before and behind each entry; no
// entry of one that has ended, is gone, or is not for us to see.
func Environment(pid int) []byte {
	env, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return append([]byte{0}, env...)
}

// Cgroups returns the control groups that pid is in, a line each as cgroups(7) describes it.
func Cgroups(pid int) []byte {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	return text
}

// All returns the processes that we see.
func All() (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Boot returns the kernel's random name of the time since its start.
func Boot() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // absent in some containers: all alike then
	return string(bytes.TrimSpace(id))
}
