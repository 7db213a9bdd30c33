package supervisor

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// Whatever befalls a pool in the middle of its rolls, in the end it is whole: its children run the
// last good code, and no job is lost.
func TestRollsInAStorm(t *testing.T) {
	for _, seed := range seeds(t, 100) {
		for _, mode := range []runner.Mode{runner.Once, runner.Reuse, runner.Preload} {
			for _, exclusive := range []bool{false, true} {
				runBubble(t, fmt.Sprintf("%v/exclusive=%v/%d", mode, exclusive, seed), func(t *testing.T) {
					w := newStorm(t, mode, exclusive, seed)
					w.run()
					for range 50 {
						w.shake()
					}
					w.calm()
				})
			}
		}
	}
}

// storm is a pool to which somebody does one thing after the other.
type storm struct {
	*rollWorld
	*rand.Rand
	children int
	done     []string // to it
}

// newStorm draws a pool, and programs of which some are broken.
func newStorm(t *testing.T, mode runner.Mode, exclusive bool, seed uint64) *storm {
	r := rand.New(rand.NewPCG(seed, 1))
	children := []int{1, 2, 4, 9}[r.IntN(4)]
	w := &storm{rollWorld: newRollWorld(t, mode, children), Rand: r, children: children}
	p := &w.cfg.Pools[0]
	p.Exclusive, p.Jitter = exclusive, 0.1
	if mode == runner.Reuse {
		p.MaxJobs = max(0, r.IntN(100)-50)
		p.Prefetch = max(0, r.IntN(5)-2)
	}
	if mode != runner.Once {
		p.MaxAge = time.Duration(max(0, r.IntN(300)-200)) * time.Second
		p.MaxMemory = int64(1000 * (r.IntN(3) / 2))
		w.host.memory = func(age time.Duration) int64 { return 50 * int64(age/time.Second) }
	}
	boot := w.upTo(3 * time.Second)
	w.host.boots(func(*runner.Spec) error {
		time.Sleep(boot)
		return nil
	})
	w.host.dying = w.upTo(300 * time.Millisecond)
	jobs := 0 // of the code that goes bad
	ack := func() *runner.Ending { return said(protocol.Ack) }
	raise := func() *runner.Ending {
		return &runner.Ending{Kind: runner.Said, Group: "Error", Verdict: &protocol.Verdict{Kind: protocol.Retry, Raised: true, Group: "Error"}}
	}
	goBad := func() *runner.Ending {
		w.mu.Lock()
		defer w.mu.Unlock()
		if jobs++; jobs > 20 {
			return raise()
		}
		return ack()
	}
	for name, ending := range map[string]func() *runner.Ending{"good": ack, "better": ack, "raising": raise, "going bad": goBad} {
		length := time.Duration(len(name)) * 200 * time.Millisecond
		w.has[name] = program{greets: true, work: func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
			lasting(length)(job, stop)
			return ending()
		}}
	}
	if mode != runner.Once {
		w.has["hanging"] = program{hangs: true}
		w.has["dying"] = program{lives: max(w.upTo(2*time.Second), 1)}
	}
	return w
}

// upTo draws a time.
func (w *storm) upTo(most time.Duration) time.Duration { return time.Duration(w.Int64N(int64(most))) }

// shake does something to the pool, after a while.
func (w *storm) shake() {
	time.Sleep(w.upTo(8 * time.Second))
	what := ""
	switch w.IntN(9) {
	case 0, 1:
		w.redis.put(w.IntN(20))
	case 2, 3:
		what = []string{"good", "better", "raising", "going bad", "hanging", "dying"}[w.IntN(6)]
		if _, is := w.has[what]; is {
			w.reload(what)
		}
	case 4:
		what = "recycle"
		w.recycle()
	case 5:
		what = "quiet"
		w.s.Quiet()
	case 6:
		what = "resume"
		w.s.Resume()
	case 7:
		what = "scale"
		w.scale(w.IntN(w.children + 3))
	case 8:
		what = "redis"
		until, lost := time.Now().Add(w.upTo(20*time.Second)), w.IntN(4)
		away := w.IntN(2) == 0
		w.redis.faults(func(call string) fault {
			if away && time.Now().Before(until) {
				return fault{away: errAway}
			}
			if lost--; !away && lost >= 0 && call != "ping" {
				return fault{lost: errDoubt}
			}
			return fault{}
		})
	}
	w.done = append(w.done, what)
}

func (w *storm) scale(children int) {
	if err := w.s.Scale("p", children); err != nil {
		w.t.Error(err)
	}
}

// calm ends all trouble and looks whether the pool recovers.
func (w *storm) calm() {
	w.redis.faults(nil)
	w.s.Resume()
	w.reload("good")
	w.scale(w.children)
	var wrong []string
	for range 60 {
		time.Sleep(10 * time.Second)
		w.redis.put(1)
	}
	for range 60 {
		time.Sleep(time.Minute)
		if wrong = w.wrong(); wrong == nil {
			return
		}
	}
	w.t.Errorf("after %q:\n%s\n%+v", w.done, strings.Join(wrong, "\n"), w.pool())
}

// wrong says what a pool that has recovered would not show.
func (w *storm) wrong() (wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	p := w.pool()
	if p.Rolling || p.Breaker != "" || p.Barren != "" {
		bad("rolling %+v, breaker %q, barren %q", p.Roll, p.Breaker, p.Barren)
	}
	slots := map[int]bool{}
	for _, s := range p.Slots {
		slots[s.Slot] = true
		if s.Generation != p.Generation {
			bad("slot %d is of generation %d, not %d", s.Slot, s.Generation, p.Generation)
		}
	}
	if len(slots) != w.children {
		bad("%d slots, not %d", len(slots), w.children)
	}
	if states := w.redis.states(); states["complete"]+states["failed"] != len(w.redis.jobs) {
		bad("jobs are %v", states)
	}
	if w.host.crowded > 0 && p.Exclusive {
		bad("%d starts at places where a child was", w.host.crowded)
	}
	return wrong
}
