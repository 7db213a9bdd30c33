package supervisor

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootClock returns the time since the machine was started, including what it
// slept: a lease runs on while the machine is suspended, and Go's own monotonic
// clock does not.
func bootClock() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		// Linux has had this clock since 2.6.39; only a broken argument can fail.
		panic("supervisor: CLOCK_BOOTTIME: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
