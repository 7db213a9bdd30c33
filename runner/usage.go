package runner

import (
	"time"

	"oarlock/internal/nowait"
	"oarlock/runner/internal/proc"
)

// cpuTime returns the processor time, user and system, that the process has used
// so far; 0 if it is gone. It is one system call: each process has a clock.
func cpuTime(pid int) time.Duration {
	const schedule = 2 // the clock that counts precisely, of the three each process has
	used, _ := nowait.Clock(int32(^pid<<3 | schedule))
	return used
}

// Memory returns the memory of the child and of what it has started, in bytes: what
// it shares counts in part. 0 if it is gone.
func (c *Child) Memory() int64 {
	below := proc.Descendants(c.pid)
	if len(below) == 0 && c.spec.Mode != Preload {
		return proc.Resident(c.pid) // shares nothing worth the time to find out
	}
	var sum int64
	for _, pid := range append(below, c.pid) {
		m, _ := proc.ReadMemory(pid)
		sum += m.Share
	}
	return sum
}

// sample looks at how much memory the child uses during r, and ends it if that is
// more than it may.
func (c *Child) sample(r *Run) {
	used := c.Memory()
	c.mu.Lock()
	r.peak = max(r.peak, used)
	c.mu.Unlock()
	if limit := c.spec.Sandbox.Limits.Memory; limit != nil && used > int64(*limit) {
		c.Kill(CauseMemory)
	}
}
