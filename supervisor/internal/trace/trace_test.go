package trace

import (
	"strings"
	"testing"

	"oarlock/queue"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// A trace is found where the pool says, and whatever else stands there is none.
func TestATraceThatDataNames(t *testing.T) {
	path := []string{"meta", "traceparent"}
	for _, tt := range []struct {
		data string
		is   bool
	}{
		{`{"meta":{"traceparent":"` + parent + `"}}`, true},
		{`{"n":[1,{"meta":1}],"text":"\"}","meta":{"deep":{"traceparent":"x"},"traceparent":"` + parent + `"},"more":1}`, true},
		{`{"traceparent":"` + parent + `"}`, false},
		{`{"meta":"` + parent + `"}`, false},
		{`{"meta":{"traceparent":["` + parent + `"]}}`, false},
		{`{"meta":{"traceparent":17}}`, false},
		{`{"meta":{"traceparent":"` + strings.ToUpper(parent) + `"}}`, false},
		{`[` + parent + `]`, false},
		{`{"meta":{"traceparent":`, false},
		{``, false},
	} {
		got := Named([]byte(tt.data), path)
		if (got == queue.Trace{Parent: parent}) != tt.is || !tt.is && got != (queue.Trace{}) {
			t.Errorf("in %s: %+v", tt.data, got)
		}
	}
}

// An attempt is a span of its own, of the trace in which its job was put, and another one each time.
func TestAnAttemptIsASpan(t *testing.T) {
	of := queue.Trace{Parent: parent, State: "v=1"}
	one, two := Within(of), Within(of)
	if one.ID() != of.ID() || one.Producer != of.SpanID() || one.State != "v=1" || one.Span() == two.Span() || Of(one).Check() != nil || !one.Sampled() {
		t.Errorf("%+v, %+v", one, two)
	}
	if none := Within(queue.Trace{}); none != nil || Of(none) != (queue.Trace{}) {
		t.Errorf("%+v", none)
	}
}

// So many traces are begun as is said: none, all, or a share.
func TestTracesThatAreBegun(t *testing.T) {
	for _, tt := range []struct {
		share       float64
		least, most int
	}{{0, 0, 0}, {1, 1000, 1000}, {0.5, 350, 650}} {
		begun := 0
		for range 1000 {
			if trace := Begin(tt.share); trace != nil {
				begun++
				if Of(trace).Check() != nil || trace.Producer != "" || !trace.Sampled() {
					t.Fatalf("%+v", trace)
				}
			}
		}
		if begun < tt.least || begun > tt.most {
			t.Errorf("%d of 1000 with a share of %v", begun, tt.share)
		}
	}
}
