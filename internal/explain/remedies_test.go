package explain

import (
	"slices"
	"strings"
	"testing"

	"oarlock/queue"
	"oarlock/supervisor"
)

// The README promises the same number.
func TestWhySaysHowLongBadJobsDelayOthers(t *testing.T) {
	for bad, says := range map[int]string{
		1:    "The 1 job that ended badly delays the jobs behind by 2 × 1 × 0.1s = 200ms at most",
		37:   "The 37 jobs that ended badly delay the jobs behind by 2 × 37 × 0.1s = 7.4s at most",
		5000: "The 5000 jobs that ended badly delay the jobs behind by 2 × 5000 × 0.1s = 16m 40s at most",
	} {
		w := &why{job: queue.Job{JID: "j", State: "waiting"}}
		w.pool(supervisor.PoolSnapshot{Name: "p", Children: 1, Breaker: "exit-1", BadJobs: bad, Delays: 0.2 * float64(bad)})
		if got := strings.Join(w.reasons, " "); !strings.Contains(got, says) {
			t.Errorf("it says %q, want %q", got, says)
		}
	}
}

// Each remedy belongs to the sentence that says the same in words.
func TestRemedies(t *testing.T) {
	for _, test := range []struct {
		name string
		pool supervisor.PoolSnapshot
		deed Deed
		says string
		code Code
	}{
		{"breaker", supervisor.PoolSnapshot{Name: "p", Children: 1, Breaker: "exit-1", BadJobs: 5}, RecyclePool, "oarlock recycle p", BreakerOpen},
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
