package supervisor

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
	"oarlock/supervisor/internal/breaker"
	"oarlock/supervisor/outcome"
)

// Whoever repairs a broken pool changes its code while the breaker is open, and looks at it.
func TestAnOpenBreakerStillSaysWhyWhenTheCodeIsChanged(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		var sick atomic.Bool
		sick.Store(true)
		w.host.work = endings(time.Millisecond, func(int, *protocol.Job) *runner.Ending {
			if sick.Load() {
				return exited(1, protocol.ExitOnError)
			}
			return nil
		})
		w.runFor(5*time.Second, breaker.Fresh)
		must(t, w.s.Recycle(""))
		if why := w.s.Snapshot().Pools[0].Breaker; !strings.Contains(why, "exit 1: sh: nosuch: not found") {
			t.Errorf("the snapshot says %q", why)
		}
		sick.Store(false)
		w.after(10*time.Minute, "complete", breaker.Fresh)
		same(t, w.s.Snapshot().Pools[0].Breaker, "", "the snapshot says %q after all ended well")
	})
}

// slowness tells by how much k bad jobs may delay those behind them: as README promises, and a second for everything else.
func slowness(k int, each time.Duration) time.Duration {
	return 2*time.Duration(k)*max(100*time.Millisecond, min(each, 10*time.Second)) + time.Second
}

// endings makes fake children end jobs as how says by the number of the job; a nil ending
// is an ack.
func endings(took time.Duration, how func(n int, job *protocol.Job) *runner.Ending) func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
	return func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
		var n int
		fmt.Sscanf(job.JID, "j%d", &n)
		time.Sleep(took)
		e := how(n, job)
		if e != nil && e.Kind == runner.TimedOut {
			select {
			case <-stop:
			case <-time.After(time.Minute):
			}
		}
		if e == nil {
			e = said(protocol.Ack)
		}
		e.Began = true
		return e
	}
}

func raised() *runner.Ending {
	return &runner.Ending{Kind: runner.Said, Group: "ValueError", Message: "Traceback\nValueError: no",
		Verdict: &protocol.Verdict{Kind: protocol.Retry, Group: "ValueError", Message: "Traceback\nValueError: no", Raised: true}}
}

func exited(code int, action protocol.ExitAction) *runner.Ending {
	return &runner.Ending{Kind: runner.Exited, ExitCode: code, Action: action, Group: protocol.ExitGroup(code), Message: "sh: nosuch: not found"}
}

// Each of these once stood for minutes.
func TestBadJobsDelayGoodOnesByNoMoreThanIsPromised(t *testing.T) {
	delay := 10 * time.Second
	tests := []struct {
		name     string
		mode     runner.Mode
		jobs     int
		bad      func(n int) bool
		how      func(job *protocol.Job) *runner.Ending
		each     time.Duration // how long a job runs
		children int           // 0: four
		unslowed bool          // the bad ones are none that slow down
	}{
		{name: "a program that is missing for some", mode: runner.Once, jobs: 26, bad: func(n int) bool { return n < 6 },
			how: func(*protocol.Job) *runner.Ending { return exited(127, protocol.ExitMisconfigured) }, each: 5 * time.Millisecond},
		{name: "not yet, they say", jobs: 1800, bad: func(n int) bool { return n%2 == 0 }, unslowed: true,
			how: func(*protocol.Job) *runner.Ending {
				e := said(protocol.Retry)
				e.Verdict.Delay = &delay
				return e
			}, each: 5 * time.Millisecond},
		{name: "nine of ten raise", jobs: 950, bad: func(n int) bool { return n%10 != 9 },
			how: func(*protocol.Job) *runner.Ending { return raised() }, each: 5 * time.Millisecond},
		{name: "one customer is broken", jobs: 60, bad: func(n int) bool { return n < 30 },
			how: func(*protocol.Job) *runner.Ending { return raised() }, each: 20 * time.Millisecond},
		{name: "a hundred fail in a row", jobs: 400, bad: func(n int) bool { return n < 100 }, unslowed: true,
			how: func(*protocol.Job) *runner.Ending { return said(protocol.Fail) }, each: 5 * time.Millisecond},
		{name: "two hundred crash in a row", jobs: 300, bad: func(n int) bool { return n < 200 },
			how: func(*protocol.Job) *runner.Ending { return &runner.Ending{Kind: runner.Died, Group: "signal-SEGV"} }, each: 5 * time.Millisecond},
		{name: "a hundred and fifty hang until their timeout", children: 30, jobs: 170, bad: func(n int) bool { return n < 150 },
			how: func(*protocol.Job) *runner.Ending { return &runner.Ending{Kind: runner.TimedOut, Group: "timeout"} }, each: 5 * time.Millisecond},
	}
	for _, tt := range tests {
		runFaked(t, tt.name, func(t *testing.T, w *fakeWorld) {
			pool := &w.cfg.Pools[0]
			pool.Children, pool.Child.Mode = max(tt.children, 4), tt.mode
			if tt.mode != runner.Once {
				pool.Child.Mode = runner.Reuse
			}
			pool.Retry = outcome.Retry{Delay: time.Hour}
			w.host.work = endings(tt.each, func(n int, job *protocol.Job) *runner.Ending {
				if tt.bad(n) {
					return tt.how(job)
				}
				return nil
			})
			bad := 0
			for n := range tt.jobs {
				if tt.bad(n) {
					bad++
				}
			}
			w.redis.put(tt.jobs)
			w.run()
			ideal := time.Duration(tt.jobs) * tt.each / 2 // with half of the children
			limit := slowness(bad, tt.each) + ideal
			switch {
			case tt.unslowed:
				limit = ideal + time.Second
			case strings.Contains(tt.name, "hang"):
				limit = slowness(bad, time.Minute) + 2*time.Minute
			}
			time.Sleep(limit)
			if done := w.redis.states()["complete"]; done != tt.jobs-bad {
				t.Errorf("%d of %d good jobs are done after %v", done, tt.jobs-bad, limit)
			}
		})
	}
}

