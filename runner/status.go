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
	case protocol.VerbAck, protocol.VerbRetry, protocol.VerbFail, protocol.VerbRelease, protocol.VerbUnknown,
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
	if c.talks() { // before it can be given a job, so that no job line comes first
		c.in.send(func(buf []byte) []byte { return protocol.AppendHello(buf, c.spec.Worker, c.spec.MaxLine) })
	}
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
