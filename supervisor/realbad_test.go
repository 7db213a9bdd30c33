package supervisor

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"oarlock/queue"
	"oarlock/runner"
)

// putBad puts n jobs of the class bad, bad0 …, in front of all others of q.
func (w *world) putBad(n int) {
	w.t.Helper()
	for i := range n {
		put := queue.Put{Queue: "q", JID: fmt.Sprintf("bad%d", i), Klass: "bad", Data: []byte(`"bad"`), Priority: new(float64(10))}
		must(w.t, errOf(w.client.Put(w.t.Context(), put)))
	}
}

// bad reads job bad<i>.
func (w *world) bad(i int) *queue.Job {
	w.t.Helper()
	job, err := w.client.Get(w.t.Context(), fmt.Sprintf("bad%d", i))
	must(w.t, err)
	return job
}

// TestAMissingProgramInFrontOfGoodJobs has a shell exit with 127 for some jobs: the pool's own program, the shell, was started, so beside others that end
// well the second time counts. It once took a minute.
func TestAMissingProgramInFrontOfGoodJobs(t *testing.T) {
	w := newWorld(t)
	w.putBad(6)
	w.put(20, `{"n":%d}`)
	pool := w.pool(runner.Once, "", 4)
	pool.Retry.Delay = time.Hour // so that a job is tried twice at most
	pool.Child.Command = []string{"sh", "-c", `[ "$OARLOCK_KLASS" != bad ] || convert-nosuch`}
	s := w.run(Config{Pools: []Pool{pool}})
	w.await(20, "complete")
	for i := range 6 {
		job := w.bad(i)
		until(t, "its first attempt ends", func() bool { // while it is tried once more an attempt less remains
			job = w.bad(i)
			return job.Kept.Unstarted.Count > 0 && job.State != "running"
		})
		if job.State == "failed" || job.Remaining < 4 || job.Kept.Crashes != 0 {
			t.Errorf("%s is %s, has %d retries, %d crashes and was not started %d times", job.JID, job.State, job.Remaining, job.Kept.Crashes, job.Kept.Unstarted.Count)
		}
	}
	if n := s.Snapshot().Pools[0].Counters.Unstarted; n < 6 {
		t.Errorf("status counts %d attempts whose command could not be run, want 6 at least", n)
	}
}

// TestAJobThatKillsItsReusedChildAtOnceRunsFourTimes has a child die right after it read the job.
func TestAJobThatKillsItsReusedChildAtOnceRunsFourTimes(t *testing.T) {
	w := newWorld(t)
	w.putBad(1)
	pool := w.pool(runner.Reuse, "", 1)
	pool.Child.Command = []string{"sh", "-c", `while read -r job; do echo >>"$0"; kill -KILL $$; done`, w.ledger}
	w.run(Config{Pools: []Pool{pool}})
	until(t, "the job fails", func() bool { return w.bad(0).State == "failed" })
	runs, err := os.ReadFile(w.ledger)
	must(t, err)
	if n := bytes.Count(runs, []byte("\n")); n != 4 || w.bad(0).Failure.Group != "signal-KILL" {
		t.Errorf("it ran %d times and failed as %s, want 4 and signal-KILL", n, w.bad(0).Failure.Group)
	}
}
