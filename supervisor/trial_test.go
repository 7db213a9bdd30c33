package supervisor

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// raises fails each job for good.
func raises(*protocol.Job, <-chan runner.Cause) *runner.Ending {
	time.Sleep(10 * time.Millisecond)
	return &runner.Ending{Kind: runner.Said, Group: "Error", Message: "it raises",
		Verdict: &protocol.Verdict{Kind: protocol.Fail, Raised: true, Group: "Error"}}
}

// rolls waits until so many slots have changed to new code, which is proven.
func (w *rollWorld) rolls(changed int) {
	w.t.Helper()
	for range 600 {
		time.Sleep(100 * time.Millisecond)
		if r := w.pool().Roll; r != nil && !r.OnTrial && r.Changed >= changed {
			return
		}
	}
	w.t.Fatalf("the roll is %+v", w.pool().Roll)
}

// Where no job came, new code has all slots, and a command that did not change has no way
// back: its bad endings open the breaker like those of any code.
func TestTheBreakerHearsOfCodeThatWasGivenUpAndGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newRollWorld(t, runner.Reuse, 4)
		w.has["bad"] = program{greets: true, work: raises}
		w.runFor(10*time.Second, 20)
		w.write("bad")
		w.recycle()
		time.Sleep(10 * time.Minute)
		w.putFor(30*time.Second, 2000)
		p := w.pool()
		if p.Breaker == "" || p.Counters.Failed > 600 {
			t.Errorf("breaker %q, %d jobs failed for good; want it to slow the pool down", p.Breaker, p.Counters.Failed)
		}
		w.stopNow()
	})
}

// Slots that come while new code is on trial begin on old code, also where there were none.
func TestAPoolThatGrowsDuringATrialGrowsByOldCode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newRollWorld(t, runner.Reuse, 4)
		p := &w.cfg.Pools[0]
		p.Children, p.MinChildren, p.MaxChildren = 0, 0, 4
		w.has["hanging"] = program{hangs: true}
		w.runFor(10*time.Minute, 20)
		if n := len(w.pool().Slots); n != 0 {
			t.Fatalf("%d children without a job, want none", n)
		}
		w.reload("hanging")
		time.Sleep(10 * time.Minute)
		w.redis.put(200)
		w.after(20*time.Second, "complete", 220)
		w.uncounted()
		w.stopNow()
	})
}

// Fresh children: a job that does not end holds up no trial, for another slot can have it.
func TestATrialOfFreshChildrenDoesNotWaitForAJob(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newRollWorld(t, runner.Once, 4)
		w.has["good"] = program{work: func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
			if job.JID == "j0" {
				return untilStopped(job, stop)
			}
			return lasting(50*time.Millisecond)(job, stop)
		}}
		w.runFor(10*time.Second, 20)
		w.reload("other")
		w.putFor(10*time.Second, 100)
		if p := w.pool(); p.Generation != 2 || p.Rolling {
			t.Errorf("generation %d, rolling %v; want the second at work", p.Generation, p.Rolling)
		}
		w.stopNow()
	})
}

// A roll that was overtaken goes on where the one that overtook it is given up: no slot is
// left on the code before.
func TestAnOvertakenRollGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newRollWorld(t, runner.Reuse, 8)
		w.has["good"] = program{greets: true, work: lasting(5 * time.Second)}
		w.host.boots(func(*runner.Spec) error {
			time.Sleep(3 * time.Second)
			return nil
		})
		w.has["better"] = w.has["good"]
		w.has["dying"] = program{greets: true, lives: time.Millisecond}
		w.runFor(12*time.Second, 400)
		w.reload("better")
		w.rolls(1)
		w.reload("dying")
		time.Sleep(3 * time.Minute)
		p := w.pool()
		for _, s := range p.Slots {
			if s.Generation != 2 {
				t.Errorf("slot %d has generation %d, want the second, which is proven", s.Slot, s.Generation)
			}
		}
		if p.Generation != 2 || p.Rolling || len(p.Slots) != 8 {
			t.Errorf("generation %d, rolling %v, %d children", p.Generation, p.Rolling, len(p.Slots))
		}
		w.stopNow()
	})
}

