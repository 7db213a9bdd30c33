package supervisor

import (
	"sync"

	"oarlock/runner"
)

// place is where a child is: a slot of whatever pool has, or had, that name.
type place struct {
	pool string
	slot int
}

// places knows which places have children whose processes are not all gone, those of pools
// that leave included, and those that a dead supervisor may have left: of these it knows no
// more than whether they are gone. Safe for concurrent use.
type places struct {
	mu      sync.Mutex
	held    map[place]int
	cleared bool               // nothing is left of dead supervisors
	waiting map[*pool]struct{} // to be woken when a place becomes free
}

func newPlaces() *places {
	return &places{held: map[place]int{}, waiting: map[*pool]struct{}{}}
}

// take notes that a child is being started at a place.
func (p *places) take(at place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held[at]++
}

// leave notes that a child that was started at a place is gone, with all that it started.
func (p *places) leave(at place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[at]--; p.held[at] == 0 {
		delete(p.held, at)
		p.wake()
	}
}

// clear notes that what dead supervisors left is gone.
func (p *places) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cleared = true
	p.wake()
}

// wake wakes all pools that wait. The caller holds mu.
func (p *places) wake() {
	for each := range p.waiting {
		each.post(func() {})
	}
	clear(p.waiting)
}

// free reports whether nobody is at a place. If somebody is, the pool is woken when it is
// worth asking again.
func (p *places) free(at place, asks *pool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cleared && p.held[at] == 0 {
		return true
	}
	p.waiting[asks] = struct{}{}
	return false
}

// place is that of a slot.
func (p *pool) place(s *slot) place { return place{p.name, s.n} }

// mayOccupy reports whether a child may be started in a slot: always, or only when the last
// one is gone.
func (p *pool) mayOccupy(s *slot) bool {
	return !p.cfg.Exclusive || p.places.free(p.place(s), p)
}

// vacate lets the member of a slot go whose place another can have only when it is gone. It
// works to the end of its job.
func (p *pool) vacate(s *slot) {
	m := s.member
	why := m.due(p)
	if why == "" && !m.closed() {
		return
	}
	if optional := m.gen == s.gen && !m.spent() && m.gen.spec.Mode == runner.Reuse; optional && len(p.births.waiting) > 0 {
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
