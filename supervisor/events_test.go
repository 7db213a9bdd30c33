package supervisor

import (
	"bytes"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// How long a job has waited is told from its put, on Redis' clock.
func TestTheWaitOfAJobIsTold(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		told := hear(w)
		w.cfg.Pools[0].Children = 1
		w.host.work = lasting(10 * time.Second)
		w.runFor(time.Second, 0)
		w.putFor(30*time.Second, 2)
		began := told.of(AttemptStarted)
		if len(began) != 2 {
			t.Fatalf("%d attempts began", len(began))
		}
		if a, b := began[0].Waited, began[1].Waited; a > time.Second || b < 10*time.Second || b > 12*time.Second {
			t.Errorf("they waited %v and %v", a, b)
		}
		if e := told.of(ChildReady); len(e) != 1 || e[0].PID == 0 {
			t.Errorf("children that came up: %+v", e)
		}
	})
}

// That an attempt has begun is told when its child is told of it: not while it is kept ready behind another.
func TestAnAttemptThatIsKeptReadyHasNotBegun(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		told := hear(w)
		w.cfg.Pools[0].Children, w.cfg.Pools[0].Prefetch = 1, 2
		w.host.work = lasting(10 * time.Second)
		w.runFor(time.Second, 0)
		w.putFor(5*time.Second, 3)
		w.want("running", 3) // two of them are kept ready
		for i := range 3 {
			if began, ended := len(told.of(AttemptStarted)), len(told.of(AttemptEnded)); began != i+1 || ended != i {
				t.Errorf("while the child is at its job %d, %d were told to have begun, and %d to have ended", i+1, began, ended)
			}
			time.Sleep(10 * time.Second)
		}
		for i, e := range told.of(AttemptStarted) {
			if least := time.Duration(i) * 10 * time.Second; e.Waited < least-time.Second || e.Waited > least+2*time.Second {
				t.Errorf("job %d waited %v", i+1, e.Waited)
			}
		}
	})
}

// A job that is given to another child, for the first one left without having read it, has waited once.
func TestTheWaitOfAJobIsToldOnce(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		told := hear(w)
		w.cfg.Pools[0].Children = 1
		left := false
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			if !left {
				left = true
				return &runner.Ending{Kind: runner.LeftEarly, ExitCode: 0}
			}
			return said(protocol.Ack)
		}
		w.putFor(time.Second, 1)
		w.runFor(30*time.Second, 0)
		w.want("complete", 1)
		began := told.of(AttemptStarted)
		if len(began) != 2 || began[0].Waited < time.Second || began[1].Waited != 0 {
			t.Errorf("its beginnings say %+v", began)
		}
	})
}

// Renewals tell how much of a lease was left, and an outage is told once, with its length.
func TestRenewalsAndOutagesAreTold(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		told := hear(w)
		w.host.work = lasting(100 * time.Second)
		w.run()
		w.putFor(50*time.Second, 2)
		for _, e := range told.of(Renewed) {
			if e.Locks != 2 || e.Margin < 30*time.Second || e.Margin > 40*time.Second || e.Reason != "" {
				t.Errorf("a renewal of two locks of a minute says %+v", e)
			}
		}
		if n := len(told.of(Renewed)); n < 2 {
			t.Errorf("%d renewals were told", n)
		}
		w.redis.faults(func(string) fault { return fault{away: errAway} })
		time.Sleep(25 * time.Second)
		w.redis.faults(nil)
		time.Sleep(5 * time.Second)
		if e := told.one(t, RedisAway); e.Message == "" || e.Pool != "" {
			t.Errorf("the outage says %+v", e)
		}
		if e := told.one(t, RedisBack); e.Took < 15*time.Second || e.Took > 30*time.Second {
			t.Errorf("its end says %+v", e)
		}
	})
}

