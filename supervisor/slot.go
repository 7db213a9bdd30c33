package supervisor

import (
	"cmp"
	"math"
	"slices"
	"time"

	"oarlock/runner"
)

// slot is a place for a child. Its member may be missing for a while; its heir is the
// member that will take over as soon as it is ready. In mode once, a slot has a
// member only while it has a job.
type slot struct {
	n      int
	gen    *generation // what its member is started from
	member *member
	heir   *member
}

// generation is one version of what children are started from.
type generation struct {
	n      int
	source runner.Spec // as it was configured
	spec   runner.Spec // what children are started from
	greets bool        // one of them has said hello
	trial              // how it proves itself
}

func newGeneration(n int, spec runner.Spec, worker string) *generation {
	g := &generation{n: n, source: spec, spec: spec}
	g.spec.Worker = worker
	return g
}

// once reports whether each job gets a fresh child.
func (p *pool) once() bool { return p.gen.spec.Mode == runner.Once }

// resize makes the number of slots what it should be. Where there are too many, the
// emptiest goes first; what its member has it finishes.
func (p *pool) resize() {
	if p.life.draining {
		return
	}
	for len(p.slots) < p.target {
		p.slots = append(p.slots, &slot{n: p.freeNumber(), gen: p.gen})
	}
	for len(p.slots) > p.target {
		i := p.emptiest()
		s := p.slots[i]
		if s.heir != nil {
			p.retire(s.heir, "the pool shrinks")
		}
		if s.member != nil {
			p.retire(s.member, "the pool shrinks")
		}
		if old := p.stayer(s); old != nil {
			p.retire(old, "the pool shrinks")
		}
		p.slots = append(p.slots[:i], p.slots[i+1:]...)
		p.births.forget(s)
	}
}

// freeNumber is the lowest number that no slot has.
func (p *pool) freeNumber() int {
	for n := 0; ; n++ {
		if !slices.ContainsFunc(p.slots, func(s *slot) bool { return s.n == n }) {
			return n
		}
	}
}

// emptiest is the index of the slot whose end costs least: the last of those without a
// member, else of those with the fewest jobs.
func (p *pool) emptiest() int {
	best, load := 0, math.MaxInt
	for i, s := range p.slots {
		jobs := 0
		if s.member != nil {
			jobs = 1 + len(s.member.runs)
		}
		if jobs <= load {
			best, load = i, jobs
		}
	}
	return best
}

// tendSlots starts what is missing and replaces what is due.
func (p *pool) tendSlots() {
	p.scale()
	p.tendBirths()
	if p.life.draining || p.once() {
		p.tendRoll()
		return
	}
	p.sampleMemory()
	for _, s := range p.slots {
		m := s.member
		switch {
		case m == nil && s.heir != nil:
			s.member, s.heir = s.heir, nil
		case m == nil:
			p.startWhenDue(s, &s.member)
		case s.heir != nil:
			p.handOver(s)
		case m.due(p) != "":
			p.startWhenDue(s, &s.heir)
		case m.nearlySpent(p):
			p.startWhenDue(s, &s.heir)
			if s.heir != nil {
				s.heir.ahead = true
			}
		}
	}
	p.tendRoll()
}

// startWhenDue starts a resident member into place, unless it is too early.
func (p *pool) startWhenDue(s *slot, place **member) {
	at := p.births.next(s, p.now)
	if s.gen.spec.Mode == runner.Reuse { // forks of a preloaded process are cheap
		at = max(at, p.spawns.next(p.now))
	}
	if at > p.now {
		p.alert(at)
		return
	}
	p.spawns.note(p.now)
	*place = p.start(s, nil)
}

