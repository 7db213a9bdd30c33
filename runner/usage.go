package runner

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the processor time, user and system, that the process has used
// so far; 0 if it is gone. It is one system call: each process has a clock.
func cpuTime(pid int) time.Duration {
	const schedule = 2 // the clock that counts precisely, of the three each process has
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedule), &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// Memory returns the resident memory of the child, in bytes; 0 if it is gone.
func (c *Child) Memory() int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(c.pid) + "/statm")
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}
