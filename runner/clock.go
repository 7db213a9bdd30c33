package runner

import (
	"sync"
	"sync/atomic"
	"time"
)

// A moment that comes so late came to a process that stood still itself: it was stopped, or
// had no core. What its children told it meanwhile, or that they are ready, lies in their pipes
// and is read first, for so long, before one of them is judged by the time that has passed.
const (
	stoodStill = time.Second
	readFirst  = 200 * time.Millisecond
)

// clock looks at every child when the first of them has something due. It is one
// timer, which is not touched by a run unless that has something due earlier than
// all others.
type clock struct {
	look  func(now time.Time) (next time.Time)
	epoch time.Time
	next  atomic.Int64 // what the timer is set to, as time since epoch; 0: it is not
	after atomic.Int64 // when there may be a look again, because we stood still; as time since epoch

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
	now := time.Now()
	moment := int64(now.Sub(k.epoch))
	k.letRead(moment, moment-k.next.Swap(0))
	if after := k.after.Load(); moment < after {
		k.arm(k.epoch.Add(time.Duration(after)))
		return
	}
	k.arm(k.look(now))
}

// letRead notes that there is to be no look for a while if the one that is due is too late. It
// does not put off again what was put off, however slow all goes.
func (k *clock) letRead(moment, late int64) {
	after := k.after.Load()
	if late < int64(stoodStill) || after != 0 && moment < after+int64(stoodStill) {
		return
	}
	k.after.CompareAndSwap(after, moment+int64(readFirst))
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
