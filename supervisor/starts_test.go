package supervisor

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
	"oarlock/supervisor/internal/starts"
)

// carry sets for how many children there are processes from now on, 0 for any number.
func (h *fakeHost) carry(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.carries = n
}

// met returns how many starts were under way at most, and how many were refused.
func (h *fakeHost) met() (most, refused int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.most, h.refused
}

// twoPools makes the pools p, of mode once, and r, of mode reuse, of so many children each,
// for one queue, and returns where the log goes.
func (w *fakeWorld) twoPools(children int) *bytes.Buffer {
	first := w.cfg.Pools[0]
	first.Children, first.Child.Mode = children, runner.Once
	second := w.cfg.Pools[0]
	second.Name, second.Children, second.Child.Pool = "r", children, "r"
	w.cfg.Pools = []Pool{first, second}
	log := &bytes.Buffer{}
	w.cfg.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return log
}

func TestFewChildrenAreStartedAtATime(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.twoPools(100)
		w.host.slow = 10 * time.Millisecond
		w.runFor(10*time.Second, 300)
		w.want("complete", 300)
		if most, _ := w.host.met(); most != starts.AtATime() {
			t.Errorf("up to %d children were started at a time, want %d", most, starts.AtATime())
		}
		same(t, w.host.living(), 100, "%d children live")
	})
}

// TestAShortageOfTheHostIsNobodysFault has two pools that want 60 children together on a host
// that carries 20, all day.
func TestAShortageOfTheHostIsNobodysFault(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		log := w.twoPools(30)
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			time.Sleep(time.Second)
			return said(protocol.Ack)
		}
		w.host.carry(20)
		w.runFor(40*time.Second, 1000)
		shot := w.s.Snapshot()
		if !strings.Contains(shot.Short, "processes used up") {
			t.Errorf("the shortage is %q", shot.Short)
		}
		for _, p := range shot.Pools {
			if p.Breaker != "" || p.Barren != "" || p.Counters.Retried+p.Counters.Failed+p.Counters.Crashed > 0 {
				t.Errorf("pool %s is blamed: breaker %q, barren %q, %+v", p.Name, p.Breaker, p.Barren, p.Counters)
			}
			for _, s := range p.Slots {
				if s.State == "backoff" {
					t.Errorf("slot %d of %s is in backoff", s.Slot, p.Name)
				}
			}
		}
		// Twenty children do twenty jobs a second; what is refused costs few of them.
		if n := w.redis.states()["complete"]; n < 500 {
			t.Errorf("%d jobs were done by 20 children in 40 s", n)
		}
		if _, refused := w.host.met(); refused > 60 {
			t.Errorf("%d starts were tried in vain in 40 s", refused)
		}
		w.after(time.Minute, "complete", 1000)
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "used up") {
			t.Errorf("%d lines tell of it:\n%s", n, log)
		}

		w.host.carry(0)
		time.Sleep(20*time.Second + 10*time.Second)
		same(t, w.host.living(), 30, "%d residents live when there is room again")
		same(t, w.s.Snapshot().Short, "", "the host is still short: %q")
	})
}

// TestTheEndOfAShortageIsTriedByOneStart has nothing that could be started for a while.
func TestTheEndOfAShortageIsTriedByOneStart(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.twoPools(50)
		w.host.carry(1)
		w.runFor(10*time.Second, 0)
		_, before := w.host.met()
		time.Sleep(time.Minute)
		if _, after := w.host.met(); after-before > 16 || after == before {
			t.Errorf("%d starts were tried in a minute, by 100 children", after-before)
		}
		w.host.carry(0)
		time.Sleep(20*time.Second + 3*time.Second)
		same(t, w.host.living(), 50, "%d children live")
	})
}

// TestARollWaitsForRoom rolls where there is no process for a replacement: the new code is not given
// up for that.
func TestARollWaitsForRoom(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 4
		w.runFor(time.Second, 0)
		w.host.carry(4)
		w.s.Recycle("p")
		time.Sleep(30 * time.Second)
		if p := w.s.Snapshot().Pools[0]; p.Roll == nil || p.Roll.Changed != 0 {
			t.Errorf("the roll is %+v", p.Roll)
		}
		w.host.carry(0)
		w.putFor(15*time.Second, 1)
		w.putFor(15*time.Second, 8)
		if p := w.s.Snapshot().Pools[0]; p.Generation != 2 || p.Rolling {
			t.Errorf("generation %d, rolling %v", p.Generation, p.Rolling)
		}
	})
}

// TestAPoolOfAnySizeObeys scales to and fro between nothing and very many, and asks for the
// end in the middle of it.
func TestAPoolOfAnySizeObeys(t *testing.T) {
	for _, mode := range []runner.Mode{runner.Once, runner.Reuse, runner.Preload} {
		for _, sizes := range [][]int{{scaled(2000, 20000)}, {0, 200, 1, scaled(2000, 20000), 0, 3}} {
			runFaked(t, fmt.Sprint(mode, sizes), func(t *testing.T, w *fakeWorld) {
				w.cfg.Pools[0].Child.Mode = mode
				w.host.slow = time.Millisecond
				w.redis.put(50)
				w.run()
				synctest.Wait()
				for _, n := range sizes {
					if err := w.s.Scale("p", n); err != nil {
						t.Error(err)
					}
					time.Sleep(10 * time.Millisecond)
					if shots := w.s.Snapshot().Pools; len(shots) != 1 || shots[0].Children != n {
						t.Errorf("pools are %v", len(shots))
					}
				}
				began := time.Now()
				w.end()
				if took := time.Since(began); took > time.Second {
					t.Errorf("left after %v", took)
				}
			})
		}
	}
}