// A Redis that is not there at the start was away, too.
func TestAnOutageAtTheStartIsTold(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		told := hear(w)
		w.redis.faults(func(string) fault { return fault{away: errAway} })
		w.runFor(10*time.Second, 0)
		told.one(t, RedisAway)
		w.redis.faults(nil)
		time.Sleep(5 * time.Second)
		if e := told.one(t, RedisBack); e.Took < 8*time.Second || e.Took > 15*time.Second {
			t.Errorf("its end says %+v", e)
		}
	})
}

// A lock that is lost is told with its cause.
func TestALostLockIsTold(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		told := hear(w)
		w.host.work = lasting(time.Minute)
		w.run()
		w.putFor(time.Second, 1)
		w.redis.steal("j0", "another")
		time.Sleep(25 * time.Second)
		began := told.one(t, AttemptStarted) // in any slot
		if e := told.one(t, LockLost); e.Cause != runner.CauseLockLost || e.Job.JID != "j0" || e.Slot != began.Slot || e.PID == 0 || e.PID != began.PID {
			t.Errorf("it says %+v", e)
		}
	})
}

// That a pool grows and shrinks is told with numbers and reason, and so is what children leave for.
func TestScalingAndExitsAreTold(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		told := hear(w)
		w.cfg.Pools[0].MinChildren, w.cfg.Pools[0].MaxChildren = 1, 3
		w.cfg.Pools[0].IdleTimeout = 5 * time.Second
		w.host.work = lasting(2 * time.Second)
		w.run()
		w.redis.put(30)
		time.Sleep(2*time.Minute + 300*time.Millisecond) // between two looks for idle children
		by := map[string]int{}
		for _, e := range told.of(Scaled) {
			by[e.Reason] += e.To - e.From
		}
		if by[ScaledUp] != 2 || by[ScaledDown] != -2 || len(by) != 2 {
			t.Errorf("it grew and shrank by %v", by)
		}
		must(t, w.s.Scale("p", 3))
		w.change(func(p *Pool) { p.MaxChildren = 2 })
		time.Sleep(time.Second)
		last := map[string]Event{}
		for _, e := range told.of(Scaled) {
			last[e.Reason] = e
		}
		if a, r := last[ScaledAsked], last[ScaledReload]; a.From != 1 || a.To != 3 || r.From != 3 || r.To != 2 {
			t.Errorf("then it was %+v and %+v", a, r)
		}
		if e := told.one(t, Reloaded); e.Message != "changed p" {
			t.Errorf("the reload says %q", e.Message)
		}
		w.end()
		left := map[string]int{}
		for _, e := range told.of(ChildExited) {
			left[e.Reason]++
		}
		if left[LeftShrink] < 3 || left[LeftStop] == 0 || len(left) != 2 {
			t.Errorf("children left for %v", left)
		}
	})
}

// A child that is replaced because of its memory has a line in the log at level info; others have none.
func TestALineTellsOfMaxMemory(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		var log bytes.Buffer
		w.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		w.cfg.Pools[0].Children, w.cfg.Pools[0].MaxMemory, w.cfg.Pools[0].MaxAge = 1, 10, time.Minute
		w.host.memory = func(age time.Duration) int64 { return int64(age / time.Second) }
		w.run()
		w.putFor(30*time.Second, 3)
		w.end()
		if n := strings.Count(log.String(), `level=INFO msg="child is replaced: it uses more memory than max_memory" pool=p slot=0`); n < 1 || n > 3 || !strings.Contains(log.String(), " max_memory=10") {
			t.Errorf("%d lines tell of it:\n%s", n, log.String())
		}
	})
}

