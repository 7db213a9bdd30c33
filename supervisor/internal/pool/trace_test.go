package pool

import (
	"testing"

	"oarlock/protocol"
	"oarlock/queue"
)

// What an attempt puts is part of its trace, and so is its job where it goes on, if the attempt began one.
func TestWhatIsPartOfTheTraceOfAnAttempt(t *testing.T) {
	own := queue.Trace{Parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", State: "v=1"}
	within := &protocol.Trace{Parent: own.Parent, State: own.State, Producer: "1111111111111111"}
	began := &protocol.Trace{Parent: own.Parent, State: own.State}
	for _, tt := range []struct {
		name  string
		trace *protocol.Trace
		s     queue.Settlement
		job   bool // it is kept with the job
	}{
		{"none", nil, queue.Settlement{Action: queue.Retry}, false},
		{"put with one", within, queue.Settlement{Action: queue.Retry}, false},
		{"retried", began, queue.Settlement{Action: queue.Retry}, true},
		{"failed", began, queue.Settlement{Action: queue.Fail}, true},
		{"parked", began, queue.Settlement{Action: queue.Park}, true},
		{"goes on", began, queue.Settlement{Action: queue.Complete, Next: "q"}, true},
		{"done", began, queue.Settlement{Action: queue.Complete}, false},
		{"canceled", began, queue.Settlement{Action: queue.Cancel}, false},
	} {
		a := &attempt{wire: &protocol.Job{Trace: tt.trace}}
		tt.s.Puts = make([]queue.Put, 2)
		a.inherit(&tt.s)
		for _, put := range tt.s.Puts {
			if (put.Trace == own) != (tt.trace != nil) {
				t.Errorf("%s: it puts within %+v", tt.name, put.Trace)
			}
		}
		if (tt.s.Trace == own) != tt.job || !tt.job && tt.s.Trace != (queue.Trace{}) {
			t.Errorf("%s: %+v is kept", tt.name, tt.s.Trace)
		}
	}
}
