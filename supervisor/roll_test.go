package supervisor

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// rollWorld is a supervisor whose program changes on disk, or by a reload that names
// another command.
type rollWorld struct {
	*fakeWorld
	mu   sync.Mutex
	disk string
	has  map[string]program
}

// newRollWorld prepares a pool of so many children that run the good program: it says
// hello and acknowledges each job after 50 ms.
func newRollWorld(t *testing.T, mode runner.Mode, children int) *rollWorld {
	w := &rollWorld{fakeWorld: newFakeWorld(t), disk: "good", has: map[string]program{
		"good": {greets: true, work: lasting(50 * time.Millisecond)},
	}}
	w.cfg.Pools[0].Child.Mode = mode
	w.cfg.Pools[0].Children = children
	w.host.program = func(spec *runner.Spec) program {
		w.mu.Lock()
		defer w.mu.Unlock()
		if p, named := w.has[spec.Command[0]]; named {
			return p
		}
		return w.has[w.disk]
	}
	return w
}

// write puts another program where the command finds it.
func (w *rollWorld) write(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disk = name
}

func (w *rollWorld) recycle() {
	w.t.Helper()
	must(w.t, w.s.Recycle("p"))
}

// reload names another command.
func (w *rollWorld) reload(command string) {
	w.t.Helper()
	w.change(func(p *Pool) { p.Child.Command = []string{command} })
}

// pool describes the only pool.
func (w *rollWorld) pool() PoolSnapshot { return w.s.Snapshot().Pools[0] }

// manned counts slots with a child that works or could.
func (w *rollWorld) manned() int {
	n := 0
	for _, s := range w.pool().Slots {
		if s.State == "ready" || s.State == "busy" {
			n++
		}
	}
	return n
}

// uncounted fails the test if any job was charged for anything.
func (w *rollWorld) uncounted() {
	w.t.Helper()
	w.redis.mu.Lock()
	defer w.redis.mu.Unlock()
	for jid, j := range w.redis.jobs {
		if j.Remaining != 5 || j.Crashes+j.Interruptions+j.Spared > 0 || j.state == "failed" {
			w.t.Errorf("%s is %s, remaining %d, crashes %d: want nothing counted", jid, j.state, j.Remaining, j.Crashes)
		}
	}
}

// everySecond calls f after each of n seconds.
func everySecond(n int, f func(i int)) {
	for i := range n {
		time.Sleep(time.Second)
		f(i)
	}
}

// manAMinute puts jobs each second for a minute: all slots but those on trial are manned all the time, and all jobs are done uncounted.
func (w *rollWorld) manAMinute(jobs int) {
	everySecond(60, func(i int) {
		w.redis.put(jobs)
		if n := w.manned(); n < 4 {
			w.t.Errorf("second %d: %d of 4 slots are manned", i, n)
		}
	})
	w.after(5*time.Second, "complete", 60*jobs)
	w.uncounted()
}

// New code that hangs at its start has one slot, and not for long: whether the old code
// said hello or not, it stays at work, and loses no job.
func TestARollToCodeThatHangs(t *testing.T) {
	for _, greets := range []bool{true, false} {
		runBubble(t, fmt.Sprintf("hello=%v", greets), func(t *testing.T) {
			w := newRollWorld(t, runner.Reuse, 4)
			w.has["good"] = program{greets: greets, work: lasting(50 * time.Millisecond)}
			w.has["hanging"] = program{hangs: true}
			w.runFor(time.Second, 0)
			w.write("hanging")
			w.recycle()
			everySecond(45, func(int) {
				w.redis.put(40)
				if r := w.pool().Roll; r != nil && r.JID != "" {
					t.Errorf("it is said to wait for job %s, and waits for its first child", r.JID)
				}
				if n := w.manned(); n < 4 {
					t.Errorf("%d of 4 slots are manned", n)
				}
			})
			w.after(10*time.Second, "complete", 45*40)
			w.uncounted()
			if p := w.pool(); p.Generation != 1 || p.Rolling {
				t.Errorf("generation %d, rolling %v; want the first", p.Generation, p.Rolling)
			}
			if g := w.pool().GivenUp; g == nil || g.Generation != 2 || g.Message == "" || g.Ago < 10 {
				t.Errorf("of the generation that was given up it tells %+v", g)
			}
			w.write("good")
			w.recycle()
			w.putFor(20*time.Second, 10)
			if p := w.pool(); p.Generation != 3 || p.Rolling || p.GivenUp != nil || w.manned() != 4 {
				t.Errorf("after the repair: generation %d, rolling %v, %+v, %d slots manned", p.Generation, p.Rolling, p.GivenUp, w.manned())
			}
		})
	}
}

