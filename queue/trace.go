package queue

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Trace is W3C trace context: of which trace a job is part, and which span put it. The zero value is none. It is kept
// with the job in one field, which is short as long as State has no more than eight bytes.
type Trace struct {
	Parent string // traceparent: 00-<32 hex digits>-<16 hex digits>-<2 hex digits>
	State  string // tracestate, of vendors; at most 512 bytes, "" if there is none
}

// maxTraceState is how long a tracestate is passed on, as the standard wants.
const maxTraceState = 512

// traceParent is the form of version 00, of which later ones may have more behind it.
var traceParent = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$`)

// Check finds what is wrong with a trace; nil if nothing is, or if it is none. The error begins with which of the two is
// wrong, as the standard names it: traceparent or tracestate.
func (t Trace) Check() error {
	if t == (Trace{}) {
		return nil
	}
	p := traceParent.FindStringSubmatch(t.Parent)
	switch {
	case p == nil, p[1] == "ff", p[1] == "00" && p[5] != "", len(t.Parent) > maxTraceState:
		return fmt.Errorf("traceparent %.80q is not of the form 00-<32 hex digits>-<16 hex digits>-<2 hex digits>", t.Parent)
	case strings.Trim(p[2], "0") == "", strings.Trim(p[3], "0") == "":
		return errors.New("traceparent has a trace or a span of zeros only, which is none")
	case len(t.State) > maxTraceState, strings.ContainsFunc(t.State, func(r rune) bool { return r < ' ' || r > '~' }):
		return fmt.Errorf("tracestate has more than %d bytes, or what is no printable ASCII", maxTraceState)
	}
	return nil
}

// ID is the id of the trace, 32 hexadecimal digits; "" if it is none.
func (t Trace) ID() string {
	if p := traceParent.FindStringSubmatch(t.Parent); p != nil {
		return p[2]
	}
	return ""
}

// SpanID is the id of the span that put the job, 16 hexadecimal digits; "" if it is none.
func (t Trace) SpanID() string {
	if p := traceParent.FindStringSubmatch(t.Parent); p != nil {
		return p[3]
	}
	return ""
}

// Span is the trace as the span of that id, 16 hexadecimal digits, passes it on.
func (t Trace) Span(id string) Trace {
	if p := traceParent.FindStringSubmatch(t.Parent); p != nil {
		t.Parent = "00-" + p[2] + "-" + id + "-" + p[4]
	}
	return t
}

// text is what is stored with a job; "" of none.
func (t Trace) text() string { return strings.TrimSpace(t.Parent + " " + t.State) }

// ReadTrace reads what came from elsewhere, as the standard wants it read: a traceparent that is none is no trace, and
// nobody's work fails for it; neither for a tracestate, which is left out then.
func ReadTrace(parent, state string) Trace {
	for _, t := range []Trace{{parent, state}, {Parent: parent}} {
		if t.Check() == nil && parent != "" {
			return t
		}
	}
	return Trace{}
}

// readTrace reads what is stored with a job.
func readTrace(text string) Trace {
	parent, state, _ := strings.Cut(text, " ")
	return ReadTrace(parent, state)
}
