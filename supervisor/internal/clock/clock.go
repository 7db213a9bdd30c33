// Package clock is time as a supervisor reckons it: a clock that runs on while the machine
// sleeps, leases on that clock, and waits that grow or are drawn. It owns what the kernel
// last said of the time. It knows nothing of Redis, of whose times it is told differences.
package clock

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/internal/nowait"
)

// Boot reads the time since the machine was started, including what it slept: a
// lease runs on while the machine is suspended, and Go's own monotonic clock does not.
//
// Asking the kernel takes a system call, and the loop asks in every turn. So it is
// asked only when it might have to say something new: when the wall clock moved
// against the monotonic one, as it does in a suspend, and once a second. Safe for
// concurrent use. The zero value is ready.
type Boot struct {
	mu    sync.Mutex
	asked time.Time     // when the kernel was asked, on both of Go's clocks
	boot  time.Duration // what it said
}

// clockDrift is how far the wall clock may move against the monotonic one before the
// kernel is asked again.
const clockDrift = time.Millisecond

// Now returns the time since boot.
func (c *Boot) Now() time.Duration {
	t := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	run := t.Sub(c.asked)                           // on the monotonic clock
	drift := t.Round(0).Sub(c.asked.Round(0)) - run // of the wall clock against it
	if c.asked.IsZero() || run > time.Second || drift.Abs() > clockDrift {
		c.asked, c.boot, run = t, askBoot(), 0
	}
	return c.boot + run
}

func askBoot() time.Duration {
	boot, err := nowait.Clock(unix.CLOCK_BOOTTIME)
	if err != nil {
		// Linux has had this clock since 2.6.39; only a broken argument can fail.
		panic("clock: CLOCK_BOOTTIME: " + err.Error())
	}
	return boot
}
