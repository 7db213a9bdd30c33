package pool

import (
	"oarlock/runner"
	"oarlock/supervisor/internal/starts"
)

// place is that of a slot.
func (p *Pool) place(s *slot) starts.Place { return starts.Place{Pool: p.name, Slot: s.n} }

// mayOccupy reports whether a child may be started in a slot: always, or only when the last
// one is gone.
func (p *Pool) mayOccupy(s *slot) bool {
	return !p.cfg.Exclusive || p.Places.Free(p.place(s), p)
}

// vacate lets the member of a slot go whose place another can have only when it is gone. It
// works to the end of its job.
func (p *Pool) vacate(s *slot) {
	m := s.member
	why := m.due(p)
	if why == "" && !m.closed() {
		return
	}
	if optional := m.gen == s.gen && !m.spent() && m.gen.spec.Mode == runner.Reuse; optional && p.births.Any() {
		return // an old child is better than none
	}
	m.close()
	if m.gen != s.gen {
		m.tell()
	}
	if len(m.runs) == 0 {
		m.retire(why)
	}
}
