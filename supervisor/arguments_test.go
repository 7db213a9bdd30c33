package supervisor

import (
	"fmt"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// A job that has not what its program's arguments are made of fails by itself: neither the
// breaker nor the starts of others, nor new code on trial, has to do with it.
func TestBadArgumentsConcernTheirJobAlone(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Child.Mode = runner.Once
		w.host.refuse = func(first *protocol.Job) error {
			if first.JID == "j300" {
				return nil
			}
			return fmt.Errorf("start it: %w", &runner.ArgumentError{Where: "args[0]", Why: "{data.path}: there is none"})
		}
		w.runFor(10*time.Second, 300)
		if s := w.s.Snapshot().Pools[0]; s.Breaker != "" || s.Barren != "" || s.Counters.Unstarted != 0 || s.Counters.Failed != 300 {
			t.Errorf("the pool is %+v", s)
		}
		w.want("failed", 300)
		if j := w.redis.job("j7").settlement; j.Group != "bad-arguments" || j.Message != "args[0]: {data.path}: there is none" {
			t.Errorf("the job failed as %+v", j)
		}
		must(t, w.s.Recycle("p"))
		w.redis.put(1)
		w.after(time.Second, "complete", 1)
		if s := w.s.Snapshot().Pools[0]; s.Rolling || s.Generation != 2 {
			t.Errorf("after a recycle the pool is %+v", s)
		}
	})
}
