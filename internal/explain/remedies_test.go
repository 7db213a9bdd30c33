package explain

import (
	"slices"
	"strings"
	"testing"

	"oarlock/queue"
	"oarlock/supervisor"
)

// Each remedy belongs to the sentence that says the same in words.
func TestRemedies(t *testing.T) {
	for _, test := range []struct {
		name string
		pool supervisor.PoolSnapshot
		deed Deed
		says string
	}{
		{"breaker", supervisor.PoolSnapshot{Name: "p", Children: 1, Breaker: "exit-1"}, RecyclePool, "oarlock recycle p"},
		{"barren", supervisor.PoolSnapshot{Name: "p", Children: 1, Barren: "no such file"}, RecyclePool, "oarlock recycle p"},
		{"quiet", supervisor.PoolSnapshot{Name: "p", Children: 1, Quiet: true}, ResumeAll, "oarlock resume"},
		{"quiet alone", supervisor.PoolSnapshot{Name: "p", Children: 1, Quiet: true, QuietAlone: true}, ResumePool, "quiet"},
		{"draining", supervisor.PoolSnapshot{Name: "p", Children: 1, Draining: true}, "", "draining"},
		{"no children", supervisor.PoolSnapshot{Name: "p"}, GiveChildren, "oarlock scale p 1"},
		{"all well", supervisor.PoolSnapshot{Name: "p", Children: 1}, "", ""},
	} {
		w := &why{job: queue.Job{JID: "j", State: "waiting"}, reasons: []string{"It waits."}}
		w.pool(test.pool)
		at := slices.IndexFunc(w.remedies, func(r Remedy) bool { return r.Deed == test.deed })
		switch {
		case test.deed == "" && len(w.remedies) > 0, test.deed != "" && at < 0:
			t.Errorf("%s: %+v", test.name, w.remedies)
		case test.deed != "" && !strings.Contains(w.reasons[w.remedies[at].Reason], test.says):
			t.Errorf("%s: the remedy is for %q", test.name, w.reasons[w.remedies[at].Reason])
		}
	}
}