// handOver lets the heir of s take over from its member when it is time: at once if the
// member was due when the heir was started, else when it is spent, or idle anyway.
func (p *pool) handOver(s *slot) {
	m := s.member
	if !s.heir.ready {
		return
	}
	if s.heir.ahead && m.due(p) == "" && m.idleFor(p.now) < idleAhead {
		if len(m.runs) == 0 {
			p.alert(m.idle + idleAhead)
		}
		return
	}
	// It takes no further job, and goes when it has finished what it has: the heir
	// must not make the slot work two jobs at once.
	m.closed = true
	if m.gen != s.gen {
		m.drain()
	}
	if len(m.runs) == 0 {
		if !p.stay(m) {
			p.retire(m, cmp.Or(m.due(p), "its replacement is ready"))
		}
		s.member, s.heir = s.heir, nil
	}
}

// idleAhead is how long a member must be idle to be replaced by an heir that was
// started ahead of time, rather than to keep both.
const idleAhead = time.Second

// room is how many more jobs the pool's children could take now.
func (p *pool) room() int {
	room := 0
	for _, s := range p.slots {
		if p.once() {
			if p.vacant(s) {
				room++
			}
		} else if s.member != nil {
			room += s.member.room(p.prefetch())
		}
	}
	return room
}

// vacant reports whether a slot of mode once can take a job.
func (p *pool) vacant(s *slot) bool {
	return s.member == nil && p.births.next(s, p.now) <= p.now
}

// vacancy returns the member that should have an attempt: the one with the fewest; one of
// code that is on trial first, or last if the attempt is wary of it. It is nil if there is
// none.
func (p *pool) vacancy(a *attempt) *member {
	if p.once() {
		return p.freshVacancy(a)
	}
	if p.wary(a) {
		if old, any := p.oldVacancy(); any {
			return old
		}
	}
	var best *member
	for _, s := range p.slots {
		m := s.member
		if m == nil || m.room(p.prefetch()) == 0 {
			continue
		}
		if m.gen.onTrial() {
			return m
		}
		if best == nil || len(m.runs) < len(best.runs) {
			best = m
		}
		if len(best.runs) == 0 {
			break
		}
	}
	return best
}

// freshVacancy is vacancy in mode once: a new member that is to be started with the job.
func (p *pool) freshVacancy(a *attempt) *member {
	var last *slot
	wary := p.wary(a)
	for _, s := range p.slots {
		switch {
		case !p.vacant(s):
		case wary && s.gen == p.roll.to:
			last = s
		default:
			return p.newMember(s)
		}
	}
	if last == nil {
		return nil
	}
	m := p.newMember(last)
	m.gen = p.roll.from
	return m
}

// oldVacancy is vacancy among members that are not on trial; any reports whether there
// are such, with room or without. One that stays may have a job while the member of its
// slot has none.
func (p *pool) oldVacancy() (old *member, any bool) {
	for _, s := range p.slots {
		m := s.member
		if m != nil && m.ready && !m.gen.onTrial() {
			any = true
			if m.room(0) > 0 {
				return m, true
			}
		}
		if stays := p.stayer(s); stays != nil {
			room := stays.room(0) > 0
			another := stays.gen.spec.Mode == runner.Preload // fork follows
			any = any || room || len(stays.runs) > 0 || !stays.ready || another
			if room && (m == nil || len(m.runs) == 0) {
				old = stays
			}
		}
	}
	return old, any
}

// maxSpawns is how many resident children a pool starts in a second, besides those that
// take the place of one that has worked a job.
const maxSpawns = 32

// spawnRate keeps a pool from starting too many children at once.
type spawnRate struct {
	since time.Duration
	n     int // starts since then that no child has earned
}

// next returns when the next start may be.
func (r *spawnRate) next(now time.Duration) time.Duration {
	if now-r.since < time.Second && r.n >= maxSpawns {
		return r.since + time.Second
	}
	return now
}

func (r *spawnRate) note(now time.Duration) {
	if now-r.since >= time.Second {
		r.since, r.n = now, 0
	}
	r.n++
}

// earned notes that a child worked its first job, by which it earns its successor's start:
// children that are replaced often are not to wait for each other.
func (r *spawnRate) earned() { r.n = max(r.n-1, 0) }
