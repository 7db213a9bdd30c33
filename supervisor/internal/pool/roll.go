package pool

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"oarlock/runner"
	"oarlock/supervisor/internal/proof"
	"oarlock/supervisor/report"
)

// roll is a change of generation under way. One slot changes first, on trial, until the
// new generation has proven itself; see trial. Then the others follow, a quarter of them
// at a time, each as soon as its new child is ready. Old members stay for a while after
// their slot has changed, idle, so that going back needs no start. The first bad sign ends
// the roll, and the old generation takes back what it had given away.
type roll struct {
	from, to *generation
	back     bool               // from was given up, and to is what it was to replace
	staying  []*member          // old members whose slots have changed, oldest first
	changed  map[*slot]struct{} // slots that had a ready member of the new generation
	passed   map[*slot]int      // how often others overtook a slot, because its job did not end
	began    time.Duration
	followAt time.Duration // when the other slots began to follow the first
	over     bool          // all slots have changed, and only the trial goes on
	mends    bool          // the breaker was open when to was believed
}

// givenUp tells of a generation that was given up, until the next one comes.
type givenUp struct {
	generation int
	message    string
	at         time.Duration
}

func newRoll(from, to *generation, now time.Duration) *roll {
	return &roll{from: from, to: to, began: now, changed: map[*slot]struct{}{}, passed: map[*slot]int{}}
}

// turnOver begins to replace all children by those of a new generation, which is trusted
// or has to prove itself. A roll that is still under way is overtaken.
func (p *Pool) turnOver(spec runner.Spec, trusted bool) {
	from, staying := p.gen, []*member(nil)
	if last := p.roll; last != nil {
		p.rollEnded(last, report.RollOvertaken, "")
		if last.to.Standing == proof.Proven {
			from, staying = last.to, last.staying
		} else {
			from = last.from
			p.restore(last)
			p.dismissStaying(0) // of a roll before that one: nobody would know them any more
		}
	}
	p.generations++
	to := newGeneration(p.generations, spec, p.worker)
	to.Trial = proof.New()
	if spec.Hello == runner.HelloAuto && p.greets(from) {
		to.spec.Hello = runner.HelloRequired
	}
	p.gen, p.roll, p.givenUp = from, newRoll(from, to, p.now), nil
	p.roll.staying = staying
	p.event(report.Event{Kind: report.RollBegan, From: from.n, To: to.n})
	p.breaker.Changed()
	p.beginAnew()
	p.log.Info("rolling in a new generation", "generation", to.n)
	if trusted {
		p.proved("it is trusted")
	}
}

// beginAnew forgets the waits that failures have caused: what was mended is probed at once.
func (p *Pool) beginAnew() {
	p.births.Anew(p.now)
	p.breaker.Probe(p.now)
	p.exchanges.wake()
}

// greets reports whether children of a generation say hello.
func (p *Pool) greets(g *generation) bool {
	p.eachMember(func(m *member) { m.greeted() })
	return g.greets || g.spec.Hello == runner.HelloRequired
}

// greeted notes in its generation if the member has said hello.
func (m *member) greeted() {
	if m.child != nil && !m.gen.greets {
		m.gen.greets = m.child.Greeted()
	}
}

// surplus is how many children more than its slots the pool may have in the middle of a
// roll, twice: so many are starting, and so many old ones stay.
func (p *Pool) surplus() int { return surplus(len(p.slots)) }

func surplus(slots int) int { return max(1, slots/4) }

// tendRoll lets the next slots change.
func (p *Pool) tendRoll() {
	r := p.roll
	if r == nil || p.life.draining {
		return
	}
	if p.once() {
		p.tendFreshRoll()
		return
	}
	p.awaitProof()
	if r.over {
		return
	}
	changing := 0
	for _, s := range p.slots {
		if m := s.member; s.gen == r.to && m != nil && m.gen == r.to && m.fit() {
			r.changed[s] = struct{}{}
		}
		if _, done := r.changed[s]; s.gen == r.to && (!done || r.to.Standing == proof.Untried) {
			changing++
		}
	}
	limit := p.surplus()
	if r.to.Standing == proof.Untried {
		limit = 1
	}
	for s, rank := p.nextToChange(); s != nil; s, rank = p.nextToChange() {
		lost := rank == missing && r.to.Standing != proof.Untried // nothing to lose
		if !lost && (changing >= limit || p.extra() >= 2*p.surplus()) {
			if rank == idling && changing >= limit {
				p.overtake(s)
			}
			break
		}
		p.change(s)
		changing++
	}
	if changing == 0 && r.to.Standing != proof.Untried && !slices.ContainsFunc(p.slots, func(s *slot) bool { return s.gen != r.to }) {
		p.rolled()
	}
}

// extra is how many children there are beside the members of the slots because of the roll, but
// for those that still work. A slot that has changed may have a next one for reasons of its own.
func (p *Pool) extra() int {
	n := len(p.roll.staying)
	for _, s := range p.slots {
		if _, changed := p.roll.changed[s]; !changed && s.next != nil && s.next.gen == p.roll.to {
			n++
		}
	}
	for m := range p.leavers {
		if len(m.runs) == 0 {
			n++
		}
	}
	return n
}