// Bad jobs come back to where their priority puts them. They delay good ones behind them by no more than bad ones of the same
// priority do.
func TestBadJobsOfAnyPriorityDelayGoodOnesByNoMoreThanIsPromised(t *testing.T) {
	const good = 60
	missing := func() *runner.Ending { return exited(127, protocol.ExitMisconfigured) }
	fails := func() *runner.Ending { return exited(1, protocol.ExitOnError) }
	crashes := func() *runner.Ending { return &runner.Ending{Kind: runner.Died, Group: "signal-SEGV"} }
	first := func(n, bad int) float64 {
		if n < bad {
			return 1
		}
		return 0
	}
	anyhow := func(n, bad int) float64 { return float64(n * 7919 % 10) }
	spaced := outcome.Retry{Backoff: outcome.Exponential, Delay: 15 * time.Second, MaxDelay: 6 * time.Hour}
	for _, tt := range []struct {
		name  string
		bad   int
		end   func() *runner.Ending
		each  time.Duration
		rank  func(n, bad int) float64
		retry outcome.Retry
	}{
		{"no bad job", 0, fails, 5 * time.Millisecond, first, spaced},
		{"six fail", 6, fails, 50 * time.Millisecond, first, outcome.Retry{}},
		{"forty miss their program", 40, missing, 50 * time.Millisecond, first, spaced},
		{"two hundred miss their program", 200, missing, 5 * time.Millisecond, first, spaced},
		{"a hundred fail", 100, fails, 50 * time.Millisecond, first, spaced},
		{"a hundred fail, and are tried again at once", 100, fails, 5 * time.Millisecond, first, outcome.Retry{}},
		{"a hundred fail after a second", 100, fails, time.Second, first, outcome.Retry{}},
		{"two hundred crash", 200, crashes, 5 * time.Millisecond, first, outcome.Retry{}},
		{"three hundred fail, of all priorities", 300, fails, 5 * time.Millisecond, anyhow, outcome.Retry{}},
		{"five thousand fail", 5000, fails, 5 * time.Millisecond, first, outcome.Retry{}},
	} {
		runFaked(t, tt.name, func(t *testing.T, w *fakeWorld) {
			pool := &w.cfg.Pools[0]
			pool.Children, pool.Child.Mode, pool.Retry, pool.MaxCrashes = 4, runner.Once, tt.retry, 1000
			w.host.work = endings(tt.each, func(n int, _ *protocol.Job) *runner.Ending {
				if n < tt.bad {
					return tt.end()
				}
				return nil
			})
			w.redis.put(tt.bad + good)
			w.redis.rank(func(n int) float64 { return tt.rank(n, tt.bad) })
			w.run()
			limit, began := slowness(tt.bad, tt.each)+good*tt.each/2, time.Now() // with half of the children
			for w.redis.states()["complete"] < good && time.Since(began) < limit {
				time.Sleep(100 * time.Millisecond)
			}
			w.want("complete", good)
			t.Logf("done after %v of %v", time.Since(began), limit)
		})
	}
}

// A quiet pool with some jobs that raise and a good one now and then: how long these wait.
func TestGoodJobsOfAQuietPoolWaitForNobody(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 4
		w.cfg.Pools[0].Retry = outcome.Retry{Backoff: outcome.Exponential, Delay: time.Second}
		var mu sync.Mutex
		put, worst := map[string]time.Time{}, time.Duration(0)
		w.host.work = endings(10*time.Millisecond, func(n int, job *protocol.Job) *runner.Ending {
			mu.Lock()
			defer mu.Unlock()
			if at, good := put[job.JID]; good {
				worst = max(worst, time.Since(at))
				return nil
			}
			return raised()
		})
		w.runFor(100*time.Millisecond, 30)
		for n := range 40 {
			mu.Lock()
			put[fmt.Sprintf("j%d", 30+n)] = time.Now()
			mu.Unlock()
			w.putFor(3*time.Second, 1)
		}
		w.want("complete", 40)
		if limit := slowness(30, 10*time.Millisecond); worst > limit {
			t.Errorf("a good job waited %v, at most %v are promised", worst, limit)
		}
	})
}

