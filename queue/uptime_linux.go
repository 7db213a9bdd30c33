package queue

import (
	"time"

	"golang.org/x/sys/unix"
)

// suspended is how long the machine has slept since it was booted. Go's own monotonic
// clock stands still meanwhile, and locks in Redis do not.
func suspended() time.Duration {
	var boot, mono unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono) != nil {
		return 0
	}
	// The two are read one after the other, so a difference below this is no sleep.
	const readers = 10 * time.Millisecond
	slept := time.Duration(boot.Nano() - mono.Nano())
	if slept < readers {
		return 0
	}
	return slept
}
