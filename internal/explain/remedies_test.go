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
		code Code
	}{
		{"breaker", supervisor.PoolSnapshot{Name: "p", Children: 1, Breaker: "exit-1"}, RecyclePool, "oarlock recycle p", BreakerOpen},
		{"barren", supervisor.PoolSnapshot{Name: "p", Children: 1, Barren: "no such file"}, RecyclePool, "oarlock recycle p", Barren},
		{"quiet", supervisor.PoolSnapshot{Name: "p", Children: 1, Quiet: true}, ResumeAll, "oarlock resume", Quiet},
		{"quiet alone", supervisor.PoolSnapshot{Name: "p", Children: 1, Quiet: true, QuietAlone: true}, ResumePool, "quiet", Quiet},
		{"draining", supervisor.PoolSnapshot{Name: "p", Children: 1, Draining: true}, "", "draining", Quiet},
		{"no children", supervisor.PoolSnapshot{Name: "p"}, GiveChildren, "oarlock scale p 1", NoChildren},
		{"all well", supervisor.PoolSnapshot{Name: "p", Children: 1}, "", "", Other},
	} {
		w := &why{job: queue.Job{JID: "j", State: "waiting"}, reasons: []string{"It waits."}}
		w.pool(test.pool)
		if w.pad(); len(w.codes) != len(w.reasons) || w.codes[len(w.codes)-1] != test.code {
			t.Errorf("%s: codes %v for %q", test.name, w.codes, w.reasons)
		}
		at := slices.IndexFunc(w.remedies, func(r Remedy) bool { return r.Deed == test.deed })
		switch {
		case test.deed == "" && len(w.remedies) > 0, test.deed != "" && at < 0:
			t.Errorf("%s: %+v", test.name, w.remedies)
		case test.deed != "" && !strings.Contains(w.reasons[w.remedies[at].Reason], test.says):
			t.Errorf("%s: the remedy is for %q", test.name, w.reasons[w.remedies[at].Reason])
		}
	}
}
