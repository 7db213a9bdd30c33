package integration

import (
	"os/exec"
	"slices"
	"testing"
	"time"
)

// TestRecyclingAndRolling works jobs off while children are recycled by their number
// of jobs and a rolling change comes every two seconds: no job is lost, failed or
// run twice, and no slot stays empty for long.
func TestRecyclingAndRolling(t *testing.T) {
	row(t, "rolling", rigOptions{}, func(t *testing.T, r *rig) {
		n := scaled(2000, 10_000)
		r.put(t, n, work{MS: 10})
		a := r.start(t, "a", pool{children: 4, more: "max_jobs = 50"})
		rolls := 0
		every := time.NewTicker(2 * time.Second)
		defer every.Stop()
		for {
			<-every.C
			if count(r.ledger.all(t), "end") >= n {
				break
			}
			a.control(t, "recycle")
			rolls++
		}
		jobs := r.settled(t, time.Minute)
		allDone(t, jobs)
		r.uncounted(t, jobs)
		entries := r.ledger.all(t)
		pids := make(map[int]int)
		for _, e := range entries {
			pids[e.pid]++
		}
		for pid, lines := range pids {
			// 50, a jitter of a tenth, and what it does until its replacement is ready.
			if lines > 2*100 {
				t.Errorf("child %d worked %d jobs, want 50 and some", pid, lines/2)
			}
		}
		r.note("rolls", rolls)
		r.note("children", len(pids))
		gap := longestGap(entries)
		if gap > stretched(time.Second).Seconds() {
			t.Errorf("nothing began for %.2f s", gap)
		}
		r.note("longest_gap", gap)
		r.check(t, allowed{})
		a.stop(t)
	})
}

// longestGap is the longest time without any begin.
func longestGap(entries []entry) (longest float64) {
	var at []float64
	for _, e := range entries {
		if e.what == "begin" {
			at = append(at, e.at)
		}
	}
	slices.Sort(at)
	for i := 1; i < len(at); i++ {
		longest = max(longest, at[i]-at[i-1])
	}
	return longest
}

// control speaks to the running supervisor with one command of the program.
func (s *supervisor) control(t testing.TB, verb ...string) string {
	t.Helper()
	out, err := exec.Command(oarlock(t), append(verb, "-c", s.config)...).CombinedOutput()
	if err != nil {
		t.Fatalf("oarlock %v: %v\n%s", verb, err, out)
	}
	return string(out)
}

// TestDrainReloadRestartUnderLoad drains, reloads and restarts a supervisor again
// and again while it works: none of it costs a job a retry.
func TestDrainReloadRestartUnderLoad(t *testing.T) {
	row(t, "deploys", rigOptions{}, func(t *testing.T, r *rig) {
		n := scaled(1200, 6000)
		r.put(t, n, work{MS: 10})
		changed := 0
		for at := 100; at < n; at += 100 {
			p := pool{more: "max_jobs = " + string(rune('1'+changed%9)) + "00"}
			a := r.start(t, "a", p)
			r.ledger.await(t, 30*time.Second, "50 more jobs ended", ended(at-50))
			changed++
			p.more = "max_jobs = " + string(rune('1'+changed%9)) + "00"
			a.write(t, r.config(t, "a", p)) // a reload, by itself
			r.ledger.await(t, 30*time.Second, "50 more jobs ended", ended(at))
			a.stop(t)
		}
		r.start(t, "a", pool{})
		jobs := r.settled(t, time.Minute)
		allDone(t, jobs)
		r.uncounted(t, jobs)
		r.note("restarts", changed)
		r.check(t, allowed{})
	})
}
