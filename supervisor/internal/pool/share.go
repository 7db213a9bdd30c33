package pool

import (
	"cmp"
	"slices"
)

// share takes attempts back that wait behind another at their child: all of a child that
// is to leave, or where nothing that was not begun is to be begun any more, and else as
// many as there are children without any.
func (p *Pool) share() {
	if !p.prefetches() {
		return
	}
	for m := range p.leavers {
		p.recall(m)
	}
	idle := -len(p.waiting)
	for _, s := range p.slots {
		switch m := s.member; {
		case m == nil:
		case m.closed(), m.shunned(), p.life.draining, p.breaker.Open, p.askedTooMuch(), m.silent():
			p.recall(m)
		case len(m.runs) == 0 && m.room(p.prefetch()) > 0:
			idle++
		}
	}
	if idle <= 0 {
		return
	}
	var behind []*attempt
	for _, s := range p.slots {
		if m := s.member; m != nil && len(m.runs) > 1 {
			behind = append(behind, m.runs[1:]...)
		}
	}
	slices.SortFunc(behind, func(a, b *attempt) int { return cmp.Compare(a.turn, b.turn) })
	for _, a := range behind {
		if idle == 0 {
			return
		}
		if p.withdraw(a) {
			p.await(a)
			idle--
		}
	}
}

// recall takes all attempts back that wait behind another at a child.
func (p *Pool) recall(m *member) {
	if len(m.runs) < 2 {
		return
	}
	for _, a := range slices.Clone(m.runs[1:]) {
		if p.withdraw(a) {
			p.await(a)
		}
	}
}

// withdraw takes an attempt back from its child, and reports whether it could: the child
// knows nothing of it then, and will not.
func (p *Pool) withdraw(a *attempt) bool {
	if a.run == nil || a.stage != running || !a.run.Withdraw() {
		return false
	}
	a.member.runs = without(a.member.runs, a)
	p.undo(a)
	return true
}