// While one roll hangs, the next overtakes it.
func TestARollOvertakesOneThatHangs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newRollWorld(t, runner.Reuse, 4)
		w.has["hanging"] = program{hangs: true}
		w.runFor(time.Second, 0)
		w.write("hanging")
		w.recycle()
		time.Sleep(5 * time.Second)
		w.write("good")
		w.recycle()
		w.putFor(20*time.Second, 10)
		if p := w.pool(); p.Generation != 3 || p.Rolling || w.manned() != 4 {
			t.Errorf("generation %d, rolling %v, %d of 4 slots manned", p.Generation, p.Rolling, w.manned())
		}
	})
}

// A pool whose children all hang is mended by the first roll to code that does not.
func TestARollBeginsWithSlotsThatHang(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newRollWorld(t, runner.Reuse, 4)
		w.has["hanging"] = program{hangs: true}
		w.write("hanging")
		w.runFor(3*time.Second, 4)
		w.write("good")
		w.recycle()
		w.after(3*time.Second, "complete", 4)
		w.uncounted()
		if p := w.pool(); p.Rolling || w.manned() != 4 {
			t.Errorf("3 s later: rolling %v, %d of 4 slots manned", p.Rolling, w.manned())
		}
	})
}

// A start that fails in the middle of a roll leaves every slot with a child.
func TestARollWhoseThirdStartFails(t *testing.T) {
	for _, how := range []string{"recycle", "reload"} {
		runBubble(t, how, func(t *testing.T) {
			w := newRollWorld(t, runner.Reuse, 4)
			w.has["dying"] = program{lives: 50 * time.Millisecond}
			w.has["good"] = program{greets: true, work: lasting(50 * time.Millisecond)}
			w.runFor(time.Second, 0)
			started := 0
			w.host.mu.Lock()
			old := w.host.program
			w.host.program = func(spec *runner.Spec) program {
				if how == "reload" && spec.Command[0] != "new" {
					return old(spec)
				}
				if started++; started >= 3 {
					return w.has["dying"]
				}
				return old(spec)
			}
			w.host.mu.Unlock()
			if how == "reload" {
				w.reload("new")
			} else {
				w.recycle()
			}
			w.manAMinute(20)
			if p := w.pool(); p.Generation != 1 || p.Rolling {
				t.Errorf("generation %d, rolling %v; want the first", p.Generation, p.Rolling)
			}
		})
	}
}

// Children that exit soon after their start, and read no job, do no harm.
func TestARollToCodeThatExitsSoonAfterItsStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newRollWorld(t, runner.Reuse, 4)
		w.has["good"] = program{work: lasting(50 * time.Millisecond)}
		w.has["leaving"] = program{lives: 500 * time.Millisecond}
		w.runFor(time.Second, 0)
		w.write("leaving")
		w.recycle()
		w.manAMinute(40)
		if n := w.host.starts(); n > 6 {
			t.Errorf("%d starts for 4 children and one that failed", n)
		}
	})
}

