package runner

import (
	"slices"
	"time"

	"oarlock/protocol"
	"oarlock/runner/internal/proc"
)

// verdict ends r by what the child said of it, which came by s.
func (c *Child) verdict(s *stream, r *Run, st *protocol.Status, now time.Time) {
	c.hearOut(s)
	c.verdictAt(s, r, st, cpuTime(c.pid), now)
}

// hearOut takes in what was printed before what came by s, which the caller holds.
func (c *Child) hearOut(s *stream) {
	if s != c.out {
		c.out.catchUp()
	}
	c.err.catchUp()
}

// verdictAt is verdict when all was heard out, and the child had used so much of the processor.
func (c *Child) verdictAt(s *stream, r *Run, st *protocol.Status, cpu time.Duration, now time.Time) {
	if !c.mayEnd(r) {
		return
	}
	e := &r.ending
	e.Kind, e.Verdict, e.ExitCode, e.Began = Said, st.Verdict, -1, true
	c.mu.Lock()
	e.CPU = max(cpu-r.cpuBefore(), 0)
	c.mu.Unlock()
	e.Whole = r.batch != nil && st.Run == r.batch.id
	if st.Verdict.Kind != protocol.Ack {
		e.Group, e.Message = st.Verdict.Group, st.Verdict.Message
	}
	why := ""
	switch {
	case st.Err != nil:
		why = "its " + st.Verb + " cannot be understood: " + st.Err.Error()
	case st.Verdict.Kind == protocol.Ack && st.Verdict.Next != "" && c.putsItself(r):
		why = "it puts its own job again and moves it on to " + st.Verdict.Next + " as well"
	}
	if why != "" {
		e.Kind, e.Verdict, e.Group, e.Message = BrokeProtocol, nil, "protocol", why
	}
	if c.keepsDir(e) && c.alone(r) {
		// Where its directory goes is known when the child has left it.
		c.mu.Lock()
		c.linger(now)
		c.mu.Unlock()
		c.in.finish()
		c.attend()
		return
	}
	c.finish(s, r, now)
	if e.Kind == BrokeProtocol {
		c.end(CauseProtocol, e.Message)
	}
}

// alone reports whether the child has no other run than r.
func (c *Child) alone(r *Run) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.runs) == 1 && c.runs[0] == r
}

// cpuBefore is what the child had used of the processor before r, and, in a batch, before the last of it
// that ended. The caller holds mu, or nobody else has the child.
func (r *Run) cpuBefore() time.Duration {
	if r.batch != nil {
		return r.batch.cpu
	}
	return r.cpu
}

// putsItself tells whether r wants its own job to be put.
func (c *Child) putsItself(r *Run) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(r.puts, func(p protocol.Put) bool { return p.JID == r.Job.JID })
}

// mayEnd makes the caller the one that ends r; false: somebody else was first.
func (c *Child) mayEnd(r *Run) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !r.said
	r.said = true
	return first
}

// finish takes r, whose ending has its kind, off the child and reports it. The
// caller holds s, which may be nil.
func (c *Child) finish(s *stream, r *Run, now time.Time) {
	e := &r.ending
	wanted := e.Kind != Said || e.Verdict.Kind != protocol.Ack
	if c.st != nil && (s == nil || s == c.st) { // else its clock tells what was dropped
		c.endRecord(c.st, s, false)
	}
	e.StdoutTail = c.endRecord(c.out, s, wanted)
	e.StderrTail = c.endRecord(c.err, s, wanted)
	e.Output = c.kept.take()

	c.mu.Lock()
	c.used = r.cpuBefore() + e.CPU
	if r.batch != nil {
		r.batch.cpu, e.Batch = c.used, len(r.batch.runs)
	}
	next := c.remove(r, now)
	last := len(c.runs) == 0
	if e.Kind == Said {
		e.SentByUs = r.stopping
		switch r.stopping {
		case CauseCanceled:
			e.Kind = Canceled
		case CauseLockLost:
			e.Kind = LockLost
		}
	}
	if !r.since.IsZero() {
		e.Wall = now.Sub(r.since)
	}
	e.PeakMemory, e.Drained = r.peak, r.drained
	if c.oneJob() && e.Kind == Said && e.Verdict.Kind != protocol.Ack {
		e.PeakMemory = max(r.peak, proc.Peak(c.pid)) // it is still there to be asked
	}
	if r.progress.any {
		e.LastProgress = &r.progress.value
	}
	if r.checkpoint.any {
		e.Checkpoint = r.checkpoint.value
	}
	e.Puts, e.Wishes = r.puts, r.wishes.take()
	c.mu.Unlock()

	if next != nil {
		c.send(next)
		c.host.clock.arm(c.firstLook(next))
	}
	if c.spec.Mode == Preload && last {
		c.in.finish() // the fork has done what it was made for
	}
	c.events.RunEnded(c, r, e)
}

func (c *Child) endRecord(s, held *stream, wanted bool) []byte {
	if s != held {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	return s.endRun(wanted)
}

// remove takes r off the runs, and off the agenda what was there because of it. It
// returns the run that has come to the front, if there is one, for the caller to
// send. The caller holds mu.
func (c *Child) remove(r *Run, now time.Time) (next *Run) {
	for i, have := range c.runs {
		if have == r {
			c.runs = append(c.runs[:i], c.runs[i+1:]...)
			break
		}
	}
	c.relet()
	c.jobs++
	leaving := c.killed || c.termed || c.cause != CauseNone
	if len(c.runs) > 0 {
		if c.runs[0].since.IsZero() && !leaving {
			next = c.runs[0]
			c.toFront(next, now)
		}
	} else if c.state == Busy {
		c.move(Ready)
	}
	switch {
	case c.killed || c.termed:
	case c.oneJob():
		if len(c.runs) == 0 {
			c.linger(now)
		}
	case c.cause != CauseNone:
		if len(c.runs) == 0 || c.runs[0].since.IsZero() { // told to leave, and free to do so
			c.hasten(now.Add(min(idleGrace, time.Until(c.killAt)/2)), c.killAt)
		}
	case !c.stopsAny():
		c.termAt, c.killAt = time.Time{}, time.Time{}
	}
	c.host.clock.arm(c.termAt)
	return next
}

func (c *Child) stopsAny() bool {
	for _, r := range c.runs {
		if r.stopping != CauseNone {
			return true
		}
	}
	return false
}

// linger gives a child that has done its one job a while to leave. The caller
// holds mu.
func (c *Child) linger(now time.Time) {
	if c.state == Busy || c.state == Ready {
		c.move(Draining)
	}
	if c.cause == CauseNone {
		c.cause = CauseLinger
	}
	c.hasten(now.Add(c.spec.ExitTimeout/2), now.Add(c.spec.ExitTimeout))
}
