package runner

import (
	"slices"
	"sync/atomic"
	"time"

	"oarlock/protocol"
)

// Run is one job once on one child. Its methods may be called by several
// goroutines.
type Run struct {
	Job *protocol.Job // as it was given to Child.Run; not changed

	child  *Child
	batch  *batch // that it came in; nil: by itself
	limits RunLimits
	line   atomic.Int64 // where its line ends in what the child is to read; 0: not placed there yet
	from   atomic.Int64 // where it begins
	ending Ending

	// The rest is guarded by child.mu.

	lease      time.Duration // when it ends; 0: it has none
	since      time.Time     // when it came to the front: the child may be at work on it
	cpu        time.Duration // of the child by then
	stopping   Cause
	sent       bool      // its line was given to the pipe
	drained    bool      // the child was told that the run is to come to an end
	drainBy    time.Time // and when it will be interrupted; zero: it will not
	said       bool      // its ending is decided
	read       bool      // the child was seen to have read of its line
	unread     time.Time // when it was last seen not to have, since the time of the run was over; zero: it was not
	progress   held[protocol.Progress]
	checkpoint held[[]byte]
	puts       []protocol.Put
	wishes     wishes
	putBytes   int
	peak       int64     // highest memory seen
	sampleAt   time.Time // when to look next
}

// Child returns the child that was given the run.
func (r *Run) Child() *Child { return r.child }

// Renew moves the end of the run's lease; see RunLimits.Lease. It changes nothing once the run has ended, or
// was ended because of its lease.
func (r *Run) Renew(lease time.Duration) {
	c := r.child
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds(r) {
		r.lease = lease
		c.relet()
	}
}

// relet lets the child live until the lease of the run, or the first of the batch, that it has ends. The caller holds mu.
func (c *Child) relet() {
	var until time.Duration
	if len(c.runs) > 0 {
		until = c.runs[0].lease
	}
	if b := c.atHand(); b != nil { // whichever lease ends first, all that may be at work is to be dead
		for _, r := range b.runs {
			if !r.said && r.lease > 0 && (until == 0 || r.lease < until) {
				until = r.lease
			}
		}
	}
	c.proc.Lease(until)
}

// placed notes where the line of r stands in what the child is to read, before it can.
func (r *Run) placed(from, end int64) {
	r.from.Store(from)
	r.line.Store(end)
}

// readBy tells whether a child that has read so far has begun with the line of r. Who
// has read a part may have died of it.
func (r *Run) readBy(consumed int64) bool { return r.line.Load() > 0 && consumed > r.from.Load() }

// Begun tells whether the child has begun to read the run's line.
func (r *Run) Begun() bool {
	c := r.child
	return c.spec.Mode == Once || c.spec.Input == InputNone || r.readBy(c.in.consumed())
}

// hasRead tells whether the line of r was written, and the child has begun to read it. The
// caller holds mu.
func (c *Child) hasRead(r *Run) bool {
	r.read = c.in.reached(r.line.Load()) && r.Begun()
	return r.read
}

// Told tells whether the child was told of the run, for none was before it any more. It stays so when the run has ended.
func (r *Run) Told() bool {
	r.child.mu.Lock()
	defer r.child.mu.Unlock()
	return !r.since.IsZero()
}

// Stopping returns why the run was asked to stop, CauseNone if it was not.
func (r *Run) Stopping() Cause {
	r.child.mu.Lock()
	defer r.child.mu.Unlock()
	return r.stopping
}

// Withdraw takes the run back from its child if the child was told nothing of it, because
// it has another before it. Then the run is over and no ending follows: its job may be
// given to another child. Otherwise nothing changes.
func (r *Run) Withdraw() bool {
	c := r.child
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.said || !r.since.IsZero() || !c.holds(r) {
		return false
	}
	r.said = true
	c.runs = slices.DeleteFunc(c.runs, func(have *Run) bool { return have == r })
	return true
}
