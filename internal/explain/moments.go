package explain

import (
	"fmt"

	"oarlock/internal/screen"
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

// LockWords says how a lock stands that ends at a moment.
func LockWords(now, expires float64) string {
	switch {
	case expires == 0:
		return "has no end that Redis knows"
	case expires <= now:
		return fmt.Sprintf("ran out %s ago", screen.Ago(expires, now))
	}
	return fmt.Sprintf("holds for another %s", screen.Ago(now, expires))
}
