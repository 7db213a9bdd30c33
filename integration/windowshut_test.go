package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestNoJobStartsOutsideOfItsWindow: a window shuts while many jobs wait, and opens again. By the children's own clocks none begins outside, each runs once, and those that were left
// go on when it opens.
func TestNoJobStartsOutsideOfItsWindow(t *testing.T) {
	long(t, "a child has two seconds to begin")
	row(t, "window", rigOptions{lock: 10 * time.Second}, func(t *testing.T, r *rig) {
		const margin = 2 * time.Second // so long a child may take to begin
		const n = 1000
		r.client.Redis().HSet(t.Context(), "ql:oarlock:tended", "rules-since", 1) // nobody has to be waited for
		r.start(t, "a", pool{children: 4})
		b := r.start(t, "b", pool{children: 4})
		r.put(t, 8, work{MS: 1})
		r.settled(t) // they are there
		opens := time.Now().Add(1500 * time.Millisecond).Truncate(time.Second).Add(time.Second).UTC()
		shuts := opens.Add(margin + 3*time.Second)
		again := shuts.Add(2 * time.Second)
		clock := func(at time.Time) string { return at.Format("15:04:05") }
		rules := filepath.Join(r.dir, "rules.toml")
		text := r.config(t, "b", pool{}) + fmt.Sprintf("[queues.work]\nwindows = [\"now\"]\n[windows.now]\nmargin = %q\nopen = [\"%s-%s\", \"%s-%s\"]\n",
			margin, clock(opens), clock(shuts), clock(again), clock(again.Add(time.Hour)))
		must(t, os.WriteFile(rules, []byte(text), 0o600))
		ran(t, exec.Command(r.binary, "rules", "apply", "-c", rules))
		first := len(r.ledger.all(t))
		r.put(t, n, work{MS: 12 * 300 * 8 / n}) // of which a third to a half is done before it shuts
		jobs := r.settled(t)
		r.doneFree(t, jobs)
		r.check(t, allowed{})
		boot := func(at time.Time) float64 { return now() + time.Until(at).Seconds() }
		before, after := 0, 0
		for _, e := range r.ledger.all(t)[first:] {
			switch {
			case e.what != "begin":
			case e.at >= boot(again)-0.01:
				after++
			case e.at >= boot(opens)-0.01 && e.at-gone(e.at-margin.Seconds(), e.at) < boot(shuts):
				before++
			default:
				t.Errorf("job %s began %.3f s after the window had opened, which was open for %v", e.jid, e.at-boot(opens), shuts.Sub(opens))
			}
		}
		if before == 0 || after == 0 || before+after != n {
			t.Errorf("%d began in the first opening, %d in the second, of %d", before, after, n)
		}
		r.note("jobs", n, "before", before, "after", after)
		b.stop(t)
	})
}
