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
	st := &line.Status
	if !protocol.Known(st.Verb) {
		s.print(line) // of a later version, or not meant for us at all
		return
	}
	r, all, why := c.about(s, st)
	if why == "" {
		why = unusable(st)
	}
	switch {
	case why != "":
		c.refuse(s, line, why, now)
	case all != nil:
		c.ofAll(s, all, line, now)
	case st.Verdict != nil:
		c.verdict(s, r, st, now)
	case st.Verb == protocol.VerbHello:
		c.greet(st)
	case st.Verb == protocol.VerbBye:
		c.leave(st.Reason)
	case st.Verb == protocol.VerbProgress:
		c.progress(r, st, now)
	case st.Verb == protocol.VerbCheckpoint:
		c.checkpoint(r, st, now)
	case st.Verb == protocol.VerbLog:
		if r == nil {
			r = c.front() // what a record says ends nothing
		}
		s.record(r, LogLine{Stream: s.kind, Text: line.Text, Record: st.Log}, now)
	case st.Verb == protocol.VerbPut:
		c.put(s, r, st, now)
	case st.Wish != nil:
		c.wish(s, r, line, now)
	}
}

// unusable tells why a line that may be dropped cannot be used; empty if it can.
func unusable(st *protocol.Status) string {
	switch st.Verb {
	case protocol.VerbProgress, protocol.VerbCheckpoint:
		switch {
		case st.Err != nil:
			return st.Err.Error()
		case len(st.Data) > protocol.MaxCheckpoint:
			return fmt.Sprintf("it has %d bytes of data, and %d are kept", len(st.Data), protocol.MaxCheckpoint)
		}
	}
	return ""
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
		c.in.send(func(buf []byte) []byte { return protocol.AppendHello(buf, c.spec.Worker, c.spec.MaxLine) }, nil)
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
