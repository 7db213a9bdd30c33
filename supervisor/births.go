package supervisor

import (
	"time"

	"github.com/cenkalti/backoff/v5"

	"oarlock/supervisor/internal/clock"
)

// Where children die before they worked a job, the wait before the next start grows
// from startFirst to startLimit.
const (
	startFirst = 100 * time.Millisecond
	startLimit = 30 * time.Second
)

// proofOfLife is how long a probe must have been fit for a job to prove that children start,
// if it is not given one.
const proofOfLife = time.Second

// births decides when a pool may start children again after some of them died before
// they worked a job. The slots of these are barred and share one backoff: a single child,
// the probe, is started after a wait that doubles with each probe that failed. The first
// child that works a job, or is fit for one for a while, frees all barred slots, so that
// children which died together are back together. Slots whose children were well do not
// wait. Births belong to their pool's loop.
type births struct {
	waiting []*slot       // the barred slots; the first has the next probe
	after   time.Duration // no probe before
	probe   *member       // nil if none is under way
	since   time.Duration // when a wait was last set: children born before prove nothing any more
	waits   *backoff.ExponentialBackOff
}

func newBirths() births { return births{since: -1, waits: clock.Growing(startFirst, startLimit)} }

// next returns when a child may be started for s; never means that something else has
// to happen first.
func (b *births) next(s *slot, now time.Duration) time.Duration {
	switch {
	case !b.barred(s):
		return now
	case b.probe != nil, b.waiting[0] != s:
		return never
	}
	return max(b.after, now)
}

// barred reports whether s is barred: its last child failed.
func (b *births) barred(s *slot) bool { return s.barred }

// begun notes that m is being started.
func (b *births) begun(m *member) {
	if b.barred(m.slot) {
		b.probe = m
	}
}

// failed notes that m died before it worked a job. It reports whether that is news, and
// not one more of those that were started together.
func (b *births) failed(m *member, now time.Duration) (news bool) {
	b.ended(m)
	b.leave(m.slot)
	b.waiting, m.slot.barred = append(b.waiting, m.slot), true
	if m.born <= b.since {
		return false // it was started before the last wait, which is for all that were
	}
	if now-m.born >= startLimit {
		b.waits.Reset() // whatever it died of, it was not its start
	}
	b.since, b.after = now, now+b.waits.NextBackOff()
	return true
}

// ended notes that m is gone.
func (b *births) ended(m *member) {
	if b.probe == m {
		b.probe = nil
	}
}

// worked notes that m worked a job, which proves that children start if it was born
// after the last failure.
func (b *births) worked(m *member) {
	if m.born > b.since {
		b.free()
		b.waits.Reset()
	}
}

// free lets all slots start their children.
func (b *births) free() {
	for _, s := range b.waiting {
		s.barred = false
	}
	b.waiting, b.probe = nil, nil
}

// leave lets s be barred no more.
func (b *births) leave(s *slot) {
	if s.barred {
		b.waiting, s.barred = without(b.waiting, s), false
	}
}

// forget notes that s is no more.
func (b *births) forget(s *slot) {
	b.leave(s)
	if b.probe != nil && b.probe.slot == s {
		b.probe = nil
	}
}

// anew forgets how long to wait: the next probe may be started at once, whatever became of those
// before.
func (b *births) anew(now time.Duration) {
	b.after, b.probe = now, nil
	b.waits.Reset()
}

// prefer gives the next probe to s, if it is barred.
func (b *births) prefer(s *slot) {
	if b.barred(s) {
		b.leave(s)
		b.waiting, s.barred = append([]*slot{s}, b.waiting...), true
		b.probe = nil
	}
}

// tendBirths frees the barred slots when the probe has lived for long enough, and sees to it that
// there is a turn when the next may be started.
func (p *pool) tendBirths() {
	b := &p.births
	switch {
	case b.probe != nil && b.probe.fit():
		if at := b.probe.fitSince + proofOfLife; at > p.now {
			p.alert(at)
		} else {
			b.free()
		}
	case b.probe == nil && len(b.waiting) > 0 && b.after > p.now:
		p.alert(b.after)
	}
}