// Code that fails each job is given up after a few, which it costs nothing, in every mode.
func TestARollToCodeThatFailsEachJob(t *testing.T) {
	raises := func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
		time.Sleep(10 * time.Millisecond)
		return &runner.Ending{Kind: runner.Said, Group: "Error", Message: "it raises",
			Verdict: &protocol.Verdict{Kind: protocol.Fail, Raised: true, Group: "Error"}}
	}
	syntax := func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
		return &runner.Ending{Kind: runner.Exited, Action: protocol.ExitOnError, ExitCode: 1, Group: "exit-1", Message: "SyntaxError"}
	}
	for _, mode := range []runner.Mode{runner.Once, runner.Reuse, runner.Preload} {
		for _, children := range []int{1, 4} {
			runBubble(t, fmt.Sprintf("%v/%d", mode, children), func(t *testing.T) {
				w := newRollWorld(t, mode, children)
				w.has["bad"] = program{greets: true, work: raises}
				if mode == runner.Once {
					w.has["bad"] = program{work: syntax}
				}
				w.runFor(10*time.Second, 50)
				w.reload("bad")
				everySecond(120, func(int) { w.redis.put(2) })
				w.after(10*time.Second, "complete", 50+240)
				w.uncounted()
				if p := w.pool(); p.Generation != 1 || p.Rolling || p.Breaker != "" {
					t.Errorf("generation %d, rolling %v, breaker %q; want the first", p.Generation, p.Rolling, p.Breaker)
				}
			})
		}
	}
}

// Where no job comes, a minute is proof enough to go on; the old code is kept in mind
// until the new one has acknowledged a job.
func TestARollWithoutJobsIsTakenBackLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newRollWorld(t, runner.Reuse, 4)
		w.has["hanging"] = program{greets: true, work: func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			return &runner.Ending{Kind: runner.Said, Group: "Error", Verdict: &protocol.Verdict{Kind: protocol.Fail, Raised: true}}
		}}
		w.runFor(10*time.Second, 20)
		w.reload("hanging")
		time.Sleep(50 * time.Second)
		if p := w.pool(); p.Generation != 1 || !p.Rolling {
			t.Errorf("after 50 s without a job: generation %d, rolling %v", p.Generation, p.Rolling)
		}
		time.Sleep(30 * time.Second)
		if p := w.pool(); p.Generation != 2 || p.Rolling || len(p.Slots) != 4 {
			t.Errorf("after 80 s without a job: generation %d, rolling %v, %d children", p.Generation, p.Rolling, len(p.Slots))
		}
		w.redis.put(30)
		w.after(30*time.Second, "complete", 50)
		w.uncounted()
		if p := w.pool(); p.Generation != 1 || p.Rolling || len(p.Slots) != 4 {
			t.Errorf("after bad jobs: generation %d, rolling %v, %d children", p.Generation, p.Rolling, len(p.Slots))
		}
	})
}

// Behind busy children a roll waits for the jobs at work, and begins no more on old code
// once the new one is proven.
func TestARollDoesNotQueueBehindBusyChildren(t *testing.T) {
	for _, c := range []struct {
		children     int
		length, most time.Duration // of a job; of the roll
	}{
		// A job that was begun just before, one on trial, and one for each quarter of the slots.
		{8, 5 * time.Second, 31 * time.Second},
		{50, 10 * time.Minute, 71 * time.Minute},
	} {
		runBubble(t, fmt.Sprint(c.children), func(t *testing.T) {
			w := newRollWorld(t, runner.Reuse, c.children)
			w.has["good"] = program{greets: true, work: lasting(c.length)}
			var mu sync.Mutex
			var provenAt time.Time
			begun := 0 // on old code after the proof
			w.cfg.OnEvent = func(e Event) {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case e.Kind == AttemptEnded && e.PID > 1000+c.children && provenAt.IsZero():
					provenAt = time.Now()
				case e.Kind == AttemptStarted && e.PID <= 1000+c.children && !provenAt.IsZero():
					begun++
				}
			}
			w.runFor(time.Second+c.length, 20*c.children)
			w.recycle()
			began := time.Now()
			for w.pool().Rolling && time.Since(began) < 2*c.most {
				time.Sleep(c.length / 50)
				if n, most := w.host.living(), c.children+2*max(1, c.children/4); n > most {
					t.Errorf("%d children, want %d at most", n, most)
				}
			}
			took := time.Since(began)
			mu.Lock()
			if took > c.most || provenAt.IsZero() {
				t.Errorf("the roll took %v, want %v at most", took, c.most)
			}
			if most := c.children / 4; begun > most {
				t.Errorf("%d jobs were begun on old code after the new one was proven, want %d at most", begun, most)
			}
			t.Logf("%d children with jobs of %v: %v, %d jobs begun on old code after the proof", c.children, c.length, took, begun)
			mu.Unlock()
			w.stopNow()
		})
	}
}

