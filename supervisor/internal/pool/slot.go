package pool

import (
	"cmp"
	"slices"
	"time"

	"oarlock/runner"
	"oarlock/supervisor/internal/proof"
)

// slot is a place for a child. Its member may be missing for a while; its replacement is the
// member that will take over as soon as it is ready. In mode once, a slot has a
// member only while it has a job.
type slot struct {
	n      int
	gen    *generation // what its member is started from
	member *member
	next   *member // that will take over
}

// generation is one version of what children are started from.
type generation struct {
	n           int
	source      runner.Spec   // as it was configured
	spec        runner.Spec   // what children are started from
	greets      bool          // one of them has said hello
	fitAt       time.Duration // when the first of its children was fit and had a slot; 0: none was
	proof.Trial               // how it proves itself
}

func newGeneration(n int, spec runner.Spec, worker string) *generation {
	g := &generation{n: n, source: spec, spec: spec}
	g.spec.Worker = worker
	return g
}

// once reports whether each job gets a fresh child.
func (p *Pool) once() bool { return p.gen.spec.Mode == runner.Once }

// resizeStep is how many slots come or go in one turn of the loop, so that however many a pool
// is to have, it hears what else happens.
const resizeStep = 256

// resize brings the number of slots nearer to what it should be.
func (p *Pool) resize() {
	if p.life.draining {
		return
	}
	if missing := p.target - len(p.slots); missing > 0 {
		p.grow(min(missing, resizeStep))
	} else if missing < 0 {
		p.shrink(min(-missing, resizeStep))
	}
	if len(p.slots) != p.target {
		p.alert(p.now)
	}
}

// grow adds n slots, which have the lowest numbers that no other has.
func (p *Pool) grow(n int) {
	taken := make(map[int]struct{}, len(p.slots))
	for _, s := range p.slots {
		taken[s.n] = struct{}{}
	}
	for number := 0; n > 0; number++ {
		if _, is := taken[number]; !is {
			p.slots = append(p.slots, &slot{n: number, gen: p.gen})
			n--
		}
	}
}

// shrink takes n slots away whose end costs least: the last of those without a member, then
// those with the fewest jobs. What their members have they finish.
func (p *Pool) shrink(n int) {
	load := func(s *slot) int {
		if s.member == nil {
			return 0
		}
		return 1 + len(s.member.runs)
	}
	least := slices.Clone(p.slots)
	slices.Reverse(least)
	slices.SortStableFunc(least, func(a, b *slot) int { return load(a) - load(b) })
	leave := make(map[*slot]struct{}, n)
	for _, s := range least[:n] {
		leave[s] = struct{}{}
		for _, m := range []*member{s.next, s.member, p.stayingIn(s)} {
			if m != nil {
				m.retire(whyShrinks)
			}
		}
		p.births.Forget(s)
	}
	p.slots = slices.DeleteFunc(p.slots, func(s *slot) bool {
		_, goes := leave[s]
		return goes
	})
}

// tendSlots starts what is missing and replaces what is due.
func (p *Pool) tendSlots() {
	p.scale()
	p.resize()
	p.tendBirths()
	if p.life.draining || p.once() {
		p.tendRoll()
		return
	}
	p.sampleMemory()
	for _, s := range p.slots {
		m := s.member
		switch {
		case m == nil && s.next != nil:
			p.takeOver(s)
		case m == nil:
			p.startWhenDue(s, &s.member)
		case s.next != nil:
			p.handOver(s)
		case p.cfg.Exclusive:
			p.vacate(s)
		case m.due(p) != "":
			p.startWhenDue(s, &s.next)
		case m.nearlySpent(p):
			p.startWhenDue(s, &s.next)
		}
	}
	p.tendRoll()
}

// startWhenDue starts a resident member into place, unless it is too early.
func (p *Pool) startWhenDue(s *slot, place **member) {
	at := p.births.Next(s, p.now)
	if s.gen.spec.Mode == runner.Reuse { // forks of a preloaded process are cheap
		at = max(at, p.spawns.Next(p.now))
	}
	if at > p.now {
		p.alert(at)
		return
	}
	if !p.mayOccupy(s) {
		return
	}
	permit, at := p.Starts.Begin(p, s.gen.spec.Mode == runner.Preload, p.now)
	if !permit.Given {
		p.alert(at)
		return
	}
	p.spawns.Note(p.now)
	m := p.newMember(s)
	m.permit = permit
	*place = p.start(m)
}

