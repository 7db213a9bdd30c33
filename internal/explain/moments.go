package explain

import (
	"fmt"

	"oarlock/internal/screen"
	"oarlock/queue"
)

// DueWords says when something is due, and how far that is away, or how long ago it was.
func DueWords(now, due float64) string {
	if due >= screen.NoYear || due <= -screen.NoYear {
		return screen.Moment(due)
	}
	return screen.Moment(due) + ", " + distance(now, due)
}

// distance says how far a due time is away, or how long ago it was.
func distance(now, due float64) string {
	if due <= now {
		return fmt.Sprintf("which was %s ago: it comes with the next take", screen.Ago(due, now))
	}
	return screen.Ago(now, due) + " from now"
}

// endless reports of the end of a lock whether somebody must have written it who grants none.
func endless(expires, now float64) bool { return expires-now > queue.LongestLock().Seconds() }

// LockWords says how a lock stands that ends at a moment.
func LockWords(now, expires float64) string {
	switch {
	case expires == 0:
		return "has no end that Redis knows"
	case expires <= now:
		return fmt.Sprintf("ran out %s ago", screen.Ago(expires, now))
	case endless(expires, now):
		return fmt.Sprintf("holds for longer than any lock does (%s at most)", screen.Span(queue.LongestLock()))
	}
	return fmt.Sprintf("holds for another %s", screen.Ago(now, expires))
}
