package supervisor

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// heard keeps the events of a supervisor.
type heard struct {
	mu     sync.Mutex
	events []Event
}

// hear makes a world's supervisor tell its events to what it returns.
func hear(w *fakeWorld) *heard {
	h := &heard{}
	w.cfg.OnEvent = func(e Event) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.events = append(h.events, e)
	}
	return h
}

// of returns the events of a kind, in their order.
func (h *heard) of(kind EventKind) (found []Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.events {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// one fails the test unless there was exactly one event of the kind, and returns it.
func (h *heard) one(t *testing.T, kind EventKind) Event {
	t.Helper()
	found := h.of(kind)
	if len(found) != 1 {
		t.Fatalf("%d events %s, want one: %+v", len(found), kind, found)
	}
	return found[0]
}

// refuses fails the test unless err says all of the words.
func refuses(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("it says %v, and not %q", err, word)
		}
	}
}

// twoPools adds a pool named other, of the queue r, to the one that a world has.
func twoPools(w *fakeWorld) {
	other := w.cfg.Pools[0]
	other.Name, other.Queues, other.Child.Pool = "other", []string{"r"}, "other"
	w.cfg.Pools = append(w.cfg.Pools, other)
}

// A pool that is quiet by itself stays so, whatever all pools are told, and takes again when it is told.
func TestOnePoolIsQuiet(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		twoPools(w)
		w.runFor(time.Second, 0)
		quiet := func(pool int) string {
			p := w.s.Snapshot().Pools[pool]
			return fmt.Sprintln(p.Name, p.Quiet, p.QuietAlone)
		}
		must(t, w.s.QuietPool("p"))
		w.redis.put(3)
		w.after(5*time.Second, "waiting", 3)
		same(t, quiet(1)+quiet(0), "p true true\nother false false\n", "told is %s")
		w.s.Quiet()
		w.s.Resume()
		if did, err := w.s.Reload(w.cfg); err != nil || len(did.Changed) > 0 {
			t.Errorf("reloading the same: %+v, %v", did, err)
		}
		w.after(5*time.Second, "waiting", 3)
		w.s.Quiet()
		refuses(t, w.s.ResumePool("p"), "whole supervisor is quiet")
		w.after(time.Second, "waiting", 3)
		w.s.Resume()
		w.after(time.Second, "complete", 3)
		refuses(t, w.s.QuietPool("q"), `no pool named "q"`)
		w.end()
		refuses(t, w.s.QuietPool("p"), "draining")
	})
}

// The child of one slot is replaced when its job has ended, without a roll.
func TestOneSlotIsRecycled(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		told := hear(w)
		w.host.work = lasting(10 * time.Second)
		w.run()
		w.putFor(2*time.Second, 2)
		before := w.s.Snapshot().Pools[0].Slots
		must(t, w.s.RecycleSlot("p", 1))
		time.Sleep(3 * time.Second)
		same(t, len(told.of(ChildExited)), 0, "%d children left in the middle of a job")
		time.Sleep(10 * time.Second)
		after := w.s.Snapshot().Pools[0].Slots
		if after[0].PID != before[0].PID || after[1].PID == before[1].PID || after[1].Generation != 1 {
			t.Errorf("the slots were %+v and are %+v", before, after)
		}
		if e := told.one(t, ChildExited); e.Reason != LeftRoll || e.Slot != 1 {
			t.Errorf("it is said to have left for %q", e.Reason)
		}
		w.want("complete", 2)
		refuses(t, w.s.RecycleSlot("p", 7), "no slot 7")
		refuses(t, w.s.RecycleSlot("p", -1), "no slot -1")
		refuses(t, w.s.RecycleSlot("x", 0), "no pool")
	})
}

