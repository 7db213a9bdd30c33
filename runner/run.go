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
