// Package proc tells what the kernel says about processes: which there are, below whom, since when, and
// what they hold. It only looks, and keeps nothing. It knows neither children nor how they are started.
//
// A process that is gone has no children, no memory and no environment: callers need no error for what
// ends by itself at any moment. What only Linux has stands in proc_linux.go.
package proc

import "strconv"

// Stat is what there is to know of a process at a glance.
type Stat struct {
	State  byte // R, S, D, Z, T, …
	Parent int
	Group  int
	Start  uint64 // clock ticks after boot; with the pid, the name of one process for ever
}

// Alive tells whether pid has not ended: a zombie has.
func Alive(pid int) bool {
	s, there := Read(pid)
	return there && s.State != 'Z'
}

// Living counts those of pids that have not ended.
func Living(pids []int) (n int) {
	for _, pid := range pids {
		if Alive(pid) {
			n++
		}
	}
	return n
}

// Mark names the process pid that was started at start, among those since the last boot.
func Mark(pid int, start uint64) string {
	return strconv.Itoa(pid) + "-" + strconv.FormatUint(start, 10)
}

// Descendants returns every process below pid, parents before their children.
func Descendants(pid int) []int {
	found := Children(nil, pid)
	for i := 0; i < len(found); i++ {
		found = Children(found, found[i])
	}
	return found
}

// Memory is what a process holds, in bytes.
type Memory struct {
	Resident int64 // with all that it shares with others: too much for a fork
	Share    int64 // what it shares counts in part (PSS)
	Private  int64 // its own alone
}
