package queue

import "time"

// century is longer than anybody waits, and short enough that two of them can be added.
const century = 100 * 365 * 24 * time.Hour

// Duration is an amount of seconds as Redis keeps them, for a timer of ours: one that none could
// count is a century, and so is what is no number.
func Duration(seconds float64) time.Duration {
	switch {
	case seconds <= -century.Seconds():
		return -century
	case seconds < century.Seconds():
		return time.Duration(seconds * float64(time.Second))
	}
	return century
}
