package supervisor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
	"oarlock/supervisor/internal/starts"
)

// restless runs a pool in which everything happens that replaces children, at random, and
// returns how many children were started where another was not gone.
func restless(t *testing.T, mode runner.Mode, exclusive bool, seed uint64) (crowded int) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeWorld(t)
		w.host.dying = 300 * time.Millisecond
		r := rand.New(rand.NewPCG(seed, 0))
		w.host.work = func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
			// A timer that is due at once makes the race detector of Go 1.26 crash in a bubble.
			if strings.HasSuffix(job.JID, "7") {
				select {
				case <-stop:
					return said(protocol.Release)
				case <-time.After(5 * time.Second):
				}
			}
			if strings.HasSuffix(job.JID, "3") {
				return &runner.Ending{Kind: runner.Died, Signal: 11}
			}
			return said(protocol.Ack)
		}
		p := &w.cfg.Pools[0]
		p.Child.Mode, p.Exclusive, p.Children = mode, exclusive, 4
		if mode == runner.Reuse {
			p.MaxJobs, p.IdleTimeout, p.MaxAge = 5, 3*time.Second, 20*time.Second
		}
		w.runFor(time.Second, 0)
		next := w.cfg
		for i := range scaled(40, 200) {
			next.Pools = []Pool{next.Pools[0]}
			p := &next.Pools[0]
			var err error
			switch r.IntN(6) {
			case 0:
				err = w.s.Recycle("p")
			case 1:
				err = w.s.Scale("p", 1+r.IntN(6))
			case 2:
				p.Child.Command = []string{fmt.Sprint("fake", i)}
				_, err = w.s.Reload(next)
			case 3:
				if mode != runner.Preload && r.IntN(4) == 0 { // another pool of the same name
					p.Child.Mode = runner.Once + runner.Reuse - p.Child.Mode
					_, err = w.s.Reload(next)
				}
			case 4:
				w.host.boots(func(*runner.Spec) error { return errors.New("bad") })
				err = w.s.Recycle("p")
				time.Sleep(time.Second)
				w.host.boots(nil)
			}
			must(t, err)
			w.putFor(time.Duration(r.IntN(3000))*time.Millisecond, r.IntN(12))
		}
		time.Sleep(5 * time.Minute)
		if states := w.redis.states(); states["waiting"]+states["running"] > 0 {
			t.Errorf("%v, seed %d: jobs are %v", mode, seed, states)
		}
		blocked := map[int]int{} // a child that was idle for too long is gone in a moment
		for range 2 {
			time.Sleep(time.Second)
			for _, s := range w.s.Snapshot().Pools[0].Slots {
				if s.State == "blocked" {
					blocked[s.Slot]++
				}
				if blocked[s.Slot] > 1 {
					t.Errorf("%v, seed %d: nobody leaves, and %+v", mode, seed, s)
				}
			}
		}
		crowded = w.host.crowded
	})
	return crowded
}

// Where a slot is for one child at a time, the old one is gone before the new one is started.
func TestOneChildAtAPlace(t *testing.T) {
	for _, mode := range []runner.Mode{runner.Once, runner.Reuse, runner.Preload} {
		for _, seed := range seeds(t, 3) {
			same(t, restless(t, mode, true, seed), 0, "%v, seed %d: %d children were started where another was", mode, seed)
			if n := restless(t, mode, false, seed); n == 0 && mode != runner.Once {
				t.Errorf("seed %d: the test sees no two children at one place, where there are some", seed)
			}
		}
	}
}

// A child that is not gone has its place until it is, whoever started it.
func TestPlacesOfOthers(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Exclusive = true
		w.runFor(time.Second, 0)
		third := starts.Place{Pool: "p", Slot: 2}
		w.s.shared.Places.Take(third)
		before := w.host.starts()
		must(t, w.s.Scale("p", 3))
		time.Sleep(time.Minute)
		same(t, w.host.starts()-before, 0, "%d children were started beside what is left")
		if s := w.s.Snapshot().Pools[0].Slots[2]; s.State != "blocked" {
			t.Errorf("the slot that waits is %+v", s)
		}
		w.s.shared.Places.Leave(third)
		time.Sleep(time.Second)
		same(t, w.host.starts()-before, 1, "%d children were started when all was gone")
	})
}

// A roll whose old children do not stay says what going back means.
func TestGoingBackWithoutOldChildren(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Exclusive, w.cfg.Pools[0].Children = true, 4
		w.runFor(time.Second, 0)
		w.host.boots(func(spec *runner.Spec) error {
			if spec.Command[0] == "bad" {
				time.Sleep(time.Second)
				return errors.New("bad")
			}
			return nil
		})
		w.change(func(p *Pool) { p.Child.Command = []string{"bad"} })
		time.Sleep(time.Second / 2)
		if s := w.s.Snapshot().Pools[0]; s.Roll == nil || !s.Roll.BackStarts || !s.Exclusive {
			t.Errorf("in the middle of the roll the pool is %+v", s)
		}
		time.Sleep(10 * time.Second)
		for _, s := range w.s.Snapshot().Pools[0].Slots {
			if s.State != "ready" || s.Generation != 1 {
				t.Errorf("after the roll was given up there is %+v", s)
			}
		}
	})
}
