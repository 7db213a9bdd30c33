package supervisor

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
	"oarlock/supervisor/outcome"
)

// A deploy host by host: jobs of a new class, and an old worker that is as quick to take them.
func TestAClassThatOneSupervisorDoesNotKnowWaitsForTheOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		old, new := newFakeWorld(t), newFakeWorld(t)
		new.redis = old.redis
		old.cfg.Name, new.cfg.Name = "old", "new"
		for _, w := range []*fakeWorld{old, new} {
			w.cfg.Pools[0].UnknownFor = 15 * time.Minute
		}
		old.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			time.Sleep(time.Millisecond)
			return said(protocol.Unknown)
		}
		new.host.work = lasting(5 * time.Millisecond)
		old.redis.put(1000)
		old.run()
		new.runFor(10*time.Minute, 0)
		old.want("complete", 1000)
		for n := range 1000 {
			if j := old.redis.job(fmt.Sprintf("j%d", n)); j.Remaining != j.Retries || j.Unknown.Count != 0 {
				t.Fatalf("%s has %d of %d retries, and %+v", j.JID, j.Remaining, j.Retries, j.Unknown)
			}
		}
		shot := old.s.Snapshot().Pools[0]
		if shot.Counters.Unknown == 0 || shot.Counters.Failed+shot.Counters.Retried > 0 || shot.Breaker != "" {
			t.Errorf("the old one counts %+v, breaker %q", shot.Counters, shot.Breaker)
		}
		old.stop()
		new.stop()
		old.wait()
		new.wait()
	})
}

func TestAClassThatNobodyKnowsFailsInTheEnd(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].UnknownFor = 15 * time.Minute
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending { return said(protocol.Unknown) }
		w.runFor(14*time.Minute, 3)
		w.want("failed", 0)
		if j := w.redis.job("j0"); j.Unknown.Count < 30 || strings.Join(j.Unknown.Names, ",") != "host generation 1" {
			t.Errorf("what is kept is %+v", j.Unknown)
		}
		w.after(2*time.Minute, "failed", 3)
		if s := w.redis.job("j0").settlement; s.Group != "unknown-klass" || !strings.Contains(s.Message, "K for 15m") || !strings.Contains(s.Message, "host generation 1") {
			t.Errorf("it failed as %s: %s", s.Group, s.Message)
		}
	})
}

// A child that releases its job until something is ready, however often, has not crashed.
func TestReleasesNeverEndAJob(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		delay := 300 * time.Millisecond
		w.host.work = func(job *protocol.Job, _ <-chan runner.Cause) *runner.Ending {
			if job.Attempt != 1 {
				t.Errorf("it is attempt %d", job.Attempt)
			}
			if w.host.begun(job.JID) > 100 {
				return said(protocol.Ack)
			}
			e := said(protocol.Release)
			e.Verdict.Delay = &delay
			return e
		}
		w.runFor(5*time.Minute, 1)
		w.want("complete", 1)
		if j := w.redis.job("j0"); j.Crashes != 0 || j.Remaining != 5 {
			t.Errorf("it has %d crashes and %d remaining", j.Crashes, j.Remaining)
		}
	})
}

// A child that gives its job back at once, for hours, keeps neither us nor Redis busy.
func TestReleasesInALoopAreNoHotLoop(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		none := time.Duration(0)
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			time.Sleep(time.Millisecond)
			e := said(protocol.Release)
			e.Verdict.Delay = &none
			return e
		}
		w.runFor(time.Minute, 1)
		between(t, w.host.begun("j0"), 30, 601, "it was begun %d times in a minute")
	})
}

// A program that is missing after a deploy, and the one job of a quiet queue.
func TestAMissingProgramFailsNoJobOfAQuietQueue(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Child.Mode = runner.Once
		var missing atomic.Bool
		missing.Store(true)
		w.host.work = endings(time.Millisecond, func(int, *protocol.Job) *runner.Ending {
			if missing.Load() {
				return exited(127, protocol.ExitMisconfigured)
			}
			return nil
		})
		w.runFor(time.Hour, 1)
		if j := w.redis.job("j0"); j.state == "failed" || j.Remaining != 5 || j.Crashes != 0 {
			t.Errorf("it is %s, %d remaining, %d crashes", j.state, j.Remaining, j.Crashes)
		}
		between(t, w.s.Snapshot().Pools[0].Counters.Unstarted, 12, 25, "status counts %d attempts")
		missing.Store(false)
		w.after(6*time.Minute, "complete", 1)
	})
}

