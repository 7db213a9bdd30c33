package supervisor

import (
	"fmt"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// A child never works more than max_jobs, and its replacement goes on where it stops.
func TestChildrenAreReplacedAfterSoManyJobs(t *testing.T) {
	for _, prefetch := range []int{0, 4} {
		runBubble(t, fmt.Sprintf("prefetch=%d", prefetch), func(t *testing.T) {
			const each, length = 50, 20 * time.Millisecond
			w := newFakeWorld(t)
			w.cfg.Pools[0].MaxJobs, w.cfg.Pools[0].Jitter, w.cfg.Pools[0].Prefetch = each, 0.1, prefetch
			w.host.boot = func(*runner.Spec) error {
				time.Sleep(300 * time.Millisecond)
				return nil
			}
			w.host.work = lasting(length)
			worked := map[int]int{}         // by pid
			ended := map[int]time.Time{}    // by slot
			longest := time.Duration(0)     // that a slot had nothing to do
			w.cfg.OnEvent = func(e Event) { // from the only pool's loop
				switch e.Kind {
				case AttemptStarted:
					if at, ok := ended[e.Slot]; ok && prefetch == 0 {
						longest = max(longest, time.Since(at))
					}
				case AttemptEnded:
					worked[e.PID]++
					ended[e.Slot] = time.Now()
				}
			}
			w.runFor(time.Minute, 1000)
			w.want("complete", 1000)
			w.end()
			for pid, n := range worked {
				if n > each {
					t.Errorf("child %d worked %d jobs, want %d at most", pid, n, each)
				}
			}
			if n := len(worked); n < 20 || n > 25 {
				t.Errorf("%d children worked 1000 jobs, up to %d each", n, each)
			}
			if longest > length {
				t.Errorf("a slot had nothing to do for %v while jobs waited", longest)
			}
		})
	}
}

// Where children do not start any more, the old ones go on.
// Children that work a job each are replaced as fast as they work: only starts that no
// child has earned are held up.
func TestChildrenAreReplacedAfterEachJob(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const jobs, length = 1000, 10 * time.Millisecond
		w := newFakeWorld(t)
		w.cfg.Pools[0].MaxJobs, w.cfg.Pools[0].Children = 1, 4
		w.host.work = lasting(length)
		var last time.Duration
		began := time.Now()
		w.cfg.OnEvent = func(e Event) {
			if e.Kind == AttemptEnded {
				last = time.Since(began)
			}
		}
		w.runFor(time.Minute, jobs)
		w.want("complete", jobs)
		w.end()
		if most := 2*jobs/4*length + time.Second; last > most {
			t.Errorf("%d jobs took %v with four children that are replaced after each, want %v at most", jobs, last, most)
		}
	})
}

// A child that may work a single job waits for it, and its replacement with it, for as long as none comes.
func TestAChildOfOneJobIsNotReplacedBeforeIt(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].MaxJobs, w.cfg.Pools[0].Children = 1, 4
		w.runFor(10*time.Minute, 0)
		if n := w.host.starts(); n != 8 {
			t.Errorf("%d starts without a job, want one for each of 4 slots and one ahead of time", n)
		}
		w.redis.put(12)
		w.after(10*time.Minute, "complete", 12)
		same(t, w.host.starts(), 8+12, "%d starts after 12 jobs")
	})
}

func TestAnOldChildIsBetterThanNone(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].MaxJobs = 10
		w.host.work = lasting(20 * time.Millisecond)
		w.runFor(time.Second, 0)
		w.host.boots(func(*runner.Spec) error { return errBoot })
		w.redis.put(200)
		w.after(20*time.Second, "complete", 200)
	})
}

func TestAReplacementIsReadyFirst(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 1
		w.cfg.Pools[0].MaxAge = time.Minute
		w.host.boot = func(*runner.Spec) error {
			time.Sleep(5 * time.Second)
			return nil
		}
		w.run()
		time.Sleep(68 * time.Second) // 65 after the start of the first, which took 5, and the second is starting
		if n := w.host.living(); n != 2 {
			t.Errorf("%d children, want the old one and its replacement", n)
		}
		w.putFor(50*time.Millisecond, 1)
		w.want("complete", 1) // by the old one
		time.Sleep(10 * time.Second)
		same(t, w.host.living(), 1, "%d children after the change")
	})
}

func TestIdleChildrenAreReplaced(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].IdleTimeout = time.Minute
		w.host.work = lasting(time.Second)
		w.runFor(time.Hour, 0)
		same(t, w.host.starts(), 2, "%d starts of 2 children that had nothing to do for an hour")
		for round := 1; round <= 2; round++ { // each of them has work, and then an hour without
			w.redis.put(20)
			w.after(time.Hour, "complete", 20*round)
			same(t, w.host.starts(), 2+2*round, "%d starts after work and an idle hour")
		}
	})
}

func TestAPoolGrowsAndShrinks(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].MinChildren, w.cfg.Pools[0].MaxChildren = 1, 6
		w.cfg.Pools[0].IdleTimeout = 20 * time.Second
		w.host.work = lasting(10 * time.Second)
		w.runFor(time.Minute, 0)
		same(t, w.host.living(), 1, "%d children when idle")
		w.putFor(time.Minute, 100)
		same(t, w.host.living(), 6, "%d children under load")
		w.after(10*time.Minute, "complete", 100)
		same(t, w.host.living(), 1, "%d children when idle again")
	})
}