func TestAnOpenBreakerBurnsNoQueue(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 8
		w.cfg.Pools[0].Child.Mode = runner.Once
		var sick atomic.Bool
		sick.Store(true)
		var most, now atomic.Int32
		w.host.work = endings(0, func(int, *protocol.Job) *runner.Ending {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(30 * time.Millisecond)
			if sick.Load() {
				return exited(1, protocol.ExitOnError)
			}
			return nil
		})
		w.runFor(5*time.Second, 500)
		paid := 0
		for n := range 500 {
			j := w.redis.job(fmt.Sprintf("j%d", n))
			paid += j.Retries - j.Remaining
		}
		if paid < breaker.Fresh || paid > breaker.Fresh+8 {
			t.Errorf("%d retries were paid, want those of the first %d endings and of what was at work", paid, breaker.Fresh)
		}
		before := w.host.starts()
		most.Store(0)
		time.Sleep(10 * time.Second)
		between(t, w.host.starts()-before, 90, 101, "%d jobs were begun in 10 s")
		if most.Load() != 1 {
			t.Errorf("%d at a time, want 1", most.Load())
		}
		shot := w.s.Snapshot().Pools[0]
		if !strings.Contains(shot.Breaker, "exit 1: sh: nosuch: not found") || shot.Counters.Spared == 0 {
			t.Errorf("the snapshot says %q, %d spared", shot.Breaker, shot.Counters.Spared)
		}
		sick.Store(false)
		w.after(6*time.Minute, "complete", 500)
	})
}

// TestAnOpenBreakerTriesLongJobsOneAtATime has jobs that end badly after a second: the next is begun when the last has ended.
func TestAnOpenBreakerTriesLongJobsOneAtATime(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 8
		var most, now, begun atomic.Int32
		w.host.work = endings(0, func(int, *protocol.Job) *runner.Ending {
			begun.Add(1)
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(time.Second)
			return exited(1, protocol.ExitOnError)
		})
		w.runFor(30*time.Second, 500)
		before := begun.Load()
		most.Store(0)
		time.Sleep(10 * time.Second)
		between(t, int(begun.Load()-before), 8, 11, "%d jobs were begun in 10 s")
		if most.Load() != 1 {
			t.Errorf("%d at a time, want 1", most.Load())
		}
	})
}

// Jobs that wait beside a child, to be begun without the pool, are slowed down as well.
func TestAnOpenBreakerHoldsBackWhatIsPrefetched(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		pool := &w.cfg.Pools[0]
		pool.Children, pool.Child.Mode, pool.Prefetch = 4, runner.Reuse, 50
		pool.Retry = outcome.Retry{Delay: time.Hour}
		var begun atomic.Int32
		w.host.work = endings(0, func(int, *protocol.Job) *runner.Ending {
			begun.Add(1)
			time.Sleep(10 * time.Millisecond)
			return raised()
		})
		w.runFor(10*time.Second, 300)
		if n := begun.Load(); n > breaker.Fresh+2*4+100 {
			t.Errorf("%d jobs were begun in 10 s, want ten a second after the first %d", n, breaker.Fresh)
		}
	})
}

func TestChildrenThatDoNotStartTakeNoJob(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 1
		w.host.boot = func(*runner.Spec) error {
			time.Sleep(10 * time.Millisecond)
			return errBoot
		}
		w.runFor(time.Minute, 3)
		if n := w.host.starts(); n > 15 {
			t.Errorf("%d starts in a minute", n)
		}
		w.want("waiting", 3)
		if s := w.s.Snapshot().Pools[0]; !strings.Contains(s.Barren, errBoot.Error()) || s.Breaker != "" {
			t.Errorf("the snapshot says %q, and of the breaker %q", s.Barren, s.Breaker)
		}
		w.host.boots(nil)
		time.Sleep(100 * time.Second) // the longest wait of a start and of a probe
		w.want("complete", 3)
	})
}

func TestFreshChildrenThatDoNotStartBurnNoJob(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Child.Mode = runner.Once
		w.host.boot = func(*runner.Spec) error { return errBoot }
		w.runFor(10*time.Second, 5)
		w.host.boots(nil)
		w.after(2*time.Minute, "complete", 5)
		for i := range 5 {
			if j := w.redis.job(fmt.Sprintf("j%d", i)); j.Remaining != 5 {
				t.Errorf("%s has %d remaining, want 5", j.JID, j.Remaining)
			}
		}
	})
}

func TestChildrenThatOnlySayByeAreNotStartedOnAndOn(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 1
		w.host.tired = true
		w.runFor(time.Minute, 1)
		if n := w.host.starts(); n > 15 {
			t.Errorf("%d starts in a minute", n)
		}
	})
}
