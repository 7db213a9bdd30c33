package protocol

import (
	"strings"
	"testing"
)

// A child is told of its trace; one that has none has no word of it in its line, and what asks nil is told nothing.
func TestTheTraceOfAJob(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-"
	for _, tt := range []struct {
		trace   *Trace
		want    string
		sampled bool
	}{
		{nil, `"remaining":0}`, false},
		{&Trace{Parent: parent + "01", State: `v="1`, Producer: "1111111111111111"}, `"remaining":0,"traceparent":"` + parent + `01","tracestate":"v=\"1"}`, true},
		{&Trace{Parent: parent + "00"}, `"remaining":0,"traceparent":"` + parent + `00"}`, false},
		{&Trace{Parent: parent + "0b"}, `"remaining":0,"traceparent":"` + parent + `0b"}`, true},
	} {
		line := string(AppendJob(nil, &Job{Run: "r", Trace: tt.trace}))
		if !strings.HasSuffix(line, tt.want+"\n") || tt.trace.Sampled() != tt.sampled {
			t.Errorf("%s, sampled %v", line, tt.trace.Sampled())
		}
		if tt.trace != nil && (tt.trace.ID() != parent[3:35] || tt.trace.Span() != parent[36:52]) || tt.trace == nil && tt.trace.ID()+tt.trace.Span() != "" {
			t.Errorf("%s, %s", tt.trace.ID(), tt.trace.Span())
		}
	}
}