// A pool whose loop stands for longer than a snapshot waits is told of to a caller that waits for longer. Where it is not, the list of pools is empty.
func TestASnapshotWaitsForABusyLoop(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		stands := make(chan struct{}, 1)
		w.cfg.OnEvent = func(e Event) {
			if e.Kind == ChildStarted && len(stands) == 0 {
				stands <- struct{}{}
				time.Sleep(3 * time.Second)
			}
		}
		w.run()
		for len(stands) == 0 {
			time.Sleep(time.Millisecond)
		}
		if shot := w.s.Snapshot(); shot.Pools == nil || len(shot.Pools) != 0 || len(shot.Stuck) != 1 {
			t.Errorf("after a second: %+v, stuck %q", shot.Pools, shot.Stuck)
		}
		if shot := w.s.SnapshotWithin(5 * time.Second); len(shot.Pools) != 1 || len(shot.Stuck) != 0 {
			t.Errorf("after five: %+v, stuck %q", shot.Pools, shot.Stuck)
		}
	})
}

// Each way in which a child leaves has its word.
func TestWhyChildrenLeave(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*fakeWorld)
		want string
	}{
		{"once", func(w *fakeWorld) { w.cfg.Pools[0].Child.Mode = runner.Once }, LeftJobDone},
		{"preload", func(w *fakeWorld) { w.cfg.Pools[0].Child.Mode = runner.Preload }, LeftJobDone},
		{"max_jobs", func(w *fakeWorld) { w.cfg.Pools[0].MaxJobs = 2 }, LeftMaxJobs},
		{"max_age", func(w *fakeWorld) { w.cfg.Pools[0].MaxAge = 5 * time.Second }, LeftMaxAge},
		{"max_memory", func(w *fakeWorld) {
			w.cfg.Pools[0].MaxMemory = 10
			w.host.memory = func(age time.Duration) int64 { return int64(age / time.Second) }
		}, LeftMaxMemory},
		{"idle", func(w *fakeWorld) { w.cfg.Pools[0].IdleTimeout = 5 * time.Second }, LeftIdle},
		{"start", func(w *fakeWorld) {
			w.host.program = func(*runner.Spec) program { return program{lives: time.Second} }
		}, LeftStart},
		{"bye", func(w *fakeWorld) { w.host.tired = true }, LeftJobDone},
		{"crash", func(w *fakeWorld) {
			w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
				return &runner.Ending{Kind: runner.Died, Began: true, Signal: 11, ExitCode: -1}
			}
		}, LeftCrash},
	} {
		runFaked(t, c.name, func(t *testing.T, w *fakeWorld) {
			told := hear(w)
			c.set(w)
			w.run()
			w.putFor(30*time.Second, 10)
			found := told.of(ChildExited)
			if len(found) == 0 {
				t.Fatal("none left")
			}
			for _, e := range found {
				if e.Reason != c.want {
					t.Errorf("one left for %q, want %q", e.Reason, c.want)
					break
				}
			}
		})
	}
}

// The breaker tells that it opens, with the reason, and that it shuts; the snapshot since when and until when.
func TestTheBreakerIsTold(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		told := hear(w)
		bad := true
		w.host.work = func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
			if w.mu.Lock(); bad {
				w.mu.Unlock()
				return raised()
			}
			w.mu.Unlock()
			return said(protocol.Ack)
		}
		w.run()
		w.redis.put(200)
		time.Sleep(3*time.Second + 50*time.Millisecond) // between two jobs
		synctest.Wait()
		if e := told.one(t, BreakerOpened); e.Message == "" {
			t.Error("it does not say why it opened")
		}
		p := w.s.Snapshot().Pools[0]
		if p.Breaker == "" || p.BreakerFor < 1 || p.BreakerFor > 4 || p.NextProbe > 0.1 || p.BadJobs < 20 || math.Abs(p.Delays-0.2*float64(p.BadJobs)) > 1e-6 {
			t.Errorf("the snapshot says %q for %v, next in %v, and that %d jobs delay others by %v s", p.Breaker, p.BreakerFor, p.NextProbe, p.BadJobs, p.Delays)
		}
		locked(&w.mu, func() { bad = false })
		time.Sleep(5 * time.Second)
		told.one(t, BreakerClosed)
		if p := w.s.Snapshot().Pools[0]; p.Breaker != "" || p.BreakerFor != 0 {
			t.Errorf("then the snapshot says %+v", p)
		}
	})
}
