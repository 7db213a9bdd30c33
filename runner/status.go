package runner

import (
	"fmt"
	"time"

	"oarlock/protocol"
)

// status handles a status line that came by s, which the caller holds.
func (c *Child) status(s *stream, line *protocol.Line) {
	now := time.Now()
	c.sign(now)
	if s.kind == StatusStream && !c.quiet {
		// From now on, nothing the program prints can be taken for a status.
		c.quiet = true
		c.out.mu.Lock()
		c.out.lines.LogOnly()
		c.out.mu.Unlock()
	}
	st := &line.Status
	switch st.Verb {
	case protocol.VerbHello, protocol.VerbBye:
		switch {
		case c.mayBeForged(s):
			s.print(line)
		case st.Verb == protocol.VerbHello:
			c.greet(st)
		default:
			c.leave(st.Reason)
		}
		return
	case protocol.VerbHeartbeat, protocol.VerbPong:
		return
	case protocol.VerbLog:
		r := c.find(st.Run)
		if r == nil {
			r = c.front() // what a record says settles nothing
		}
		s.record(r, LogLine{Stream: s.kind, Text: line.Text, Record: st.Log}, now)
		return
	case protocol.VerbAck, protocol.VerbRetry, protocol.VerbFail, protocol.VerbRelease,
		protocol.VerbProgress, protocol.VerbCheckpoint, protocol.VerbPut:
	default:
		s.print(line) // of a later version, or not meant for us at all
		return
	}
	r := c.find(st.Run)
	switch {
	case r == nil:
		s.print(line)
		c.strayed()
	case st.Verdict != nil:
		c.verdict(s, r, st, now)
	case st.Verb == protocol.VerbProgress:
		c.progress(r, st, now)
	case st.Verb == protocol.VerbCheckpoint:
		if !c.checkpoint(r, st, now) {
			s.print(line)
		}
	case st.Verb == protocol.VerbPut:
		c.put(s, r, st, now)
	}
}

// find returns the run that a status line with that run id is about, nil if the
// child has no such run. Only a plain child may leave the id out.
func (c *Child) find(id string) *Run {
	c.mu.Lock()
	defer c.mu.Unlock()
	anonymous := id == "" && c.hello == nil && !c.spec.Strict
	for _, r := range c.runs {
		if !r.said && (anonymous || id != "" && id == r.Job.Run) {
			return r
		}
	}
	return nil
}

// mayBeForged tells whether a line of s that names no run may be the data of a job
// that a strict child printed: its stdout is believed only while it has none.
func (c *Child) mayBeForged(s *stream) bool {
	return c.spec.Strict && s == c.out && c.front() != nil
}

// strayed counts a status line about a run that the child does not have: a second
// verdict, a late one, or a forged one.
func (c *Child) strayed() {
	c.mu.Lock()
	c.stray++
	enough := c.stray == strayLimit
	c.mu.Unlock()
	if enough {
		c.leave(fmt.Sprintf("%d status lines about runs it does not have", strayLimit))
	}
}

// leave lets the child take no further job, and asks for its replacement.
func (c *Child) leave(reason string) {
	c.mu.Lock()
	staying := c.state == Starting || c.state == Ready || c.state == Busy
	if staying {
		c.move(Draining)
	}
	c.mu.Unlock()
	if staying {
		c.events.Bye(c, reason)
	}
}

// greet answers the child's hello.
func (c *Child) greet(st *protocol.Status) {
	hello := st.Hello
	switch {
	case c.Hello() != nil: // once is enough
		return
	case st.Err != nil:
		c.end(CauseStart, "its hello cannot be understood: "+st.Err.Error())
		return
	case !hello.Speaks(protocol.Version):
		c.end(CauseStart, fmt.Sprintf("it speaks versions %v of the protocol, and we speak %d", hello.Versions, protocol.Version))
		return
	}
	c.mu.Lock()
	c.hello = hello
	// Before it can be given a job, so that no job line comes first.
	c.in.send(func(buf []byte) []byte { return protocol.AppendHello(buf, c.spec.Worker, c.spec.MaxLine) })
	ready := c.state == Starting
	if ready {
		c.becomeReady()
	}
	c.mu.Unlock()
	if ready {
		c.events.ChildReady(c)
	}
}

// becomeReady lets the child take jobs. The caller holds mu.
func (c *Child) becomeReady() {
	c.move(Ready)
	close(c.ready)
}

