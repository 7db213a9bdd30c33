package runner

import (
	"sync"
	"sync/atomic"
	"time"
)

// clock looks at every child when the first of them has something due. It is one
// timer, which is not touched by a run unless that has something due earlier than
// all others.
type clock struct {
	look  func(now time.Time) (next time.Time)
	epoch time.Time
	next  atomic.Int64 // what the timer is set to, as time since epoch; 0: it is not

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	looking sync.WaitGroup
}

func newClock(look func(time.Time) time.Time) *clock {
	return &clock{look: look, epoch: time.Now()}
}

// arm has the clock look at the latest at at; the zero time asks for nothing.
func (k *clock) arm(at time.Time) {
	if at.IsZero() {
		return
	}
	moment := max(int64(at.Sub(k.epoch)), 1)
	if next := k.next.Load(); next != 0 && next <= moment {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if next := k.next.Load(); k.stopped || next != 0 && next <= moment {
		return
	}
	k.next.Store(moment)
	if k.timer != nil && k.timer.Stop() {
		k.looking.Done()
	}
	k.looking.Add(1)
	k.timer = time.AfterFunc(time.Until(at), k.ring)
}

func (k *clock) ring() {
	defer k.looking.Done()
	k.next.Store(0)
	k.arm(k.look(time.Now()))
}

// stop ends the clock and returns when it no longer looks.
func (k *clock) stop() {
	k.mu.Lock()
	k.stopped = true
	if k.timer != nil && k.timer.Stop() {
		k.looking.Done()
	}
	k.mu.Unlock()
	k.looking.Wait()
}
