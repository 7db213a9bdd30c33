package protocol

import "strconv"

// Trace is of which trace an attempt is part, as W3C trace context has it. An attempt is a span of its own.
type Trace struct {
	Parent   string // the attempt's: 00-<trace, 32 hex digits>-<its span, 16>-<flags, 2>
	State    string // tracestate, passed on as it came; empty: none, left out of the line
	Producer string // the span that put the job, 16 hex digits, no part of the line; empty: the attempt began the trace
}

// ID is the id of the trace: 32 hexadecimal digits. It is "" of nil.
func (t *Trace) ID() string { return t.part(3, 35) }

// Span is the id of the attempt in its trace: 16 hexadecimal digits. It is "" of nil.
func (t *Trace) Span() string { return t.part(36, 52) }

// Sampled reports whether those want to see the trace who began it.
func (t *Trace) Sampled() bool {
	if t == nil {
		return false
	}
	flags, err := strconv.ParseUint(t.part(53, 55), 16, 8)
	return err == nil && flags&1 == 1
}

// part is a part of Parent; "" of nil, or where that is too short.
func (t *Trace) part(from, to int) string {
	if t == nil || len(t.Parent) < to {
		return ""
	}
	return t.Parent[from:to]
}
