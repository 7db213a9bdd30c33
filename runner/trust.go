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
// The run is nil where a line may be about none: hello, bye, log; and where it is about all of
// a batch that have no verdict, which is returned then.
func (c *Child) about(s *stream, st *protocol.Status) (r *Run, all *batch, why string) {
	if c.spec.Status == StatusFD && s.kind != StatusStream {
		return nil, nil, "status = \"fd\": only lines on OARLOCK_STATUS_FD count"
	}
	c.mu.Lock()
	b := c.atHand()
	whole := b != nil && st.Run == b.id && b.anyOpen()
	c.mu.Unlock()
	if whole {
		return nil, b, ""
	}
	r, why = c.aboutOne(s, st)
	return r, nil, why
}

// aboutOne is about for what is no line about a batch.
func (c *Child) aboutOne(s *stream, st *protocol.Status) (r *Run, why string) {
	private := s.kind == StatusStream
	unread := !private && st.Verb == protocol.VerbHello && c.unread()

	c.mu.Lock()
	defer c.mu.Unlock()
	if st.Run != "" {
		r = c.unanswered(st.Run)
	}
	switch st.Verb {
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
	anonymous := c.mayBeNameless() && (private || c.spec.Status == StatusLines)
	switch {
	case r != nil:
		c.named = c.named || protocol.IsVerdict(st.Verb)
		return r, ""
	case st.Run != "":
		return nil, "it names a run that the child does not have, or has answered"
	case !anonymous:
		return nil, "it does not name its run"
	case st.Verb == protocol.VerbBye, st.Verb == protocol.VerbLog:
		return nil, ""
	}
	c.nameless = true
	if r = c.unanswered(""); r == nil || !r.Begun() { // of what it has not read it can say nothing: this is a second word on the last
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
	if r.batch != nil {
		return r.batch.only(id)
	}
	if r.said || r.since.IsZero() || id != "" && id != r.Job.Run {
		return nil
	}
	return r
}

// unread tells whether the child has not read a byte of any job yet, so that what it
// prints can be none of theirs.
func (c *Child) unread() bool { return c.spec.Mode != Once && c.in.consumed() == 0 }

// within handles a line that is no status line as a whole, but begins or ends with some of the child's own:
// that of a program that had printed something without a line feed, say. False: it is log. Text on both
// sides makes it a quotation, as a shell prints that shows what it does.
func (c *Child) within(s *stream, line *protocol.Line) bool {
	at := c.ownAt(s, line.Text)
	if at < 0 && s.kind == StatusStream && c.begins(s, line.Text) {
		at = 0
	}
	return at >= 0 && c.cut(s, line, at)
}

// cut is within for a line in which a status line of the child's own begins at at.
func (c *Child) cut(s *stream, line *protocol.Line, at int) bool {
	own := line.Text[at:]
	n := protocol.Whole(own)
	before := at > 0 || line.Continued
	switch behind := bytes.TrimSpace(own[n:]); {
	case n == 0:
		c.broken(s, line, at)
		return true
	case before && len(behind) > 0 && c.ownAt(s, behind) != 0, at > 0 && protocol.Valid(line.Text):
		return false
	}
	if at > 0 {
		s.print(&protocol.Line{Text: line.Text[:at]})
	}
	if st, ok := protocol.ParseStatus(own[:n]); ok {
		c.status(s, &protocol.Line{Kind: protocol.StatusLine, Text: own[:n], Status: st})
	}
	rest := &protocol.Line{Text: bytes.TrimSpace(own[n:]), Unended: line.Unended}
	if len(rest.Text) > 0 {
		if at = c.ownAt(s, rest.Text); at < 0 || !c.cut(s, rest, at) {
			s.print(rest)
		}
	}
	return true
}

// ownAt returns where in text, which came by s, a status line begins that names the run; -1: none does.
func (c *Child) ownAt(s *stream, text []byte) int {
	switch {
	case !bytes.Contains(text, []byte(`"@"`)): // true of next to all
		return -1
	case c.spec.Status == StatusExit, s.kind == Stderr, s.kind == Stdout && c.spec.Status == StatusFD:
		return -1
	}
	return protocol.OwnAt(text, func(run []byte) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if b := c.atHand(); b != nil {
			return b.has(run) || string(run) == b.id && b.anyOpen()
		}
		r := c.unanswered("")
		return r != nil && r.Job.Run == string(run)
	})
}

// begins tells whether text begins as a status line that would count.
func (c *Child) begins(s *stream, text []byte) bool {
	st := protocol.Beginning(text)
	if !protocol.Known(st.Verb) {
		return false
	}
	_, _, why := c.about(s, &st)
	return why == ""
}

// broken handles a status line of the child's own that begins at at and cannot be read to its end. Nobody
// knows what a verdict would have said, so the run must not end as if there had been none; unless it is a
// quotation, or the child died as it wrote it, of which its end tells.
func (c *Child) broken(s *stream, line *protocol.Line, at int) {
	why := "it is not JSON; was a text put between quotes as it is?"
	now := time.Now()
	st := protocol.Beginning(line.Text[at:])
	r, all, _ := c.about(s, &st)
	fatal := at == 0 && !line.Unended && (r != nil || all != nil) && (protocol.IsVerdict(st.Verb) || st.Verb == protocol.VerbPut)
	if !fatal {
		c.refuse(s, &protocol.Line{Text: line.Text, Status: st}, why, now)
		return
	}
	s.record(r, LogLine{Stream: s.kind, Text: line.Text, Refused: why}, now)
	why = "its " + st.Verb + " cannot be understood: " + why
	if all != nil {
		c.end(CauseProtocol, why)
		return
	}
	c.breach(s, r, BrokeProtocol, "protocol", why, now)
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
	if line.Status.Run != "" && s.kind == StatusStream { // on stdout it may be anybody's
		c.strayed()
	}
}

// overlong handles a line that was longer than the limit, of which the beginning is left.
// If that is the beginning of a verdict, or of a job to be put, nobody knows what it would
// have said, and the run must not end as if it had said nothing.
func (c *Child) overlong(s *stream, line *protocol.Line) {
	now := time.Now()
	if at := c.ownAt(s, line.Text); at > 0 {
		s.print(&protocol.Line{Text: line.Text[:at]})
		line.Text = line.Text[at:]
		line.Status = protocol.Beginning(line.Text)
	}
	st := &line.Status
	length := int64(len(line.Text)) + line.Dropped
	// On its own descriptor a child writes nothing but status lines.
	unknown := st.Verb == "" && s.kind == StatusStream
	if !unknown && !protocol.Known(st.Verb) {
		s.print(line)
		c.lastWord(s, line)
		return
	}
	c.sign(now)
	tooLong := fmt.Sprintf("it has %d bytes, and the pool reads %d (max_line)", length, c.spec.MaxLine)
	r, all, why := c.about(s, st)
	if unknown {
		c.mu.Lock()
		r, why = c.unanswered(""), ""
		if all = c.atHand(); r != nil || all != nil && !all.anyOpen() {
			all = nil
		}
		c.mu.Unlock()
		if r == nil && all == nil {
			why = "there is no job that it could be about"
		}
	}
	switch {
	case why != "":
		c.refuse(s, line, why+"; "+tooLong, now)
		c.lastWord(s, line)
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
	if all != nil { // nobody knows of which
		c.end(CauseProtocol, "its "+what+" is too long: "+tooLong)
		return
	}
	c.breach(s, r, TooLong, group, "its "+what+" is too long: "+tooLong, now)
}

// lastWord handles the status line of the child's own at the end of a line that was longer than the
// limit: that of a program that had printed a large text without a line feed.
func (c *Child) lastWord(s *stream, line *protocol.Line) {
	at := c.ownAt(s, line.End)
	if at < 0 || s.kind != Stdout {
		return
	}
	own := bytes.TrimSpace(line.End[at:])
	if st, ok := protocol.ParseStatus(own); ok {
		c.status(s, &protocol.Line{Kind: protocol.StatusLine, Text: own, Status: st})
	}
}

// breach ends r because the child broke the protocol, and the child with it.
func (c *Child) breach(s *stream, r *Run, kind EndingKind, group, why string, now time.Time) {
	if !c.mayEnd(r) {
		return
	}
	e := &r.ending
	e.Kind, e.ExitCode, e.Began, e.Group, e.Message = kind, -1, true, group, why
	c.finish(s, r, now)
	c.end(CauseProtocol, why)
}