// A job that asks for patience all day long lives through several deploys that leave its program
// missing for a while, though others end well in between.
func TestAMissingProgramIsForgivenAgainOnceItRan(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Child.Mode = runner.Once
		w.cfg.Pools[0].Retry = outcome.Retry{Delay: time.Second}
		var missing atomic.Bool
		w.host.work = endings(time.Millisecond, func(n int, _ *protocol.Job) *runner.Ending {
			switch {
			case missing.Load():
				return exited(127, protocol.ExitMisconfigured)
			case n == 0:
				return said(protocol.Release)
			}
			return nil
		})
		w.redis.put(1)
		w.run()
		for range 8 {
			missing.Store(true)
			time.Sleep(10 * time.Second)
			missing.Store(false)
			time.Sleep(30 * time.Second) // by when it has run
			w.putFor(10*time.Minute, 1)
		}
		if j := w.redis.job("j0"); j.Remaining != 5 || j.state == "failed" {
			t.Errorf("it is %s and has %d retries left, want all 5", j.state, j.Remaining)
		}
		w.want("complete", 8)
	})
}

// A job that finds its program missing does not pay for that if another, which began after it, finds the program mended and ends sooner;
// but it does the next time.
func TestWhoEndsWellMeanwhileProvesNothing(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Child.Mode = runner.Once
		began := 0
		w.host.work = func(job *protocol.Job, _ <-chan runner.Cause) *runner.Ending {
			if job.JID != "j0" {
				return said(protocol.Ack)
			}
			if began++; began == 2 {
				w.putFor(10*time.Second, 1)
			}
			return exited(127, protocol.ExitMisconfigured)
		}
		w.redis.put(1)
		w.run()
		for ms := 0; ms < 60_000 && w.redis.job("j0").Unstarted.Count < 2; ms++ {
			time.Sleep(time.Millisecond)
		}
		w.want("complete", 1)
		if j := w.redis.job("j0"); j.Remaining != 5 {
			t.Errorf("it has %d retries left, want all 5", j.Remaining)
		}
		time.Sleep(time.Minute)
		if j := w.redis.job("j0"); j.state != "failed" && j.Remaining == 5 {
			t.Errorf("it is %s and has %d retries left, want it to pay", j.state, j.Remaining)
		}
	})
}

// A job whose own script calls what is not there pays for it, for others end well.
func TestAJobThatAloneCannotRunPaysForIt(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Child.Mode = runner.Once
		w.cfg.Pools[0].Retry = outcome.Retry{Delay: time.Second}
		w.host.work = endings(time.Millisecond, func(n int, _ *protocol.Job) *runner.Ending {
			if n == 0 {
				return exited(127, protocol.ExitMisconfigured)
			}
			return nil
		})
		w.redis.put(1)
		w.run()
		for range 30 {
			w.putFor(time.Second, 1)
		}
		w.want("failed", 1)
		if n := w.host.begun("j0"); n != 7 {
			t.Errorf("it ran %d times, want one that was not counted and six that were", n)
		}
	})
}

// Jobs that kill their child at once are counted from the first time on, and keep no other waiting.
func TestAJobThatKillsItsChildAtOnceIsCounted(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.host.work = endings(0, func(n int, _ *protocol.Job) *runner.Ending {
			if n == 0 {
				return &runner.Ending{Kind: runner.Died, Group: "signal-SEGV", ExitCode: -1}
			}
			return nil
		})
		w.runFor(10*time.Second, 50)
		w.want("failed", 1)
		w.want("complete", 49)
		same(t, w.host.begun("j0"), 4, "it ran %d times")
		same(t, w.s.Snapshot().Pools[0].Counters.Crashed, 4, "%d crashes are counted")
	})
}