// A run that is stopped goes back as it was, and is the only one that does.
func TestOneRunIsStopped(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		var once sync.Once
		w.host.work = func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
			first := false
			if job.JID == "j0" {
				once.Do(func() { first = true })
			}
			if first {
				return &runner.Ending{Kind: runner.Interrupted, SentByUs: <-stop, Began: true}
			}
			return lasting(10*time.Second)(job, stop)
		}
		w.cfg.Pools[0].Timeout = time.Minute
		w.run()
		w.putFor(2*time.Second, 2)
		run := ""
		for _, s := range w.s.Snapshot().Pools[0].Slots {
			r := s.Runs[0]
			if r.JID == "j0" {
				run = r.Run
			}
			if r.TimeoutLeft < 50 || r.TimeoutLeft > 59 || r.Began < 1 {
				t.Errorf("after two seconds of a minute the run says %+v", r)
			}
		}
		must(t, w.s.StopRun("p", run))
		refuses(t, w.s.StopRun("p", "nonsense"), "over")
		time.Sleep(time.Second)
		refuses(t, w.s.StopRun("p", run), "over")
		w.after(20*time.Second, "complete", 2)
		if j := w.redis.job("j0"); j.Interruptions != 1 || j.Remaining != 5 || j.Crashes != 0 {
			t.Errorf("stopping it has cost %+v", j)
		}
		if j := w.redis.job("j1"); j.Interruptions != 0 {
			t.Error("the other was stopped too")
		}
	})
}

// A roll that is given up on request leaves the old code at work, and is remembered.
func TestARollIsAbandoned(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newRollWorld(t, runner.Reuse, 4)
		told := hear(w.fakeWorld)
		w.has["hanging"] = program{hangs: true}
		w.runFor(time.Second, 0)
		refuses(t, w.s.AbandonRoll("p"), "no roll")
		w.reload("hanging")
		time.Sleep(2 * time.Second)
		if r := w.pool().Roll; r == nil || r.Since < 1 || r.Back {
			t.Fatalf("the roll says %+v", r)
		}
		must(t, w.s.AbandonRoll("p"))
		time.Sleep(10 * time.Second)
		w.redis.put(20)
		w.after(5*time.Second, "complete", 20)
		w.uncounted()
		p := w.pool()
		if p.Generation != 1 || p.Rolling || len(p.LastRolls) != 1 {
			t.Fatalf("it is %+v", p)
		}
		if last := p.LastRolls[0]; last.Result != RollAbandoned || last.From != 1 || last.To != 2 || last.Ago < 10 || last.Message == "" {
			t.Errorf("remembered is %+v", last)
		}
		if e := told.one(t, RollBegan); e.From != 1 || e.To != 2 {
			t.Errorf("it began as %+v", e)
		}
		if e := told.one(t, RollEnded); e.Reason != RollAbandoned {
			t.Errorf("it ended as %+v", e)
		}
	})
}

// Of rolls that ended the last ten are remembered, newest first, each once and with its result.
func TestRollsAreRemembered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newRollWorld(t, runner.Reuse, 2)
		told := hear(w.fakeWorld)
		w.has["broken"], w.has["hanging"] = program{lives: time.Millisecond}, program{hangs: true}
		w.runFor(time.Second, 0)
		for range 11 {
			w.recycle()
			w.putFor(10*time.Second, 30)
		}
		w.reload("broken")
		time.Sleep(10 * time.Second)
		w.reload("hanging") // nobody proves it
		time.Sleep(100 * time.Millisecond)
		w.reload("good")
		time.Sleep(10 * time.Second)
		results := map[string]int{}
		last := w.pool().LastRolls
		for i, r := range last {
			results[r.Result]++
			if i > 0 && r.To >= last[i-1].To {
				t.Errorf("%d comes after %d", r.To, last[i-1].To)
			}
		}
		if len(last) != 10 || results[RollGivenUp] != 1 || results[RollOvertaken] != 1 || results[RollDone] < 7 {
			t.Errorf("remembered are %+v", last)
		}
		if n := len(told.of(RollEnded)); n < 13 {
			t.Errorf("%d rolls are said to have ended", n)
		}
	})
}
