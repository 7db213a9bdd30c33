package integration

import (
	"slices"
	"syscall"
	"testing"
	"time"
)

// A service manager that ends a control group sends SIGTERM to the supervisor and to all
// below it, in any order: that costs no job anything.
func TestA20ToldToEndTogether(t *testing.T) {
	hang := []any{"hang", "hang", "hang", "hang", "hang", "hang", "hang", "hang"}
	tests := []struct {
		name  string
		first pool
		ends  []any         // how the jobs' children end when they are told to, one each
		ahead time.Duration // of us, by which the children hear it
	}{
		{"reused, we first", pool{}, hang, 0},
		{"reused, children first", pool{}, hang, 100 * time.Millisecond},
		{"preloaded, we first", pool{mode: "preload", worker: "first-never-ends.py"}, hang, 0},
		{"preloaded, children first", pool{mode: "preload", worker: "first-never-ends.py"}, hang, 100 * time.Millisecond},
		{"once, we first", pool{mode: "once", worker: "leaves-on-term.sh"}, []any{0, 0, 1, 65, 75, 99, 130, 143}, 0},
		{"once, children first", pool{mode: "once", worker: "leaves-on-term.sh"}, []any{129, 129, 129, 130, 130, 143, 143, 143}, 100 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			row(t, "A20", rigOptions{lock: 20 * time.Second}, func(t *testing.T, r *rig) {
				for _, end := range tt.ends {
					r.put(t, 1, work{MS: 1, End: end})
				}
				tt.first.children = len(tt.ends)
				a := r.start(t, "a", tt.first)
				r.ledger.await(t, 20*time.Second, "all begun", begun(len(tt.ends)))
				below := descendants(a.pid())
				if tt.ahead == 0 {
					a.signal(t, syscall.SIGTERM)
					a.said(t, 5*time.Second, "drain") // or exit code 0 may be faster
				}
				told := now()
				for _, p := range below {
					syscall.Kill(p.pid, syscall.SIGTERM)
				}
				if tt.ahead > 0 {
					last(tt.ahead)
					a.signal(t, syscall.SIGTERM)
					a.said(t, 20*time.Second, "drain")
				}
				apart := now()-told > 0.8 // a busy machine may make two events of it, a second apart
				if code := a.exit(t, 10*time.Second); code != 0 {
					t.Errorf("it ended with exit code %d", code)
				}
				a.leftNothing(t, time.Second)
				jobs := readJobs(t, r.db, r.jids)
				if !apart {
					r.uncounted(t, jobs)
				}
				for i, j := range jobs {
					if !apart && (!slices.Equal(j.places, []string{"waiting"}) || j.crashes != 0 || j.interruptions != 1) {
						t.Errorf("the job that ends by %v is %s after %d crashes and %d interruptions, want it to wait after 0 and 1",
							tt.ends[i], j.state, j.crashes, j.interruptions)
					}
				}
				r.start(t, "a", pool{mode: "once", worker: "worker.sh"})
				jobs = r.settled(t, 20*time.Second)
				allDone(t, jobs)
				if !apart {
					r.uncounted(t, jobs)
				}
				r.check(t, allowed{twice: len(jobs)})
			})
		})
	}
}
