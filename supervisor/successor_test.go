package supervisor

import (
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// Where a child works one job, one call settles that and takes the next, for the child that follows.
func TestASuccessorsJobComesWithTheSettlement(t *testing.T) {
	for _, mode := range []runner.Mode{runner.Once, runner.Preload} {
		runFaked(t, mode.String(), func(t *testing.T, w *fakeWorld) {
			w.cfg.Pools[0].Child.Mode, w.cfg.Pools[0].Children = mode, 1
			w.tripping(300 * time.Microsecond)
			w.host.dying = 2 * time.Millisecond
			w.host.boots(func(*runner.Spec) error {
				time.Sleep(3 * time.Millisecond)
				return nil
			})
			w.runFor(10*time.Second, 100)
			w.want("complete", 100)
			if n := w.s.Snapshot().Pools[0].Counters.Exchanges; n > 110 {
				t.Errorf("%d calls for 100 jobs, one after the other", n)
			}
		})
	}
}

// An ending does not wait for that longer than some milliseconds.
func TestASettlementDoesNotWaitForASlowSuccessor(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Child.Mode, w.cfg.Pools[0].Children = runner.Preload, 1
		w.host.boots(func(*runner.Spec) error {
			time.Sleep(time.Second)
			return nil
		})
		var ended time.Time
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			if ended.IsZero() {
				ended = time.Now()
			}
			return said(protocol.Ack)
		}
		w.redis.put(3)
		w.run()
		for w.redis.states()["complete"] == 0 {
			time.Sleep(100 * time.Microsecond)
		}
		if took := time.Since(ended); took > 6*time.Millisecond {
			t.Errorf("settled %v after its end", took)
		}
	})
}
