// Package births decides when children may be started again after some of them died before they worked
// a job. It owns which places wait for that and for how long. It knows neither processes nor what a
// place or a child is.
package births

import (
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"oarlock/supervisor/internal/clock"
)

// Where children die before they worked a job, the wait before the next start grows
// from First to Limit.
const (
	First = 100 * time.Millisecond
	Limit = 30 * time.Second
)

// Births bars the slots of a pool whose last child died. They share one backoff: a single child,
// the probe, is started after a wait that doubles with each probe that failed. The first
// child that works a job, or is fit for one for a while, frees all barred slots, so that
// children which died together are back together. Slots whose children were well do not
// wait. Times are on the pool's clock. Births belong to their pool's loop.
type Births[Slot, Member comparable] struct {
	waiting []Slot            // the barred slots; the first has the next probe
	barred  map[Slot]struct{} // likewise
	after   time.Duration     // no probe before
	probe   Member            // zero if none is under way
	at      Slot              // its slot
	since   time.Duration     // when a wait was last set: children born before prove nothing any more
	waits   *backoff.ExponentialBackOff
}

// New makes births that bar nothing.
func New[Slot, Member comparable]() Births[Slot, Member] {
	return Births[Slot, Member]{barred: map[Slot]struct{}{}, since: -1, waits: clock.Growing(First, Limit)}
}

// Next returns when a child may be started for s; clock.Never means that something else has
// to happen first.
func (b *Births[S, M]) Next(s S, now time.Duration) time.Duration {
	switch {
	case !b.Barred(s):
		return now
	case b.probing(), b.waiting[0] != s:
		return clock.Never
	}
	return max(b.after, now)
}

// Barred reports whether s is barred: its last child failed.
func (b *Births[S, M]) Barred(s S) bool {
	if len(b.barred) == 0 { // most of the time
		return false
	}
	_, is := b.barred[s]
	return is
}

// Any reports whether any slot is barred.
func (b *Births[S, M]) Any() bool { return len(b.waiting) > 0 }

// After is when the next probe may be started, at the earliest.
func (b *Births[S, M]) After() time.Duration { return b.after }

// Begun notes that m is being started in s.
func (b *Births[S, M]) Begun(s S, m M) {
	if b.Barred(s) {
		b.probe, b.at = m, s
	}
}

// Failed notes that m of s, born then, died before it worked a job. It reports whether that is news,
// and not one more of those that were started together.
func (b *Births[S, M]) Failed(s S, m M, born, now time.Duration) (news bool) {
	b.Ended(m)
	b.leave(s)
	b.waiting = append(b.waiting, s)
	b.barred[s] = struct{}{}
	if born <= b.since {
		return false // it was started before the last wait, which is for all that were
	}
	if now-born >= Limit {
		b.waits.Reset() // whatever it died of, it was not its start
	}
	b.since, b.after = now, now+b.waits.NextBackOff()
	return true
}

// Ended notes that m is gone.
func (b *Births[S, M]) Ended(m M) {
	if b.probe == m {
		b.settle()
	}
}

// Worked notes that a child worked a job, which proves that children start if it was born
// after the last failure.
func (b *Births[S, M]) Worked(born time.Duration) {
	if born > b.since {
		b.Free()
		b.waits.Reset()
	}
}

// Free lets all slots start their children.
func (b *Births[S, M]) Free() {
	b.waiting = nil
	clear(b.barred)
	b.settle()
}

// Forget notes that s is no more.
func (b *Births[S, M]) Forget(s S) {
	b.leave(s)
	if b.probing() && b.at == s {
		b.settle()
	}
}

// Anew forgets how long to wait: the next probe may be started at once, whatever became of those
// before.
func (b *Births[S, M]) Anew(now time.Duration) {
	b.after = now
	b.settle()
	b.waits.Reset()
}

// Prefer gives the next probe to s, if it is barred.
func (b *Births[S, M]) Prefer(s S) {
	if b.Barred(s) {
		b.waiting = append([]S{s}, without(b.waiting, s)...)
		b.settle()
	}
}

// Probe returns the child by which it is to be seen whether children start; zero if there is none.
func (b *Births[S, M]) Probe() M { return b.probe }

// probing reports whether a probe is under way.
func (b *Births[S, M]) probing() bool {
	var none M
	return b.probe != none
}

// settle notes that no probe is under way.
func (b *Births[S, M]) settle() {
	var none M
	var nowhere S
	b.probe, b.at = none, nowhere
}

// leave lets s be barred no more.
func (b *Births[S, M]) leave(s S) {
	if b.Barred(s) {
		b.waiting = without(b.waiting, s)
		delete(b.barred, s)
	}
}

// without returns slots without s.
func without[S comparable](slots []S, s S) []S {
	return slices.DeleteFunc(slots, func(other S) bool { return other == s })
}
