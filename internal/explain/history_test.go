package explain

import (
	"slices"
	"testing"

	"oarlock/queue"
)

// An end that is told from the keys of other clients, who add nothing.
func TestHistoryOfOthers(t *testing.T) {
	for _, tt := range []struct {
		name string
		job  queue.Job
		want []string
	}{
		{"a lock that ran out", queue.Job{State: "running", History: []queue.Entry{{What: "put", Queue: "q"}, {What: "popped", Worker: "a"}, {What: "timed-out"}, {What: "popped", Worker: "b"}}},
			[]string{"put into q", "taken by a", "its lock ran out, or it was taken from its worker", "taken by b"}},
		{"no retry left", queue.Job{State: "failed", History: []queue.Entry{{What: "popped", Worker: "a"}, {What: "failed", Group: "failed-retries-q"}}},
			[]string{"taken by a", "failed, with no retry left: failed-retries-q"}},
		{"a failure", queue.Job{State: "failed", History: []queue.Entry{{What: "popped", Worker: "a"}, {What: "failed", Group: "g", Worker: "a"}}},
			[]string{"taken by a", "failed on a: g"}},
		{"on to the next queue", queue.Job{State: "waiting", History: []queue.Entry{{What: "popped", Worker: "a"}, {What: "done"}, {What: "put", Queue: "p"}}},
			[]string{"taken by a", "done", "put into p"}},
		{"a line in between", queue.Job{State: "waiting", History: []queue.Entry{{What: "popped", Worker: "a"}, {What: "a note"}}},
			[]string{"taken by a", "noted: a note", "ended badly on a, which used a retry"}},
		{"nothing", queue.Job{State: "waiting"}, nil},
	} {
		var got []string
		for _, e := range History(tt.job) {
			got = append(got, e.Says)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