// Ranks of slots in the order in which they change: what they lose by it, and how long
// that takes.
const (
	missing  = iota // its child is not there, or hangs before it has read its job
	idling          // its child has no job
	busy            // its child has one
	overrun         // and others have changed meanwhile
	waitless        // none is left
)

// nextToChange returns the slot that is to change next, and its rank; nil if none is left.
func (p *Pool) nextToChange() (next *slot, rank int) {
	rank = waitless
	var since time.Duration
	for _, s := range p.slots {
		if s.gen == p.roll.to || p.awaitsReplacement(s) {
			continue
		}
		n, at := p.rank(s)
		if next == nil || n < rank || n == rank && (s.gen.n < next.gen.n || s.gen == next.gen && at < since) {
			next, rank, since = s, n, at
		}
	}
	return next, rank
}

// replacementPatience is how long a slot that is to change waits for a replacement that was started before,
// because its member has hardly a job left to give: a new one would come too late.
const replacementPatience = 2 * time.Second

// awaitsReplacement reports whether a slot is to change only after its replacement has taken over.
func (p *Pool) awaitsReplacement(s *slot) bool {
	if s.member == nil || s.next == nil || s.next.gen != s.gen {
		return false
	}
	at := s.next.born + replacementPatience
	if at > p.now {
		p.alert(at)
	}
	return at > p.now
}

// rank is the rank of a slot that has not changed, and since when its member has its job.
func (p *Pool) rank(s *slot) (rank int, since time.Duration) {
	m := s.member
	switch {
	case m == nil, !m.fit(), m.hangs():
		return missing, 0
	case len(m.runs) == 0:
		return idling, 0
	}
	since = m.runs[0].began
	if _, passed := p.roll.passed[s]; passed {
		return overrun, since
	}
	return busy, since
}

// unreadLimit is how old a job must be that its child has not read for the child to hang.
const unreadLimit = time.Second

// hangs reports whether the member has a job that it does not read.
func (m *member) hangs() bool {
	if len(m.runs) == 0 {
		return false
	}
	a := m.runs[0]
	return a.run != nil && m.pool.now-a.began >= unreadLimit && !a.run.Begun()
}

// change makes a slot one of the new generation. Its member is due now.
func (p *Pool) change(s *slot) {
	m := s.member
	s.gen = p.roll.to
	p.births.Prefer(s)
	if s.next != nil {
		s.next.retire(whyGeneration)
	}
	switch {
	case m == nil:
	case !m.fit():
		m.retire(whyGeneration)
	case m.hangs():
		m.close()
		m.wentFor = report.LeftRoll
		m.child.Kill(runner.CauseProtocol) // its job goes back uncounted
	}
	p.alert(p.now)
}

// overtake lets a slot without a job change before one that has been waiting for the end
// of its job: that may take for ever. Who overtakes may have a job before its new child is there, and be overtaken in
// its turn; so that this does not go on for ever either, who was overtaken waits twice as long the next time. Nor is a job overtaken that
// has not taken twice as long as that before the slot had none: jobs of one length end together, and whose end is heard first proves nothing.
func (p *Pool) overtake(s *slot) {
	r := p.roll
	for _, w := range p.slots {
		m, next := w.member, w.next
		if w.gen != r.to || m == nil || m.gen == r.to || len(m.runs) == 0 {
			continue
		}
		if !p.cfg.Exclusive && (next == nil || !next.fit() || p.now-next.fitSince < max(p.boot, time.Second)<<min(r.passed[w], 10)) {
			continue
		}
		if at := m.runs[0].began + 2*s.member.length; at > p.now {
			p.alert(at)
			continue
		}
		r.passed[w]++
		if next != nil {
			next.retire(whyPassed)
		}
		w.gen = m.gen
		m.reopen()
		p.change(s)
		return
	}
}

// tendFreshRoll is tendRoll for children that live for one job: one slot starts them
// from the new generation until that is proven. It is the first that can take a job: others
// may have theirs for long.
func (p *Pool) tendFreshRoll() {
	r := p.roll
	p.awaitProof()
	if r.over {
		return
	}
	if r.to.Standing != proof.Untried {
		for _, s := range p.slots {
			s.gen = r.to
		}
		p.rolled()
		return
	}
	tries := func(s *slot) bool { return s.member != nil && s.member.gen == r.to }
	i := slices.IndexFunc(p.slots, tries)
	if i < 0 {
		i = slices.IndexFunc(p.slots, p.vacant)
	}
	for n, s := range p.slots {
		if n == i {
			s.gen = r.to
		} else if s.gen == r.to {
			s.gen = r.from
		}
	}
}

// rolled ends a roll that went well. One that is not proven yet may still be taken back.
func (p *Pool) rolled() {
	r := p.roll
	text := "new generation at work"
	if r.back {
		text = "old generation at work again"
	}
	p.log.Info(text, "generation", r.to.n)
	p.rollEnded(r, report.RollDone, "")
	p.gen, r.over = r.to, true
	p.dismissStaying(0)
	if r.to.Standing == proof.Proven {
		p.roll = nil
	}
}

