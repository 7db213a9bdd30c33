package runner

import (
	"syscall"
	"time"

	"oarlock/protocol"
)

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

// Drain tells the child that the run will be interrupted when left is over, or, if that is 0, that a replacement
// waits for its end: it may end where the next attempt can go on, and give the job back. A child that reads such
// lines hears of it by one, any other by Spec.DrainSignal, once. Nothing is enforced.
func (r *Run) Drain(left time.Duration) {
	c := r.child
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.holds(r) || r.said:
	case c.can(protocol.CapDraining):
		var by time.Time
		if left > 0 {
			by = time.Now().Add(left)
		}
		if r.batch != nil {
			c.drainBatch(r.batch, left, by)
			return
		}
		r.drained, r.drainBy = true, by
		if r.sent { // else send does it: the child does not know the run yet
			c.tellDraining(r, left)
		}
	case c.spec.DrainSignal != 0:
		r.drained = true
		if !c.told {
			c.told = true
			c.proc.Tell(c.spec.DrainSignal)
		}
	}
}

// tellDraining writes the line of Drain. The caller holds mu.
func (c *Child) tellDraining(r *Run, left time.Duration) {
	c.in.send(func(buf []byte) []byte { return protocol.AppendDraining(buf, r.Job.Run, left) }, nil)
}

// Shutdown asks the child to finish what it has and to leave, and kills it after
// grace; runs that it did not finish are interrupted. It takes no further job.
// Called again it can only shorten the time left.
func (c *Child) Shutdown(grace time.Duration) {
	now := time.Now()
	c.mu.Lock()
	if c.cause == CauseNone {
		c.cause = CauseShutdown
		if c.state != Killing && c.state != Gone {
			c.move(Draining)
		}
		if c.can(protocol.CapShutdown) {
			c.in.send(func(buf []byte) []byte { return protocol.AppendShutdown(buf, grace) }, nil)
		} else {
			c.in.finish()
		}
	}
	termAfter := grace / 4 * 3 // a child at work gets most of the time for it
	if len(c.runs) == 0 {
		termAfter = min(grace/2, idleGrace)
	}
	c.hasten(now.Add(termAfter), now.Add(grace))
	c.mu.Unlock()
	c.claim()
	c.attend()
}

// idleGrace is how long an idle child that was told to leave has for it before it
// gets SIGTERM.
const idleGrace = time.Second

// Kill kills the child with all that it started, because of cause. Its run, if it
// has one, ends by that cause; CauseProtocol says that it did not read its job in time.
func (c *Child) Kill(cause Cause) {
	why := ""
	if cause == CauseProtocol { // somebody lost patience before WriteTimeout was over
		why = "it did not read its job in time"
	}
	c.end(cause, why)
}

// end kills the child because of cause, which why tells more about.
func (c *Child) end(cause Cause, why string) {
	now := time.Now()
	c.mu.Lock()
	if c.cause == CauseNone || !c.killed && !c.termed {
		c.cause, c.why = cause, why
	}
	c.hasten(now, now)
	c.mu.Unlock()
	c.claim()
	c.attend()
}

// stop asks the child to stop r: by a cancel line if it reads those, else by
// SIGTERM at once; SIGKILL follows after grace. What can be due at once is left to
// look. The caller holds mu.
func (c *Child) stop(r *Run, cause Cause, grace time.Duration, now time.Time) {
	if r.batch != nil && cause != CauseCanceled && cause != CauseLockLost { // these are of one job alone
		c.stopBatch(r.batch, cause, grace, now)
		return
	}
	if r.stopping == CauseNone || cause == CauseLockLost {
		r.stopping, c.stopped = cause, cause
		if c.can(protocol.CapCancel) {
			c.in.send(func(buf []byte) []byte {
				return protocol.AppendCancel(buf, r.Job.Run, reasonOf(cause), grace)
			}, nil)
		}
	}
	c.hastenStop(grace, now)
}

// hastenStop sees to it that a child which was asked to stop what it has is over with it after grace. The
// caller holds mu.
func (c *Child) hastenStop(grace time.Duration, now time.Time) {
	termAt := now
	if c.can(protocol.CapCancel) {
		termAt = now.Add(grace / 2)
	}
	c.hasten(termAt, now.Add(grace))
}

// reasonOf returns the word of the protocol for cause.
func reasonOf(cause Cause) string {
	switch cause {
	case CauseCanceled:
		return protocol.ReasonCanceled
	case CauseLockLost:
		return protocol.ReasonLockLost
	case CauseTimeout, CauseStall:
		return protocol.ReasonTimeout
	}
	return protocol.ReasonShutdown
}

// hasten moves SIGTERM and SIGKILL forward to these times. The caller holds mu.
func (c *Child) hasten(termAt, killAt time.Time) {
	if c.termAt.IsZero() || termAt.Before(c.termAt) {
		c.termAt = termAt
	}
	if c.killAt.IsZero() || killAt.Before(c.killAt) {
		c.killAt = killAt
	}
}

// terminate asks the process group to end; one that was stopped must go on to hear it.
func (c *Child) terminate() {
	c.proc.Signal(syscall.SIGTERM)
	c.proc.Signal(syscall.SIGCONT)
}
