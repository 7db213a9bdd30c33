package clock

import "time"

var started = time.Now()

// uptime is a clock that nobody sets and that runs on while the machine is suspended.
// Only differences of it mean something.
func uptime() time.Duration { return time.Since(started) + suspended() }
