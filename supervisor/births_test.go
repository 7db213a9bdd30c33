package supervisor

import (
	"sync/atomic"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
	"oarlock/supervisor/internal/births"
)

// A command that is broken is tried a few times a minute by the whole pool, not by
// each of its slots.
func TestSlotsShareTheWaitsOfAChildThatDiesAtBoot(t *testing.T) {
	for _, mode := range []runner.Mode{runner.Reuse, runner.Preload} {
		runFaked(t, mode.String(), func(t *testing.T, w *fakeWorld) {
			w.cfg.Pools[0].Children = 4
			w.cfg.Pools[0].Child.Mode = mode
			w.host.boot = func(*runner.Spec) error {
				time.Sleep(10 * time.Millisecond)
				return errBoot
			}
			w.runFor(time.Minute, 10)
			between(t, w.host.starts(), 10, 15, "%d starts in the first minute")
			w.want("waiting", 10)
			if shot := w.s.Snapshot().Pools[0].Slots[0]; shot.State != "backoff" {
				t.Errorf("a slot is shown as %+v, want backoff", shot)
			}
			w.host.boots(nil)
			w.after(births.Limit*3/2+2*time.Second, "complete", 10)
		})
	}
}

// On a machine where dying takes long, a child may be given a job before. If it did not
// read it, it is not started on and on because of that.
func TestAChildThatDoesNotReadItsFirstJobDiedAtBoot(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 4
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			time.Sleep(100 * time.Millisecond)
			return &runner.Ending{Kind: runner.LeftEarly, ExitCode: 1}
		}
		w.runFor(time.Minute, 100)
		if n := w.host.starts(); n > 15 {
			t.Errorf("%d starts in the first minute, want 4 at once and about ten trials", n)
		}
	})
}

// A job that such a child was given goes back when no child starts any more: another pool may have one that does.
func TestAJobOfAChildThatDiedAtBootGoesBack(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 1
		var born atomic.Int32
		w.host.boot = func(*runner.Spec) error {
			if born.Add(1) == 1 {
				return nil
			}
			return errBoot
		}
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			return &runner.Ending{Kind: runner.LeftEarly, ExitCode: 1}
		}
		w.runFor(time.Minute, 1)
		if born.Load() < 5 || w.s.Snapshot().Pools[0].Barren == "" {
			t.Errorf("%d starts, and the pool does not say that its children do not start", born.Load())
		}
		w.want("waiting", 1)
	})
}

// Children that die together, once, are back together.
func TestAPoolWhoseChildrenDiedOnceIsBackAtOnce(t *testing.T) {
	runFaked(t, "before any job", func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 10
		var born atomic.Int32
		w.host.boot = func(*runner.Spec) error {
			time.Sleep(10 * time.Millisecond)
			if born.Add(1) <= 10 {
				return errBoot
			}
			return nil
		}
		w.redis.put(100)
		w.host.work = lasting(10 * time.Millisecond)
		w.runFor(births.First*3/2+100*time.Millisecond, 0)
		same(t, w.host.living(), 10, "%d of 10 children are back after the first wait")
		same(t, w.host.starts(), 20, "%d starts")
	})
	runFaked(t, "without any job", func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 10
		var born atomic.Int32
		w.host.boot = func(*runner.Spec) error {
			if born.Add(1) <= 10 {
				return errBoot
			}
			return nil
		}
		w.runFor(births.First*3/2+time.Second+50*time.Millisecond, 0)
		same(t, w.host.living(), 10, "%d of 10 children are back after one has lived for a while")
	})
	runFaked(t, "at a job", func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 10
		w.host.work = func(job *protocol.Job, _ <-chan runner.Cause) *runner.Ending {
			time.Sleep(10 * time.Millisecond)
			if job.Attempt == 1 {
				return &runner.Ending{Kind: runner.Died, Group: "signal-KILL", ExitCode: -1}
			}
			return said(protocol.Ack)
		}
		w.runFor(50*time.Millisecond, 10)
		same(t, w.host.living(), 10, "%d of 10 children are back after each has died at a job")
		w.after(time.Second, "complete", 10)
	})
}

// A pool of which some children start goes on with those.
func TestChildrenThatStartWorkOn(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		var born atomic.Int32
		w.host.boot = func(*runner.Spec) error {
			if born.Add(1) > 1 {
				return errBoot
			}
			return nil
		}
		w.runFor(time.Minute, 0)
		if shot := w.s.Snapshot().Pools[0]; shot.Breaker != "" {
			t.Errorf("the breaker is open with a child at work: %s", shot.Breaker)
		}
		w.redis.put(10)
		w.after(time.Second, "complete", 10)
	})
}
