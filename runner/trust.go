package runner

import (
	"bytes"
	"fmt"
	"time"

	"oarlock/protocol"
)

// A program prints what others wrote: names, texts, whole files. So a line counts as a
// status line only if it proves to be the program's own word, by the channel that it came
// on or by naming the run, whose id nobody else knows. What it looks like proves nothing.

// about tells which run a status line from s is about, or why the line does not count.
// The run is nil where a line may be about none: hello, bye, pong, log.
func (c *Child) about(s *stream, st *protocol.Status) (r *Run, why string) {
	private := s.kind == StatusStream
	if c.spec.Status == StatusFD && !private {
		return nil, "status = \"fd\": only lines on OARLOCK_STATUS_FD count"
	}
	unread := !private && st.Verb == protocol.VerbHello && c.unread()

	c.mu.Lock()
	defer c.mu.Unlock()
	if st.Run != "" {
		r = c.unanswered(st.Run)
	}
	switch st.Verb {
	case protocol.VerbPong: // changes nothing
		return nil, ""
	case protocol.VerbHello:
		if private || r != nil || unread {
			return r, ""
		}
		return nil, "on stdout a hello counts before the first job, or with its run"
	case protocol.VerbBye, protocol.VerbLog: // from anybody's thread, and at any time
		if private || r != nil {
			return r, ""
		}
	}
	anonymous := c.hello == nil && !c.spec.Strict && (private || c.spec.Status == StatusLines)
	switch {
	case r != nil:
		return r, ""
	case st.Run != "":
		return nil, "it names a run that the child does not have, or has answered"
	case !anonymous:
		return nil, "it does not name its run"
	case st.Verb == protocol.VerbBye, st.Verb == protocol.VerbLog:
		return nil, ""
	}
	if r = c.unanswered(""); r == nil {
		return nil, "there is no job that it could be about"
	}
	return r, ""
}

// unanswered returns the run that the child has, if there is no verdict on it and it is of
// that id, should it not be empty; else nil. Of runs that wait behind it the child knows
// nothing. The caller holds mu.
func (c *Child) unanswered(id string) *Run {
	if len(c.runs) == 0 {
		return nil
	}
	r := c.runs[0]
	if r.said || r.since.IsZero() || id != "" && id != r.Job.Run {
		return nil
	}
	return r
}

// unread tells whether the child has not read a byte of any job yet, so that what it
// prints can be none of theirs.
func (c *Child) unread() bool { return c.spec.Mode != Once && c.in.consumed() == 0 }

// glued handles a line of stdout in which other text stands in front of a status line that
// names its run: that of a program that had printed something without a line feed. The
// secret tells where the one ends and the other begins. False: the line is no such.
func (c *Child) glued(s *stream, line *protocol.Line) bool {
	if s != c.out || c.spec.Status == StatusFD || c.spec.Status == StatusExit {
		return false
	}
	at := bytes.LastIndex(line.Text, []byte(`{"@":`))
	if at <= 0 {
		return false
	}
	st, ok := protocol.ParseStatus(line.Text[at:])
	if !ok || st.Run == "" || !protocol.Known(st.Verb) {
		return false
	}
	c.mu.Lock()
	own := c.unanswered(st.Run) != nil
	c.mu.Unlock()
	if own {
		s.print(&protocol.Line{Text: line.Text[:at]})
		c.status(s, &protocol.Line{Kind: protocol.StatusLine, Text: line.Text[at:], Status: st})
	}
	return own
}

// refuse keeps a status line that does not count in the log, with the reason. That of a
// verdict is told apart, for without one the exit code decides, and 0 is an ack.
func (c *Child) refuse(s *stream, line *protocol.Line, why string, now time.Time) {
	r := c.front()
	s.tail.line(line.Text)
	s.record(r, LogLine{Stream: s.kind, Text: line.Text, Cut: line.Dropped, Refused: why}, now)
	if protocol.IsVerdict(line.Status.Verb) {
		c.events.Refused(c, r, line.Status.Verb, why)
	}
	if line.Status.Run != "" {
		c.strayed()
	}
}

// overlong handles a line that was longer than the limit, of which the beginning is left.
// If that is the beginning of a verdict, or of a job to be put, nobody knows what it would
// have said, and the run must not end as if it had said nothing.
func (c *Child) overlong(s *stream, line *protocol.Line) {
	now := time.Now()
	st := &line.Status
	length := int64(len(line.Text)) + line.Dropped
	// On its own descriptor a child writes nothing but status lines.
	unknown := st.Verb == "" && s.kind == StatusStream
	if !unknown && !protocol.Known(st.Verb) {
		s.print(line)
		return
	}
	c.sign(now)
	tooLong := fmt.Sprintf("it has %d bytes, and the pool reads %d (max_line)", length, c.spec.MaxLine)
	r, why := c.about(s, st)
	if unknown {
		c.mu.Lock()
		r, why = c.unanswered(""), ""
		c.mu.Unlock()
		if r == nil {
			why = "there is no job that it could be about"
		}
	}
	switch {
	case why != "":
		c.refuse(s, line, why+"; "+tooLong, now)
		return
	case !unknown && !protocol.IsVerdict(st.Verb) && st.Verb != protocol.VerbPut:
		c.refuse(s, line, tooLong, now)
		return
	}
	s.record(r, LogLine{Stream: s.kind, Text: line.Text, Cut: line.Dropped, Refused: tooLong}, now)
	what, group := st.Verb, "verdict-too-long"
	switch {
	case unknown:
		what = "status line"
	case st.Verb == protocol.VerbPut:
		group = "put-too-long"
	}
	c.breach(s, r, TooLong, group, "its "+what+" is too long: "+tooLong, now)
}

// breach ends r because the child broke the protocol, and the child with it.
func (c *Child) breach(s *stream, r *Run, kind EndingKind, group, why string, now time.Time) {
	if !c.settle(r) {
		return
	}
	e := &r.ending
	e.Kind, e.ExitCode, e.Began, e.Group, e.Message = kind, -1, true, group, why
	c.finish(s, r, now)
	c.end(CauseProtocol, why)
}
