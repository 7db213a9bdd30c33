package births

import (
	"testing"
	"time"

	"oarlock/supervisor/internal/clock"
)

type slot struct{ n int }

type member struct {
	slot *slot
	born time.Duration
}

// A slot whose children die is no reason for the others to wait.
func TestOnlySlotsWhoseChildDiedStandInLine(t *testing.T) {
	b := New[*slot, *member]()
	bad, worse, good := &slot{n: 0}, &slot{n: 1}, &slot{n: 2}
	now := time.Second
	was := func(s *slot, born time.Duration) *member { return &member{slot: s, born: born} }
	failed := func(m *member, now time.Duration) { b.Failed(m.slot, m, m.born, now) }
	failed(was(bad, 0), now)
	failed(was(worse, 0), now+time.Millisecond) // it was started with the other
	first := b.After()
	if first < now+First/2 || first > now+First*3/2 {
		t.Errorf("the first trial is at %v, want about %v", first, now+First)
	}
	expect := func(when string, s *slot, now, want time.Duration) {
		t.Helper()
		if got := b.Next(s, now); got != want {
			t.Errorf("%s, slot %d may start a child at %v, want %v", when, s.n, got, want)
		}
	}
	expect("after two deaths", bad, now, first)
	expect("after two deaths", worse, now, clock.Never)
	expect("after two deaths", good, now, now)

	b.Worked(now / 2) // an old child proves nothing
	expect("after an old child has worked", bad, now, first)

	trial := was(bad, first)
	b.Begun(bad, trial)
	expect("during a trial", worse, first, clock.Never)
	expect("during a trial", good, first, first)
	failed(trial, first+time.Millisecond)
	expect("after a trial", bad, first, clock.Never)
	if second := b.Next(worse, first); second < first+First || second == clock.Never {
		t.Errorf("after a trial, the other slot may start a child at %v", second)
	}

	fresh := was(good, b.After())
	b.Begun(good, fresh)
	b.Worked(fresh.born)
	expect("after a fresh child has worked", bad, now, now)
	expect("after a fresh child has worked", worse, now, now)

	failed(was(bad, b.After()+1), b.After()+2)
	b.Forget(bad)
	if b.Barred(bad) {
		t.Error("a slot that is no more is barred")
	}
}