// verdict ends r by what the child said of it, which came by s.
func (c *Child) verdict(s *stream, r *Run, st *protocol.Status, now time.Time) {
	if !c.settle(r) {
		return
	}
	if s != c.out {
		c.out.catchUp()
	}
	c.err.catchUp()
	e := &r.ending
	e.Kind, e.Verdict, e.ExitCode, e.Began = Said, st.Verdict, -1, true
	e.CPU = max(cpuTime(c.pid)-r.cpu, 0)
	if st.Verdict.Kind != protocol.Ack {
		e.Group, e.Message = st.Verdict.Group, st.Verdict.Message
	}
	if st.Err != nil {
		e.Kind, e.Verdict = BrokeProtocol, nil
		e.Group, e.Message = "protocol", "its "+st.Verb+" cannot be understood: "+st.Err.Error()
	}
	if c.keepsDir(e) {
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

// settle makes the caller the one that ends r; false: somebody else was first.
func (c *Child) settle(r *Run) bool {
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
	e.StdoutTail = c.endRecord(c.out, s, r, wanted)
	e.StderrTail = c.endRecord(c.err, s, r, wanted)

	c.mu.Lock()
	c.remove(r, now)
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
	e.PeakMemory = r.peak
	if c.oneJob() && e.Kind == Said && e.Verdict.Kind != protocol.Ack {
		e.PeakMemory = max(r.peak, peakMemory(c.pid)) // it is still there to be asked
	}
	if r.progress.any {
		e.LastProgress = &r.progress.value
	}
	if r.checkpoint.any {
		e.Checkpoint = r.checkpoint.value
	}
	e.Puts = r.puts
	c.mu.Unlock()

	if c.spec.Mode == Preload {
		c.in.finish() // the fork has done what it was made for
	}
	c.events.RunEnded(c, r, e)
}

func (c *Child) endRecord(s, held *stream, r *Run, wanted bool) []byte {
	if s != held {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	return s.endRun(r, wanted)
}

// remove takes r off the runs, and off the agenda what was there because of it.
// The caller holds mu.
func (c *Child) remove(r *Run, now time.Time) {
	for i, have := range c.runs {
		if have == r {
			c.runs = append(c.runs[:i], c.runs[i+1:]...)
			break
		}
	}
	c.jobs++
	if len(c.runs) > 0 {
		if c.runs[0].since.IsZero() {
			c.toFront(c.runs[0], now)
		}
	} else if c.state == Busy {
		c.move(Ready)
	}
	switch {
	case c.killed || c.termed:
	case c.oneJob():
		c.linger(now)
	case c.cause != CauseNone:
		if len(c.runs) == 0 { // told to leave, and free to do so
			c.hasten(now.Add(min(idleGrace, time.Until(c.killAt)/2)), c.killAt)
		}
	case !c.stopsAny():
		c.termAt, c.killAt = time.Time{}, time.Time{}
	}
	c.host.clock.arm(c.termAt)
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

// progress keeps how far r is.
func (c *Child) progress(r *Run, st *protocol.Status, now time.Time) {
	if st.Err != nil {
		return
	}
	c.mu.Lock()
	passOn := r.progress.set(*st.Progress, now)
	due := r.progress.due
	c.mu.Unlock()
	if passOn {
		c.events.Progress(c, r, *st.Progress)
	} else {
		c.host.clock.arm(due)
	}
}

// checkpoint keeps what the next attempt of r's job is to get. It refuses what is
// too large or cannot be understood.
func (c *Child) checkpoint(r *Run, st *protocol.Status, now time.Time) bool {
	if st.Err != nil || len(st.Data) > protocol.MaxCheckpoint {
		return false
	}
	c.mu.Lock()
	passOn := r.checkpoint.set(st.Data, now)
	due := r.checkpoint.due
	c.mu.Unlock()
	if passOn {
		c.events.Checkpoint(c, r, st.Data)
	} else {
		c.host.clock.arm(due)
	}
	return true
}

// put keeps a job that r wants to be put. One that cannot be kept breaks the
// protocol: the run must not be acknowledged without it.
func (c *Child) put(s *stream, r *Run, st *protocol.Status, now time.Time) {
	why := ""
	c.mu.Lock()
	r.putBytes += len(st.Put.Data)
	switch {
	case st.Err != nil:
		why = "its put cannot be understood: " + st.Err.Error()
	case len(r.puts) == protocol.MaxPuts:
		why = fmt.Sprintf("it puts more than %d jobs", protocol.MaxPuts)
	case r.putBytes > protocol.MaxPutBytes:
		why = fmt.Sprintf("it puts more than %d bytes", protocol.MaxPutBytes)
	default:
		r.puts = append(r.puts, *st.Put)
	}
	c.mu.Unlock()
	if why == "" || !c.settle(r) {
		return
	}
	e := &r.ending
	e.Kind, e.ExitCode, e.Began, e.Group, e.Message = BrokeProtocol, -1, true, "protocol", why
	c.finish(s, r, now)
	c.end(CauseProtocol, why)
}

// sample looks at how much memory the child uses during r, and ends it if that is
// more than it may.
func (c *Child) sample(r *Run) {
	used := c.Memory()
	c.mu.Lock()
	r.peak = max(r.peak, used)
	c.mu.Unlock()
	if limit := c.spec.Sandbox.Limits.Memory; limit != nil && used > int64(*limit) {
		c.Kill(CauseMemory)
	}
}