func TestAPoolGrowsFromNothing(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].MaxChildren = 3
		w.runFor(time.Minute, 0)
		same(t, w.host.living(), 0, "%d children without any job")
		if n := w.redis.calls("outlook"); n > 80 {
			t.Errorf("%d looks in an idle minute, want one a second", n)
		}
		w.redis.put(1)
		w.after(3*time.Second, "complete", 1)
	})
}

func TestScaleFinishesJobs(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 8
		w.host.work = lasting(10 * time.Second)
		w.runFor(5*time.Second, 40)
		must(t, w.s.Scale("p", 2))
		w.after(10*time.Second, "complete", 8)
		same(t, w.host.living(), 2, "%d children")
		must(t, w.s.Scale("p", 8))
		w.after(time.Minute, "complete", 40)
		if err := w.s.Scale("nosuch", 1); err == nil {
			t.Error("a pool that does not exist was scaled")
		}
	})
}

func TestARollReplacesOneSlotAtATime(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 5
		w.host.boot = func(*runner.Spec) error {
			time.Sleep(time.Second)
			return nil
		}
		w.redis.put(3000)
		w.host.work = lasting(50 * time.Millisecond)
		w.runFor(2*time.Second, 0)
		for range 3 {
			must(t, w.s.Recycle("p"))
			for range 80 {
				time.Sleep(100 * time.Millisecond)
				if n := w.host.living(); n > 7 { // one that starts, and one that stays
					t.Errorf("%d children while 5 are replaced one by one", n)
				}
			}
		}
		same(t, w.host.starts(), 20, "%d starts for 5 children and 3 rolls")
		w.after(time.Minute, "complete", 3000)
		for _, p := range w.s.Snapshot().Pools {
			if p.Generation != 4 || p.Rolling || p.Counters.Interrupted+p.Counters.Crashed+p.Counters.Failed != 0 {
				t.Errorf("after the rolls: %+v", p)
			}
		}
	})
}

func TestABadGenerationLeavesTheOldOneAtWork(t *testing.T) {
	for _, mode := range []runner.Mode{runner.Reuse, runner.Once} {
		runFaked(t, mode.String(), func(t *testing.T, w *fakeWorld) {
			w.cfg.Pools[0].Child.Mode = mode
			w.cfg.Pools[0].Children = 3
			w.host.work = lasting(50 * time.Millisecond)
			w.host.boot = func(spec *runner.Spec) error {
				if spec.Command[0] == "bad" {
					return errBoot
				}
				return nil
			}
			w.runFor(2*time.Second, 2000)
			w.change(func(p *Pool) { p.Child.Command = []string{"bad"} })
			w.after(2*time.Minute, "complete", 2000)
			if p := w.s.Snapshot().Pools[0]; p.Generation != 1 || p.Rolling {
				t.Errorf("generation %d, rolling %v; want the first", p.Generation, p.Rolling)
			}
		})
	}
}

func TestAPreloadedChildWorksOneJob(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Child.Mode = runner.Preload
		w.runFor(10*time.Second, 50)
		w.want("complete", 50)
		between(t, w.host.starts(), 50, 53, "%d forks for 50 jobs")
	})
}

func TestReload(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.host.work = lasting(5 * time.Second)
		other := w.cfg.Pools[0]
		other.Name, other.Queues = "other", []string{"none"}
		w.cfg.Pools = append(w.cfg.Pools, other)
		w.runFor(time.Second, 2)
		before := w.host.starts()
		w.change(func(*Pool) {}) // one pool goes, the other did not change
		time.Sleep(time.Second)
		if s := w.s.Snapshot(); len(s.Pools) != 1 || s.Pools[0].Name != "p" {
			t.Errorf("pools are %+v", s.Pools)
		}
		same(t, w.host.starts()-before, 0, "%d children were started by a reload that changed nothing")
		none := w.cfg
		none.Pools = nil
		must(t, errOf(w.s.Reload(none))) // its jobs are finished first
		w.after(10*time.Second, "complete", 2)
		same(t, w.host.living(), 0, "%d children of pools that are gone")
	})
}

func TestStopWinsOverReload(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.runFor(time.Second, 0)
		w.s.Stop()
		if _, err := w.s.Reload(w.cfg); err == nil {
			t.Error("a reload was accepted while stopping")
		}
		w.wait()
	})
}

func TestByeReplacesAChild(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 1
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			time.Sleep(10 * time.Second)
			return said(protocol.Ack)
		}
		w.runFor(time.Second, 2)
		w.host.mu.Lock()
		for c := range w.host.alive {
			c.to.Bye("I am tired")
		}
		w.host.mu.Unlock()
		w.after(20*time.Second, "complete", 2)
		same(t, w.host.starts(), 2, "%d children")
	})
}

func TestAJobWhoseChildWasStartingWhenAllWasKilledGoesBack(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Child.Mode = runner.Once
		w.host.slow = 700 * time.Millisecond
		w.runFor(500*time.Millisecond, 1)
		w.stopNow()
		if j := w.redis.job("j0"); j.state != "waiting" || j.Interruptions != 1 || j.Remaining != 5 {
			t.Errorf("the job is %s with %+v, want it back in its queue, uncounted", j.state, j.settlement)
		}
	})
}