// A slot whose job never ends holds up no other.
func TestARollOvertakesASlotWhoseJobDoesNotEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newRollWorld(t, runner.Reuse, 4)
		w.has["good"] = program{greets: true, work: func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
			if job.JID == "j0" {
				return untilStopped(job, stop)
			}
			return lasting(5*time.Second)(job, stop)
		}}
		w.runFor(time.Second, 60)
		w.recycle()
		time.Sleep(time.Minute)
		p := w.pool()
		if p.Roll == nil || p.Roll.Changed != 3 || p.Roll.Of != 4 || p.Roll.OnTrial || p.Roll.JID != "j0" || p.Roll.Waits < 60 {
			t.Errorf("a minute later the roll is %+v, want all but the slot of j0 changed", p.Roll)
		}
		w.stopNow()
	})
}

// Where all jobs ended badly, children of the old code get no more once the new has proven itself, however long the others take to come.
func TestCodeThatFailsEachJobGetsNoMoreBesideItsRepair(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newRollWorld(t, runner.Reuse, 4)
		w.has["bad"] = program{greets: true, work: func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			return &runner.Ending{Kind: runner.Said, Group: "Error", Message: "it raises",
				Verdict: &protocol.Verdict{Kind: protocol.Fail, Raised: true, Group: "Error"}}
		}}
		w.write("bad")
		w.runFor(20*time.Second, 1000)
		if w.pool().Breaker == "" {
			t.Fatal("the breaker is not open")
		}
		w.write("good")
		var born atomic.Int32
		w.host.boots(func(*runner.Spec) error {
			if born.Add(1) > 1 {
				time.Sleep(20 * time.Second) // the host is busy
			}
			return nil
		})
		w.recycle()
		time.Sleep(2 * time.Second)
		failed := w.redis.states()["failed"]
		time.Sleep(10 * time.Second)
		if n := w.redis.states()["failed"] - failed; n > 0 || born.Load() < 2 {
			t.Errorf("%d jobs failed after the new code had proven itself, %d children of it were started", n, born.Load())
		}
		w.after(3*time.Minute, "failed", failed)
	})
}

// What was mended is probed at once, however long the waits had grown.
func TestARepairIsProbedAtOnce(t *testing.T) {
	for name, repair := range map[string]func(*rollWorld){
		"recycle": func(w *rollWorld) { w.recycle() },
		"reload":  func(w *rollWorld) { w.reload("other") },
		"scale": func(w *rollWorld) {
			if err := w.s.Scale("p", 4); err != nil {
				w.t.Error(err)
			}
		},
	} {
		runBubble(t, name, func(t *testing.T) {
			w := newRollWorld(t, runner.Reuse, 4)
			w.has["dying"] = program{lives: time.Millisecond}
			w.write("dying")
			w.run()
			w.putFor(10*time.Minute, 20)
			w.write("good")
			repair(w)
			w.after(3*time.Second, "complete", 20)
			same(t, w.manned(), 4, "3 s after the repair %d of 4 slots are manned")
		})
	}
}
