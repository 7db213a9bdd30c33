package supervisor

import (
	"oarlock/runner"
)

// roll is a change of generation under way. The first child of the new generation
// proves that it starts and says hello before it takes over a slot; then the slots
// change one by one, each as soon as its new child is ready. The first bad sign ends
// it, and the old generation takes back what it had given away.
type roll struct {
	from, to *generation
	proven   bool // a child of the new generation has worked a job
}

// turnOver begins to replace all children by those of a new generation. A roll that
// is still under way is overtaken.
func (p *pool) turnOver(spec runner.Spec) {
	to := newGeneration(p.gen.n+1, spec, p.worker)
	from := p.gen
	if p.roll != nil {
		from, to.n = p.roll.from, p.roll.to.n+1
	}
	p.roll = &roll{from: from, to: to}
	p.breaker.changed()
	p.log.Info("rolling in a new generation", "generation", to.n)
}

// tendRoll lets the next slot change when the one before has done so.
func (p *pool) tendRoll() {
	r := p.roll
	if r == nil || p.life.draining {
		return
	}
	if p.once() {
		p.tendFreshRoll()
		return
	}
	if len(p.leavers) > 0 {
		return // the last one replaced is not gone yet
	}
	p.gen = r.to // of children that are missing anyhow
	for _, s := range p.slots {
		if s.gen != r.to {
			s.gen = r.to // its member is due now
			p.alert(p.now)
			return
		}
		if s.member == nil || s.member.gen != r.to || !s.member.ready {
			return // it has not changed yet
		}
	}
	p.rolled()
}

// tendFreshRoll is tendRoll for children that live for one job: one slot starts them
// from the new generation until one of them has worked its job.
func (p *pool) tendFreshRoll() {
	if len(p.slots) > 0 {
		p.slots[0].gen = p.roll.to
	}
	if p.roll.proven || len(p.slots) == 0 {
		for _, s := range p.slots {
			s.gen = p.roll.to
		}
		p.rolled()
	}
}

// rolled ends a roll that went well.
func (p *pool) rolled() {
	p.log.Info("new generation at work", "generation", p.roll.to.n)
	p.gen, p.roll = p.roll.to, nil
}

// rollFailed hears that a child died before it worked a job. During a roll that is
// the bad sign.
func (p *pool) rollFailed(m *member, message string) {
	r := p.roll
	if r == nil || m.gen != r.to {
		return
	}
	p.log.Error("new generation given up, the old one stays", "generation", r.to.n, "message", message)
	p.gen, p.roll = r.from, nil
	for _, s := range p.slots {
		s.gen = r.from
		if s.heir != nil && s.heir.gen == r.to {
			p.retire(s.heir, "its generation was given up")
		}
	}
}
