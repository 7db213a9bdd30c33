package starts

import "sync"

// Place is where a child is: a slot of whatever pool has, or had, that name.
type Place struct {
	Pool string
	Slot int
}

// Places knows which places have children whose processes are not all gone, those of pools
// that leave included, and those that a dead supervisor may have left: of these it knows no
// more than whether they are gone. Safe for concurrent use.
type Places struct {
	mu      sync.Mutex
	held    map[Place]int
	cleared bool               // nothing is left of dead supervisors
	waiting map[Waker]struct{} // to be woken when a place becomes free
}

// NewPlaces knows of nobody, and not yet whether something is left of dead supervisors.
func NewPlaces() *Places {
	return &Places{held: map[Place]int{}, waiting: map[Waker]struct{}{}}
}

// Take notes that a child is being started at a place.
func (p *Places) Take(at Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held[at]++
}

// Leave notes that a child that was started at a place is gone, with all that it started.
func (p *Places) Leave(at Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[at]--; p.held[at] == 0 {
		delete(p.held, at)
		p.wake()
	}
}

// Clear notes that what dead supervisors left is gone.
func (p *Places) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cleared = true
	p.wake()
}

// wake wakes all pools that wait. The caller holds mu.
func (p *Places) wake() {
	for each := range p.waiting {
		each.Wake()
	}
	clear(p.waiting)
}

// Free reports whether nobody is at a place. If somebody is, who asks is woken when it is
// worth asking again.
func (p *Places) Free(at Place, asks Waker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cleared && p.held[at] == 0 {
		return true
	}
	p.waiting[asks] = struct{}{}
	return false
}
