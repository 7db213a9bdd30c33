package supervisor

import (
	"context"
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

// awake lists the pools of worlds as the supervisors of these tell of themselves.
func awake(worlds ...*fakeWorld) func(context.Context) []WorkingPool {
	return func(context.Context) (all []WorkingPool) {
		for _, w := range worlds {
			for _, p := range w.s.Snapshot().Pools {
				all = append(all, WorkingPool{Worker: p.Worker, Generations: []int{p.Generation}, Queues: p.Queues})
			}
		}
		return all
	}
}

// hosts are two supervisors of one queue, which tell each other of their pools: the program of the first knows Old, that of the second Old and
// New. A job takes them 20 ms, or 1 ms to say that it is not known.
func hosts(t *testing.T, olds, news int) (old, new *fakeWorld) {
	old, new = newFakeWorld(t), newFakeWorld(t)
	new.redis = old.redis
	old.cfg.Name, new.cfg.Name = "old", "new"
	old.cfg.Pools[0].Children, new.cfg.Pools[0].Children = olds, news
	old.host.work = func(job *protocol.Job, _ <-chan runner.Cause) *runner.Ending {
		if job.Klass == "New" {
			time.Sleep(time.Millisecond)
			if olds%2 == 0 {
				return exited(69, protocol.ExitUnknown)
			}
			return said(protocol.Unknown)
		}
		time.Sleep(20 * time.Millisecond)
		return said(protocol.Ack)
	}
	new.host.work = lasting(20 * time.Millisecond)
	for _, w := range []*fakeWorld{old, new} {
		w.cfg.Pools[0].UnknownFor = 15 * time.Minute
		w.cfg.Awake = awake(old, new)
	}
	return old, new
}

// Jobs of a class that only new code knows, beside an old host that has nothing else to do, or very much.
func TestAClassOfNewCodeGoesToTheHostThatKnowsIt(t *testing.T) {
	for _, children := range [][2]int{{1, 3}, {1, 12}, {30, 1}, {12, 3}} {
		runBubble(t, fmt.Sprintf("%d and %d children", children[0], children[1]), func(t *testing.T) {
			old, new := hosts(t, children[0], children[1])
			old.run()
			new.run()
			done := func(class string) int {
				old.redis.mu.Lock()
				defer old.redis.mu.Unlock()
				n := 0
				for _, j := range old.redis.in["complete"] {
					if j.Klass == class {
						n++
					}
				}
				return n
			}
			old.redis.putOf("New", 60)
			time.Sleep(3 * time.Second)
			same(t, done("New"), 60, "of 60 jobs of the new class %d are done after 3 s")

			// Jobs of the old class that would take 2.4 s without the new one.
			each := 2400 / 20 * (children[0] + children[1]) / 60
			for range 60 {
				old.redis.putOf("Old", each)
				old.redis.putOf("New", 1)
			}
			time.Sleep(3 * time.Second)
			same(t, done("New"), 120, "among jobs of the old class %d of 120 of the new one are done after 3 s")
			same(t, done("Old"), 60*each, "meanwhile %d of the old one are done")
			for jid := range 60 {
				between(t, old.host.begun(fmt.Sprintf("j%d", jid)), 0, 5, "the old host was asked %d times for one job")
			}
			old.stop()
			new.stop()
			old.wait()
			new.wait()
		})
	}
}

// A job whose class another host may know waits for that one, however busy it is, but not for ever; and not for one that does not answer.
func TestAClassWaitsForAHostThatWasNotAsked(t *testing.T) {
	for name, failed := range map[string]time.Duration{"busy": time.Hour, "standing still": 15 * time.Minute} {
		runBubble(t, name, func(t *testing.T) {
			old, new := hosts(t, 2, 1)
			if name != "busy" {
				old.cfg.Awake = awake(old)
			}
			new.host.work = lasting(24 * time.Hour)
			new.runFor(time.Second, 1)
			old.run()
			old.redis.putOf("New", 1)
			time.Sleep(failed - 10*time.Second)
			if j := old.redis.job("j1"); j.state == "failed" || j.Remaining != j.Retries {
				t.Errorf("it is %s, with %d of %d retries", j.state, j.Remaining, j.Retries)
			}
			time.Sleep(2 * time.Minute)
			j := old.redis.job("j1")
			same(t, j.state, "failed", "it is %s")
			between(t, old.host.begun("j1"), 20, 300, "it was begun %d times")
			old.stop()
			old.wait()
			new.stopNow()
		})
	}
}

func TestAClassThatNobodyKnowsFailsInTheEnd(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].UnknownFor = 15 * time.Minute
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending { return said(protocol.Unknown) }
		w.runFor(14*time.Minute, 3)
		w.want("failed", 0)
		if j := w.redis.job("j0"); j.Unknown.Count < 30 || len(j.Unknown.Names) != 1 || !strings.HasSuffix(j.Unknown.Names[0], " generation 1") {
			t.Errorf("what is kept is %+v", j.Unknown)
		}
		w.after(2*time.Minute, "failed", 3)
		if s := w.redis.job("j0").settlement; s.Group != "unknown-klass" || !strings.Contains(s.Message, "K for 15m") || !strings.Contains(s.Message, " generation 1") {
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
