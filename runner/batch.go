package runner

import (
	"slices"
	"time"

	"oarlock/protocol"
)

// batch is several runs that a child was given in one message. It works them all at once, as far
// as we know, so what befalls the child befalls all of them that have no verdict.
type batch struct {
	id   string // of the message: what names it is about all of them
	runs []*Run // all that there were; not changed

	// Guarded by the child's mu.

	cpu     time.Duration // of the child when it was given the batch, or when the last of its runs ended
	drained bool          // the child was told that the batch is to come to an end
}

// Batches reports whether the child reads batch lines, so that it may be given to RunBatch.
func (c *Child) Batches() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.can(protocol.CapBatch)
}

// RunBatch is Run for 1 to protocol.MaxBatch jobs of one class in one message, to a child without a run
// of which Batches is true. It returns a run for each, in their order. The time of a batch is the longest
// of its limits, where 0 is the longest of all; each run has its lease and its ending.
//
// It returns ErrLeaving and ErrPayload as Run does: the child was given none of the jobs then.
func (c *Child) RunBatch(jobs []*protocol.Job, limits []RunLimits) ([]*Run, error) {
	b := &batch{id: protocol.NewRun(), runs: make([]*Run, len(jobs))}
	timeout := limits[0].Timeout
	for i, job := range jobs {
		if len(job.Data) > 0 && !protocol.Valid(job.Data) {
			return nil, ErrPayload
		}
		b.runs[i] = &Run{Job: job, child: c, batch: b, limits: limits[i], lease: limits[i].Lease}
		if limits[i].Timeout == 0 || timeout > 0 && limits[i].Timeout > timeout {
			timeout = limits[i].Timeout
		}
	}
	for _, r := range b.runs {
		r.limits.Timeout = timeout
	}
	if !c.acceptBatch(b) {
		return nil, ErrLeaving
	}
	c.sendBatch(b)
	c.host.clock.arm(c.firstLook(b.runs[0]))
	return b.runs, nil
}

// acceptBatch takes b on, if the child is idle and reads such lines.
func (c *Child) acceptBatch(b *batch) bool {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != Ready || !c.can(protocol.CapBatch) {
		return false
	}
	c.move(Busy)
	c.runs = append(c.runs, b.runs...)
	c.relet()
	if b.cpu = c.used; b.cpu == 0 {
		b.cpu = cpuTime(c.pid)
	}
	for _, r := range b.runs {
		r.since, r.sampleAt = now, now.Add(sampling)
	}
	return true
}

// append appends the line of b.
func (b *batch) append(buf []byte) []byte {
	first := b.runs[0]
	message := protocol.Batch{Run: b.id, Klass: first.Job.Klass, Timeout: first.limits.Timeout, Dir: first.child.dir}
	for _, r := range b.runs {
		message.Jobs = append(message.Jobs, r.Job)
		if lease := r.Job.Lease; lease > 0 && (message.Lease == 0 || lease < message.Lease) {
			message.Lease = lease
		}
	}
	return protocol.AppendBatch(buf, &message)
}

// Message is the line by which the child was given the run with others; nil if it was given it by itself.
func (r *Run) Message() []byte {
	if r.batch == nil {
		return nil
	}
	return r.batch.append(nil)
}

// sendBatch writes the line of b.
func (c *Child) sendBatch(b *batch) {
	c.in.send(b.append, func(from, end int64) {
		for _, r := range b.runs {
			r.placed(from, end)
		}
	})
}

// open are the runs of b that have no verdict, oldest first. The caller holds the child's mu.
func (b *batch) open() []*Run {
	return slices.DeleteFunc(slices.Clone(b.runs), func(r *Run) bool { return r.said })
}

// anyOpen reports whether a run of b has no verdict. The caller holds the child's mu.
func (b *batch) anyOpen() bool {
	return slices.ContainsFunc(b.runs, func(r *Run) bool { return !r.said })
}

// only is the one run of b without a verdict, of that id where it is not empty; nil if there is none, or, where
// no id is named, more than one. The caller holds the child's mu.
func (b *batch) only(id string) (one *Run) {
	for _, r := range b.runs {
		switch {
		case r.said || id != "" && r.Job.Run != id:
		case id != "":
			return r
		case one != nil:
			return nil
		default:
			one = r
		}
	}
	return one
}

// has reports whether a run of b without a verdict has that id. The caller holds the child's mu.
func (b *batch) has(id []byte) bool {
	return slices.ContainsFunc(b.runs, func(r *Run) bool { return !r.said && r.Job.Run == string(id) })
}

// atHand is the batch that the child has; nil if it has none. The caller holds mu.
func (c *Child) atHand() *batch {
	if len(c.runs) == 0 {
		return nil
	}
	return c.runs[0].batch
}

// ofAll handles a status line that came by s, which the caller holds, and names the batch itself.
func (c *Child) ofAll(s *stream, b *batch, line *protocol.Line, now time.Time) {
	st := &line.Status
	if st.Wish != nil && st.Wish.JID == "" && st.Wish.Ends() {
		st.Verdict = st.Wish.Verdict()
	}
	c.mu.Lock()
	open := b.open()
	c.mu.Unlock()
	switch {
	case st.Verdict != nil && st.Err != nil, st.Verb == protocol.VerbPut:
		why := "its " + st.Verb + " cannot be understood: it names the batch, and not the run whose ack puts the job"
		if st.Err != nil {
			why = "its " + st.Verb + " cannot be understood: " + st.Err.Error()
		}
		s.record(nil, LogLine{Stream: s.kind, Text: line.Text, Refused: why}, now)
		c.end(CauseProtocol, why)
	case st.Verdict != nil:
		c.hearOut(s)
		cpu := cpuTime(c.pid)
		for _, r := range open {
			c.verdictAt(s, r, st, cpu, now)
		}
	case st.Verb == protocol.VerbProgress && st.Err == nil:
		c.progress(open[0], st, now)
	case st.Verb == protocol.VerbLog:
		s.record(nil, LogLine{Stream: s.kind, Text: line.Text, Record: st.Log}, now)
	case st.Verb != protocol.VerbHeartbeat:
		c.refuse(s, line, "it names the batch, and has to name the run of a job", now)
	}
}

// stopBatch asks the child to stop all of b that has no verdict, because of cause. The caller holds mu.
func (c *Child) stopBatch(b *batch, cause Cause, grace time.Duration, now time.Time) {
	told := false
	for _, r := range b.runs {
		if r.said || r.stopping != CauseNone {
			continue
		}
		r.stopping, c.stopped, told = cause, cause, true
	}
	if told && c.can(protocol.CapCancel) {
		c.in.send(func(buf []byte) []byte { return protocol.AppendCancel(buf, b.id, reasonOf(cause), grace) }, nil)
	}
	c.hastenStop(grace, now)
}

// drainBatch is Run.Drain for a batch, which is told once for all its runs: by is when they will be interrupted.
// The caller holds mu.
func (c *Child) drainBatch(b *batch, left time.Duration, by time.Time) {
	sooner := false
	for _, r := range b.runs {
		if !r.said {
			sooner = sooner || r.drainBy.IsZero() && !by.IsZero() || by.Before(r.drainBy)
			r.drained, r.drainBy = true, by
		}
	}
	if !b.drained || sooner {
		b.drained = true
		c.in.send(func(buf []byte) []byte { return protocol.AppendDraining(buf, b.id, left) }, nil)
	}
}
