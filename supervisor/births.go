package supervisor

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Where children die before they worked a job, the wait before the next start grows
// from startFirst to startLimit.
const (
	startFirst = 100 * time.Millisecond
	startLimit = 30 * time.Second
)

// proofOfLife is how long a child on trial must have been fit for a job to prove that
// children start, if it is not given one.
const proofOfLife = time.Second

// births decides when a pool may start children again after some of them died before
// they worked a job. The slots that this happened to stand in line and share one
// backoff: a single child is started on trial, after a wait that doubles with each
// trial that failed. The first that works a job, or is fit for one for a while, frees
// all the others, so that children which died together are back together. Slots whose
// children were well do not wait. It belongs to its pool's loop.
type births struct {
	line  []*slot       // slots whose last child failed; the first is next
	after time.Duration // no trial before
	trial *member       // nil if none is under way
	since time.Duration // when a wait was last set: children born before prove nothing any more
	waits *backoff.ExponentialBackOff
}

func newBirths() births { return births{since: -1, waits: growing(startFirst, startLimit)} }

// next returns when a child may be started for s; never means that something else has
// to happen first.
func (b *births) next(s *slot, now time.Duration) time.Duration {
	switch {
	case !b.barred(s):
		return now
	case b.trial != nil, b.line[0] != s:
		return never
	}
	return max(b.after, now)
}

// barred reports whether s stands in line: its last child failed.
func (b *births) barred(s *slot) bool { return s.barred }

// begun notes that m is being started.
func (b *births) begun(m *member) {
	if b.barred(m.slot) {
		b.trial = m
	}
}

// failed notes that m died before it worked a job. It reports whether that is news, and
// not one more of those that were started together.
func (b *births) failed(m *member, now time.Duration) (news bool) {
	b.ended(m)
	b.leave(m.slot)
	b.line, m.slot.barred = append(b.line, m.slot), true
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
	if b.trial == m {
		b.trial = nil
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
	for _, s := range b.line {
		s.barred = false
	}
	b.line, b.trial = nil, nil
}

// leave takes s out of the line.
func (b *births) leave(s *slot) {
	if s.barred {
		b.line, s.barred = without(b.line, s), false
	}
}

// forget notes that s is no more.
func (b *births) forget(s *slot) {
	b.leave(s)
	if b.trial != nil && b.trial.slot == s {
		b.trial = nil
	}
}

// anew forgets how long to wait: the next trial may begin at once, whatever became of those
// before.
func (b *births) anew(now time.Duration) {
	b.after, b.trial = now, nil
	b.waits.Reset()
}

// prefer makes s the first of those that stand in line, if it does.
func (b *births) prefer(s *slot) {
	if b.barred(s) {
		b.leave(s)
		b.line, s.barred = append([]*slot{s}, b.line...), true
		b.trial = nil
	}
}

// tendBirths frees the slots in line when the child on trial has lived for long enough,
// and sees to it that there is a turn when the next may be started.
func (p *pool) tendBirths() {
	b := &p.births
	switch {
	case b.trial != nil && b.trial.fit():
		if at := b.trial.fitSince + proofOfLife; at > p.now {
			p.alert(at)
		} else {
			b.free()
		}
	case b.trial == nil && len(b.line) > 0 && b.after > p.now:
		p.alert(b.after)
	}
}
