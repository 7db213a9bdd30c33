package clock

import (
	"time"

	"golang.org/x/sys/unix"

	"oarlock/internal/nowait"
)

// suspended is how long the machine has slept since it was booted. Go's own monotonic
// clock stands still meanwhile, and locks in Redis do not.
func suspended() time.Duration {
	boot, err := nowait.Clock(unix.CLOCK_BOOTTIME)
	if err != nil {
		return 0
	}
	mono, err := nowait.Clock(unix.CLOCK_MONOTONIC)
	if err != nil {
		return 0
	}
	// The two are read one after the other, so a difference below this is no sleep.
	const readers = 10 * time.Millisecond
	slept := boot - mono
	if slept < readers {
		return 0
	}
	return slept
}
