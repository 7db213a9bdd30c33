package tree

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// oomKills returns the number of oom_kill in a file of counters like memory.events; -1 if there is none.
func oomKills(file string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(text)) {
		if number, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			if err != nil {
				return -1
			}
			return n
		}
	}
	return -1
}

// oomCounter finds, for a process that was killed by nobody we know, what the kernel says about it: its
// log names the victims of the OOM killer, where we may read it; the counter of the control group that
// we are in, together with our children, counts them. Each one counted explains one death.
type oomCounter struct {
	file string // empty: no such counter

	mu        sync.Mutex
	explained int64
}

func openOOMCounter() *oomCounter {
	c := &oomCounter{}
	for _, file := range memoryCounters() {
		if c.explained = oomKills(file); c.explained >= 0 {
			c.file = file
			break
		}
	}
	return c
}

// memoryCounters returns where the control group that we are in may count the victims of its limit.
func memoryCounters() []string {
	var files []string
	if own, err := ownCgroup(); err == nil {
		files = append(files, filepath.Join(own, "memory.events"))
	}
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		if _, path, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":memory:"); ok {
			files = append(files, filepath.Join("/sys/fs/cgroup/memory", path, "memory.oom_control"))
		}
	}
	return files
}

// proof returns in words how the kernel shows that pid, born at born, was killed for want of memory;
// empty if it does not.
func (c *oomCounter) proof(pid int, born time.Time) string {
	named := namedVictim(pid, born)
	c.mu.Lock()
	defer c.mu.Unlock()
	counted := false
	if c.file != "" {
		if counted = oomKills(c.file) > c.explained; counted {
			c.explained++
		}
	}
	switch {
	case named != "":
		return "the kernel's log: " + named
	case counted:
		return fmt.Sprintf("oom_kill in %s rose to %d", c.file, c.explained)
	}
	return ""
}

// namedVictim returns the line of the kernel's log that names pid as killed for want of memory, since
// born; empty if there is none or we may not read it.
func namedVictim(pid int, born time.Time) string {
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var boot unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &boot)
	since := time.Duration(boot.Nano()) - time.Since(born)
	return findVictim(func(record []byte) int {
		n, err := unix.Read(fd, record)
		if err == unix.EPIPE { // this record was overwritten while we read
			return 0
		}
		if err != nil {
			return -1
		}
		return n
	}, pid, since)
}

// findVictim looks through records of the kernel's log ("priority,sequence,microseconds,…;text"), until
// next returns -1, for a process killed for want of memory since so long after boot.
func findVictim(next func([]byte) int, pid int, since time.Duration) string {
	name := []byte("Killed process " + strconv.Itoa(pid) + " ")
	buffer := make([]byte, 8192)
	for {
		n := next(buffer)
		if n < 0 {
			return ""
		}
		head, text, _ := bytes.Cut(buffer[:n], []byte(";"))
		if !bytes.Contains(text, name) {
			continue
		}
		fields := bytes.SplitN(head, []byte(","), 4)
		if len(fields) < 3 {
			continue
		}
		micros, err := strconv.ParseInt(string(fields[2]), 10, 64)
		if err == nil && time.Duration(micros)*time.Microsecond >= since-time.Second {
			line, _, _ := bytes.Cut(text, []byte("\n"))
			return string(line)
		}
	}
}
