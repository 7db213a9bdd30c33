package integration

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ticks are the moments, in seconds since the epoch, of the runs of a recurring job that were put.
func (r *rig) ticks(t testing.TB, name string) []int {
	t.Helper()
	prefix := "ql:j:" + name + "@"
	keys, _, err := r.db.Scan(t.Context(), 0, prefix+"*Z", 100_000).Result()
	must(t, err)
	var all []int
	for _, key := range keys {
		at := got(time.Parse(time.RFC3339, strings.TrimPrefix(key, prefix)))(t)
		all = append(all, int(at.Unix()))
	}
	slices.Sort(all)
	return all
}

// awaitTicks waits until so many runs were put.
func (r *rig) awaitTicks(t *testing.T, name string, n int) (all []int) {
	t.Helper()
	until(t, fmt.Sprintf("%s ran %d times", name, n), func() bool { all = r.ticks(t, name); return len(all) >= n })
	return all
}

// TestRecurringJobsOfTwoSupervisors: each second one run, while one supervisor is killed, a newer file
// and an older one stand beside each other, and all are stopped for a while.
func TestRecurringJobsOfTwoSupervisors(t *testing.T) {
	row(t, "recurring", rigOptions{}, func(t *testing.T, r *rig) {
		file := func(name, data string) string {
			return r.config(t, name, pool{children: 1, top: `fleet = "both"`}) + fmt.Sprintf(`
[recurring.tick]
every = "1s"
missed = "run-all"
queue = "elsewhere"
klass = "Tick"
data = %q
`, data)
		}
		old := r.startConfig(t, "old", file("old", `{"version":1}`))
		old.said(t, "recurs as the file says")
		r.awaitTicks(t, "tick", 2)
		fresh := r.startConfig(t, "new", file("new", `{"version":2}`))
		fresh.said(t, "recurs as the file says")
		old.signal(t, syscall.SIGHUP) // it says once more what it has
		r.awaitTicks(t, "tick", 4)
		old.saidOnce(t, "recurs as the file says")
		if data := r.db.HGet(t.Context(), "ql:oarlock:cron:tick", "data").Val(); data != `{"version":2}` {
			t.Errorf("it puts %s", data)
		}
		fresh.kill(t)
		before := len(r.ticks(t, "tick"))
		r.awaitTicks(t, "tick", before+2) // the other goes on
		old.stop(t)
		stopped := r.ticks(t, "tick")
		time.Sleep(2 * time.Second) // nobody is there
		fresh = r.startConfig(t, "new", file("new", `{"version":2}`))
		all := r.awaitTicks(t, "tick", len(stopped)+4)
		for i := range all {
			if all[i] != all[0]+i {
				t.Fatalf("a run is missing, or one too many: %v", all)
			}
		}
		r.note("runs", len(all))

		// It leaves the file, and nothing of it is left but its jobs. Those who are gone count as there
		// for a minute, which is over now.
		for instance, said := range r.db.HGetAll(t.Context(), "ql:oarlock:cron-held:tick").Val() {
			_, print, _ := strings.Cut(said, " ")
			r.db.HSet(t.Context(), "ql:oarlock:cron-held:tick", instance, "1 "+print)
		}
		fresh.write(t, r.config(t, "new", pool{children: 1, top: `fleet = "both"`}))
		fresh.said(t, "it has left the file")
		if left := r.db.Keys(t.Context(), "ql:oarlock:cron*").Val(); len(left) > 1 {
			t.Errorf("left are %v", left)
		}
		ran(t, exec.Command(r.binary, "recur", "diff", "-c", fresh.config))
		fresh.stop(t)
	})
}