// handOver lets the replacement of s take over from its member when it is time: at once if the
// member is due, else when it will be, or is idle after a job. One that had none yet is as good
// as its replacement.
func (p *Pool) handOver(s *slot) {
	m := s.member
	if !s.next.fit() {
		return
	}
	if m.due(p) == "" && (m.jobs == 0 || m.idleFor(p.now) < idleAhead) {
		if m.jobs > 0 && len(m.runs) == 0 {
			p.alert(m.idle + idleAhead)
		}
		return
	}
	// It takes no further job, and goes when it has finished what it has: the replacement
	// must not make the slot work two jobs at once.
	m.close()
	if m.gen != s.gen {
		m.tell()
	}
	if len(m.runs) == 0 {
		if !p.stay(m) {
			m.retire(cmp.Or(m.due(p), whyReplaced))
		}
		p.takeOver(s)
	}
}

// takeOver gives a slot to the replacement of its member, which has left it.
func (p *Pool) takeOver(s *slot) {
	s.member, s.next = s.next, nil
	s.member.present()
}

// idleAhead is how long a member must be idle to be replaced by a replacement that was
// started ahead of time, rather than to keep both.
const idleAhead = time.Second

// room is how many more jobs the pool's children could take now.
func (p *Pool) room() int {
	room, ahead := 0, p.prefetch()
	for _, s := range p.slots {
		if p.once() {
			if p.vacant(s) {
				room++
			}
		} else if s.member != nil {
			room += s.member.room(ahead)
		}
	}
	if p.once() {
		if short, few := p.Starts.ShortOf(p.now); short != "" {
			return min(room, few)
		}
	}
	return room
}

// vacant reports whether a slot of mode once can take a job.
func (p *Pool) vacant(s *slot) bool {
	return s.member == nil && p.births.Next(s, p.now) <= p.now && p.mayOccupy(s)
}

// vacancy returns the member that should have an attempt: the one with the fewest; one of
// code that is on trial first, or last if the attempt is wary of it. It is nil if there is
// none.
func (p *Pool) vacancy(a *attempt) *member {
	if p.once() {
		return p.freshVacancy(a)
	}
	if p.wary(a) {
		if old, any := p.oldVacancy(); any {
			return old
		}
	}
	var best *member
	trial, ahead := p.roll != nil && p.roll.to.OnTrial(), p.prefetch()
	for _, s := range p.slots {
		m := s.member
		if m == nil || m.room(ahead) == 0 {
			continue
		}
		if trial && m.gen == p.roll.to {
			return m
		}
		if best == nil || len(m.runs) < len(best.runs) {
			best = m
		}
		if len(best.runs) == 0 && !trial {
			break
		}
	}
	return best
}

// freshVacancy is vacancy in mode once: a new member that may be started with the job.
func (p *Pool) freshVacancy(a *attempt) *member {
	m := p.unstartedVacancy(a)
	if m == nil {
		return nil
	}
	permit, at := p.Starts.Begin(p, false, p.now)
	if m.permit = permit; !permit.Given {
		p.alert(at)
		return nil
	}
	return m
}

// unstartedVacancy is a member for a vacant slot of mode once.
func (p *Pool) unstartedVacancy(a *attempt) *member {
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
func (p *Pool) oldVacancy() (old *member, any bool) {
	for _, s := range p.slots {
		m := s.member
		if m != nil && m.fit() && !m.gen.OnTrial() {
			any = true
			if m.room(0) > 0 {
				return m, true
			}
		}
		if stays := p.stayingIn(s); stays != nil {
			room := stays.room(0) > 0
			another := stays.gen.spec.Mode == runner.Preload // fork follows
			any = any || room || len(stays.runs) > 0 || !stays.fit() || another
			if room && (m == nil || len(m.runs) == 0) {
				old = stays
			}
		}
	}
	return old, any
}
