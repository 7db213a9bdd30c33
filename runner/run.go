package runner

import (
	"sync/atomic"
	"time"

	"oarlock/protocol"
)

// Run is one job once on one child. Its methods may be called by several
// goroutines.
type Run struct {
	Job *protocol.Job // as it was given to Child.Run; not changed

	child  *Child
	limits RunLimits
	line   atomic.Int64 // where its line ends in what the child is to read; 0: not sent yet
	ending Ending

	// The rest is guarded by child.mu.

	since      time.Time     // when it came to the front: the child may be at work on it
	cpu        time.Duration // of the child by then
	stopping   Cause
	said       bool // its ending is decided
	progress   held[protocol.Progress]
	checkpoint held[[]byte]
	puts       []protocol.Put
	putBytes   int
	peak       int64     // highest memory seen
	sampleAt   time.Time // when to look next
}

// Child returns the child that was given the run.
func (r *Run) Child() *Child { return r.child }

// Stopping returns why the run was asked to stop, CauseNone if it was not.
func (r *Run) Stopping() Cause {
	r.child.mu.Lock()
	defer r.child.mu.Unlock()
	return r.stopping
}

// Cancel asks the run to stop because of cause (CauseCanceled, CauseLockLost,
// CauseTimeout or CauseShutdown), and kills the child if it is still at it after
// grace. Called again it can only shorten the time left, except that
// CauseLockLost replaces any other cause. The ending follows as ever.
func (r *Run) Cancel(cause Cause, grace time.Duration) {
	c := r.child
	c.mu.Lock()
	open := c.holds(r)
	if open {
		c.stop(r, cause, grace, time.Now())
	}
	c.mu.Unlock()
	if open {
		c.attend()
	}
}

// held is the latest of the values that a child sends too often to be passed on
// each time.
type held[T any] struct {
	value T
	any   bool      // there was one
	due   time.Time // when value is to be passed on; zero: it was
	next  time.Time // when one may be passed on again
}

// interval is the time between two values that are passed on.
const interval = time.Second

// set keeps v. It tells whether to pass it on at once.
func (h *held[T]) set(v T, now time.Time) bool {
	h.value, h.any = v, true
	if now.Before(h.next) {
		h.due = h.next
		return false
	}
	h.due, h.next = time.Time{}, now.Add(interval)
	return true
}

// passed notes that the value is passed on at now, when it was due.
func (h *held[T]) passed(now time.Time) { h.due, h.next = time.Time{}, now.Add(interval) }
