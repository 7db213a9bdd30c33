package integration

import (
	"slices"
	"syscall"
	"testing"
	"time"
)

// A service manager that ends a control group sends SIGTERM to the supervisor and to all
// below it, in any order: that costs no job anything.
func toldToEndTogether(first pool, ahead time.Duration, ends ...any) func(t *testing.T, r *rig) {
	return func(t *testing.T, r *rig) {
		for _, end := range ends {
			r.put(t, 1, work{MS: 1, End: end})
		}
		first.children = len(ends)
		a := r.begins(t, first, len(ends))
		below := descendants(a.pid())
		if ahead == 0 {
			a.signal(t, syscall.SIGTERM)
			a.said(t, "drain") // or exit code 0 may be faster
		}
		told := now()
		for _, p := range below {
			syscall.Kill(p.pid, syscall.SIGTERM)
		}
		if ahead > 0 {
			last(ahead)
			a.signal(t, syscall.SIGTERM)
			a.said(t, "drain")
		}
		apart := now()-told > 0.8 // a busy machine may make two events of it, a second apart
		if code := a.exit(t); code != 0 {
			t.Errorf("it ended with exit code %d", code)
		}
		a.leftNothing(t)
		jobs := readJobs(t, r.db, r.jids)
		if !apart {
			r.uncounted(t, jobs)
		}
		for i, j := range jobs {
			if !apart && (!slices.Equal(j.places, []string{"waiting"}) || j.crashes != 0 || j.interruptions != 1) {
				t.Errorf("the job that ends by %v is %s after %d crashes and %d interruptions, want it to wait after 0 and 1",
					ends[i], j.state, j.crashes, j.interruptions)
			}
		}
		r.start(t, "a", pool{mode: "once", worker: "worker.sh"})
		jobs = r.settled(t)
		allDone(t, jobs)
		if !apart {
			r.uncounted(t, jobs)
		}
		r.check(t, allowed{twice: len(jobs)})
	}
}
