// Package trace says of which trace an attempt is part: that in which its job was put, the one that the job's data
// names, or a new one. It owns nothing; ids are drawn by chance. It knows no pool, and nobody to whom traces are shown.
package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"oarlock/protocol"
	"oarlock/queue"
)

// Named is the trace that data names: a traceparent under the members of path, one within the other. What is none there
// is no mistake of anybody's whom we could tell: it is the zero value.
func Named(data []byte, path []string) queue.Trace {
	d := json.NewDecoder(bytes.NewReader(data))
	for _, name := range path {
		if !enter(d, name) {
			return queue.Trace{}
		}
	}
	value, _ := d.Token()
	text, _ := value.(string)
	return queue.ReadTrace(text, "")
}

// enter goes on to the value of the first member of that name, of an object; false if there is none.
func enter(d *json.Decoder, name string) bool {
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return false
		}
		if key == name {
			return true
		}
		var other json.RawMessage
		if d.Decode(&other) != nil {
			return false
		}
	}
	return false
}

// Begin begins a trace for that share of the calls, 0 to 1; nil for the others.
func Begin(share float64) *protocol.Trace {
	if share <= 0 || rand.Float64() >= share {
		return nil
	}
	return &protocol.Trace{Parent: fmt.Sprintf("00-%s%s-%s-01", span(), span(), span())}
}

// Within is a new span of t, of which the span that put the job is the producer; nil if t is none.
func Within(t queue.Trace) *protocol.Trace {
	if t == (queue.Trace{}) {
		return nil
	}
	own := t.Span(span())
	return &protocol.Trace{Parent: own.Parent, State: own.State, Producer: t.SpanID()}
}

// Of is what an attempt passes on; the zero value of nil.
func Of(t *protocol.Trace) queue.Trace {
	if t == nil {
		return queue.Trace{}
	}
	return queue.Trace{Parent: t.Parent, State: t.State}
}

// span draws 16 hexadecimal digits that are not all 0.
func span() string { return fmt.Sprintf("%016x", rand.Uint64()|1) }