// stay keeps a member whose slot has changed, idle; it reports whether it did.
func (p *Pool) stay(m *member) bool {
	r := p.roll
	if r == nil || r.back || p.cfg.Exclusive || m.gen == r.to || m.slot.gen != r.to || !m.fit() || m.spent() || m.gen.spec.Mode == runner.Preload && m.jobs > 0 {
		return false
	}
	m.slot.member = nil
	m.reopen()
	r.staying = append(r.staying, m)
	if r.to.Standing != proof.Untried {
		p.dismissStaying(p.surplus())
	}
	return true
}

// stayOn makes another fork of old code stay where one has had its job, before the new code
// is proven.
func (p *Pool) stayOn(last *member) {
	r := p.roll
	if p.cfg.Exclusive || last.gen.spec.Mode != runner.Preload || !last.hasRead || r.to.Standing != proof.Untried || p.life.draining {
		return
	}
	m := p.newMember(last.slot)
	m.gen = last.gen
	r.staying = append(r.staying, p.start(m))
}

// dismissStaying lets old members go that stayed, the oldest first, until so many are left.
func (p *Pool) dismissStaying(left int) {
	if p.roll == nil {
		return
	}
	for len(p.roll.staying) > left {
		p.roll.staying[0].retire(whyOver)
	}
}

// stayingIn returns the old member of a slot that stays; nil if there is none.
func (p *Pool) stayingIn(s *slot) *member {
	if p.roll == nil {
		return nil
	}
	if i := slices.IndexFunc(p.roll.staying, func(m *member) bool { return m.slot == s }); i >= 0 {
		return p.roll.staying[i]
	}
	return nil
}

// rollFailed hears of a bad sign: a child that died before it worked a job, or the like.
// During a roll to its generation, that ends it.
func (p *Pool) rollFailed(m *member, message string) {
	if r := p.roll; r != nil && !r.back && m.gen == r.to {
		p.takeBack(r, report.RollGivenUp, message)
	}
}

// abandon gives up a roll because somebody said so. The error says that there is none.
func (p *Pool) abandon() error {
	switch r := p.roll; {
	case r == nil, r.over:
		return errors.New("no roll is under way")
	case r.back:
		return errors.New("it was given up already: what it changed goes back")
	default:
		p.takeBack(r, report.RollAbandoned, "somebody asked for it")
	}
	return nil
}

// takeBack takes a roll back. The slots that it changed go to the old generation again.
func (p *Pool) takeBack(r *roll, result, message string) {
	text := "new generation given up, the old one stays"
	if p.cfg.Exclusive {
		text = "new generation given up: the old one stays where it is, and what it gave away starts what its command finds now"
	}
	if p.once() {
		text = "new generation given up: in mode once each job starts what its command finds now, so mend that"
	}
	p.log.Error(text, "generation", r.to.n, "message", message)
	p.rollEnded(r, result, message)
	p.gen, p.givenUp = r.from, &givenUp{r.to.n, message, p.now}
	p.restore(r)
	p.dismissStaying(0)
	p.roll = nil
	left, other := p.apart(r)
	if left > 0 {
		p.log.Warn("children of the new generation go on: the command would start the same again", "slots", left)
		r.to.Standing = proof.Proven // the breaker is to hear of them: there is nothing better
	}
	if other == nil {
		return
	}
	if r.to.Standing != proof.Proven { // it is worth nothing
		p.eachMember(func(m *member) {
			if m.gen == r.to {
				m.close()
			}
		})
	}
	p.roll = newRoll(other, r.from, p.now)
	p.roll.back, p.roll.to.Standing = true, proof.Proven
}

// apart looks at the slots that a roll which was given up leaves with another generation than
// the old one. It returns how many have the new one and would start the same again, and one
// generation, of that roll or of one before it, that is to go; nil if there is none.
func (p *Pool) apart(r *roll) (same int, other *generation) {
	for _, s := range p.slots {
		switch {
		case s.gen == r.from:
		case !reflect.DeepEqual(s.gen.source, r.from.source):
			other = s.gen
		case s.gen == r.to:
			same++
		}
	}
	return same, other
}

// restore gives slots that have changed back to the old generation: to the members that
// stayed, and where there is no child at all, to new ones. Children of the new generation
// that work without one behind them keep their slot.
func (p *Pool) restore(r *roll) {
	for _, s := range p.slots {
		if s.gen != r.to {
			continue
		}
		p.births.Forget(s)
		if s.next != nil && s.next.gen == r.to {
			s.next.retire(whyGivenUp)
		}
		m, old := s.member, p.stayingIn(s)
		switch {
		case p.once(), m == nil && old == nil:
		case m != nil && m.gen != r.to:
			m.reopen()
		case old == nil:
			if m.fit() {
				continue
			}
			m.retire(whyGivenUp)
		case m != nil && len(m.runs) > 0:
			r.staying = without(r.staying, old)
			s.next = old // takes over when the job has ended
		default:
			r.staying = without(r.staying, old)
			if m != nil {
				m.retire(whyGivenUp)
			}
			s.member = old
		}
		s.gen = r.from
	}
}
