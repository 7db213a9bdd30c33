package pool

import (
	"log/slog"
	"slices"
	"syscall"
	"testing"
	"time"

	"oarlock/runner"
	"oarlock/supervisor/internal/proof"
	"oarlock/supervisor/outcome"
)

// A job is forgiven once a roll; the second bad ending on the same code counts.
func TestAJobIsForgivenOnce(t *testing.T) {
	p := &Pool{roll: newRoll(&generation{n: 1}, &generation{n: 2, Trial: proof.New()}, 0)}
	a := &attempt{member: &member{gen: p.roll.to}}
	a.job.JID = "j"
	for i, want := range []string{"release", "fail"} {
		o := outcome.Outcome{Bearing: outcome.Bad}
		o.Settlement.Action, o.Settlement.Group = "fail", "Error"
		p.roll.to.Forgive(a.job.JID, &o)
		if s := o.Settlement; string(s.Action) != want || s.Group != "Error" || s.Front {
			t.Errorf("ending %d: %+v, want %s", i, s, want)
		}
	}
	if !p.wary(a) {
		t.Error("its next attempt is not for old code")
	}
}

// A second recycle goes on with the slots that have waited for longest, not at the first.
func TestASecondRecycleDoesNotStartOver(t *testing.T) {
	first, second, third := &generation{n: 1}, &generation{n: 2}, &generation{n: 3, Trial: proof.New()}
	p := &Pool{roll: newRoll(second, third, 0)}
	for i, g := range []*generation{second, second, first, first} {
		s := &slot{n: i, gen: g}
		s.member = &member{pool: p, slot: s, gen: g, state: memberReady}
		p.slots = append(p.slots, s)
	}
	var order []int
	for s, _ := p.nextToChange(); s != nil; s, _ = p.nextToChange() {
		order = append(order, s.n)
		s.gen = third
	}
	if !slices.Equal(order, []int{2, 3, 0, 1}) {
		t.Errorf("slots change in the order %v, want those of the oldest generation first", order)
	}
}

// leaving is a child that goes when it is asked to.
type leaving struct{ Child }

func (leaving) PID() int { return 1 }

func (leaving) Shutdown(time.Duration) {}

// Two slots whose jobs end in turn, each with a moment in which it has none and could change before the other, and with a job again
// before its new child is there, do not overtake each other for ever.
func TestTwoSlotsDoNotOvertakeEachOtherForEver(t *testing.T) {
	const (
		length = 12 * time.Second // of a job
		boot   = time.Second
	)
	shared := &Shared{Clock: func() time.Duration { return time.Minute }, Redis: silent{}, Base: slog.New(slog.DiscardHandler)}
	p := New(shared, Config{Name: "p", Queues: []string{"q"}, Children: 2}, "w")
	p.resize()
	old, fresh := &generation{n: 1}, &generation{n: 2, Trial: proof.New()}
	old.spec.Mode, fresh.spec.Mode, fresh.Standing = runner.Reuse, runner.Reuse, proof.Proven
	p.gen, p.roll = old, newRoll(old, fresh, p.now)
	for _, s := range p.slots {
		s.gen = old
		s.member = &member{pool: p, slot: s, gen: old, child: leaving{}, state: memberReady, runs: []*attempt{{began: p.now}}}
	}
	turns := 0
	for ; turns < 100; turns++ {
		p.now += length / 2
		s := p.slots[turns%2] // whose job ends
		if s.gen == fresh && s.next.fit() {
			break // the new child has the slot
		}
		s.member.runs = nil
		p.tendRoll()
		s.member.runs = []*attempt{{began: p.now}}
		if s.gen == fresh { // it overtook the other
			s.next = &member{pool: p, slot: s, gen: fresh, child: leaving{}, state: memberReady, fitSince: p.now + boot}
		}
	}
	if turns < 2 || turns > 10 {
		t.Errorf("one has changed after %d turns", turns)
	}
}

// A child that ends without a word is told of by how it ended.
func TestLastWords(t *testing.T) {
	for want, exit := range map[string]runner.Exit{
		"SyntaxError": {Code: 1, Message: "SyntaxError"},
		"a child exited with 3 before it read a job":        {Code: 3},
		"a child was ended by SIGKILL before it read a job": {Code: -1, Signal: syscall.SIGKILL},
	} {
		if got := lastWords(exit); got != want {
			t.Errorf("%+v: %q, want %q", exit, got, want)
		}
	}
}

// What was given up, and has its slot still, does not take the jobs that are to prove what mends it.
func TestAJobGoesToWhatIsOnTrialRatherThanToWhatWasGivenUp(t *testing.T) {
	old, givenUp, mended := &generation{n: 1}, &generation{n: 2, Trial: proof.New()}, &generation{n: 3, Trial: proof.New()}
	p := &Pool{Shared: &Shared{}, roll: newRoll(old, mended, 0), gen: old}
	for i, g := range []*generation{old, givenUp, mended} {
		g.spec.Mode = runner.Reuse
		s := &slot{n: i, gen: g}
		s.member = &member{pool: p, slot: s, gen: g, child: struct{ Child }{}, state: memberReady}
		p.slots = append(p.slots, s)
	}
	if m := p.vacancy(&attempt{}); m.gen != mended {
		t.Errorf("the job goes to generation %d, want %d", m.gen.n, mended.n)
	}
}