// Proven code whose further children do not come up costs the old ones no work: they wait
// for their replacements, but not for long.
func TestOldChildrenWaitForTheirHeirsButNotForLong(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newRollWorld(t, runner.Reuse, 8)
		var mu sync.Mutex
		busy := 0
		w.has["good"] = program{greets: true, work: func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
			mu.Lock()
			busy++
			mu.Unlock()
			e := lasting(5*time.Second)(job, stop)
			mu.Lock()
			busy--
			mu.Unlock()
			return e
		}}
		w.has["hanging"] = program{hangs: true}
		w.host.boots(func(*runner.Spec) error {
			time.Sleep(50 * time.Millisecond)
			return nil
		})
		w.runFor(12*time.Second, 400)
		w.recycle()
		w.rolls(1)
		w.write("hanging")
		idle := 0
		everySecond(25, func(int) {
			mu.Lock()
			defer mu.Unlock()
			idle += 8 - busy
		})
		if most := 25 * 8 / 4; idle > most {
			t.Errorf("slots were idle for %d of 200 s, want %d at most", idle, most)
		}
		w.stopNow()
	})
}

// Jobs that end for nobody's fault prove nothing, but they do not hold up a roll for ever either.
func TestATrialOfJobsThatSayNothing(t *testing.T) {
	cases := map[string]program{
		"canceled": {greets: true, work: func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
			lasting(5*time.Second)(job, stop)
			return &runner.Ending{Kind: runner.Canceled}
		}},
		"interrupted": {greets: true, work: func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
			lasting(5*time.Second)(job, stop)
			return &runner.Ending{Kind: runner.Interrupted, ExitCode: -1}
		}},
		"retried": {greets: true, work: func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
			lasting(5*time.Second)(job, stop)
			return said(protocol.Retry)
		}},
	}
	for _, mode := range []runner.Mode{runner.Once, runner.Reuse, runner.Preload} {
		for how, program := range cases {
			runBubble(t, fmt.Sprintf("%v/%s", mode, how), func(t *testing.T) {
				w := newRollWorld(t, mode, 4)
				w.has["good"], w.has["other"] = program, program
				w.redis.put(4) // too few to compare
				w.redis.mu.Lock()
				for _, j := range w.redis.jobs {
					j.Retries, j.Remaining = 1000, 1000
				}
				w.redis.mu.Unlock()
				w.runFor(7*time.Second, 0)
				w.reload("other")
				everySecond(180, func(int) {
					if how == "canceled" {
						w.redis.put(1)
					}
				})
				p := w.pool()
				for _, s := range p.Slots {
					if s.Generation != 2 {
						t.Errorf("slot %d is of generation %d", s.Slot, s.Generation)
					}
				}
				if p.Generation != 2 || p.Rolling {
					t.Errorf("generation %d, rolling %v: %+v", p.Generation, p.Rolling, p.Roll)
				}
				w.stopNow()
			})
		}
	}
}

// Old children that stay for a roll keep to max_memory like others.
func TestOldChildrenThatStayKeepToMaxMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newRollWorld(t, runner.Reuse, 1)
		w.cfg.Pools[0].MaxMemory = 1000
		w.has["other"] = w.has["good"]
		w.host.memory = func(age time.Duration) int64 { return 50 * int64(age/time.Second) }
		w.runFor(10*time.Second, 0)
		w.reload("other")
		time.Sleep(5 * time.Second)
		if n := w.host.living(); n != 2 {
			t.Fatalf("%d children, want the old one to stay beside the new one", n)
		}
		time.Sleep(10 * time.Second)
		for _, s := range w.pool().Slots {
			if s.Generation == 1 {
				t.Errorf("the old child is %s with %d bytes", s.State, s.Memory)
			}
		}
	})
}

// A roll comes to its end where all children have work all the time, in every mode.
func TestARollOfABusyPoolEnds(t *testing.T) {
	for _, mode := range []runner.Mode{runner.Once, runner.Reuse, runner.Preload} {
		for _, children := range []int{1, 2, 4, 8} {
			runBubble(t, fmt.Sprintf("%v/%d", mode, children), func(t *testing.T) {
				w := newRollWorld(t, mode, children)
				w.has["good"] = program{greets: true, work: lasting(5 * time.Second)}
				w.runFor(7*time.Second, 40*children)
				w.recycle()
				time.Sleep(time.Minute)
				if p := w.pool(); p.Generation != 2 || p.Rolling {
					t.Errorf("a minute later: generation %d, rolling %v: %+v", p.Generation, p.Rolling, p.Roll)
				}
				w.stopNow()
			})
		}
	}
}
