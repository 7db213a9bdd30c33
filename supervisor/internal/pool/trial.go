package pool

import (
	"time"

	"oarlock/supervisor/internal/proof"
	"oarlock/supervisor/outcome"
)

// trialPatience is how long new code must be there to be believed where no job ends well or badly.
const trialPatience = time.Minute

// tried hears how an attempt on trial ended, and decides if that is enough.
func (p *Pool) tried(a *attempt, b outcome.Bearing) {
	g := a.member.gen
	if p.roll == nil || p.roll.to != g {
		return // it was given up
	}
	switch verdict, why := g.Ended(a.job.JID, b, &p.past); verdict {
	case outcome.Good:
		p.proved(why)
	case outcome.Bad:
		p.rollFailed(a.member, why)
	}
}

// proved believes in the new generation from now on.
func (p *Pool) proved(why string) {
	r := p.roll
	p.log.Debug("new generation proven", "generation", r.to.n, "why", why)
	r.to.Standing, r.followAt, p.gen = proof.Proven, p.now, r.to
	r.mends = p.breaker.Open
	p.dismissStaying(p.surplus())
	if r.over {
		p.roll = nil
	}
}

// awaitProof lets a new generation go on of which no job has told anything for long enough:
// because none came, or each was canceled, or the children decided otherwise on purpose.
func (p *Pool) awaitProof() {
	g := p.roll.to
	if _, bad := g.Endings(); g.Standing != proof.Untried || bad > 0 || g.fitAt == 0 {
		return
	}
	if at := g.fitAt + trialPatience; at > p.now {
		p.alert(at)
		return
	}
	there := p.once() // where children come with their jobs, none has to be there now
	for _, s := range p.slots {
		if m := s.member; m != nil && m.gen == g {
			if len(m.runs) > 0 {
				return // it may tell
			}
			there = there || m.fit()
		}
	}
	if !there {
		return
	}
	p.log.Info("no job has come to prove the new generation: it goes on, the old one is kept in mind until one is acknowledged", "generation", g.n)
	g.Standing, p.roll.followAt, p.gen = proof.Waited, p.now, g
	p.dismissStaying(p.surplus())
}

// wary reports whether an attempt is for old code: its job ended badly on what is on trial,
// or, with one child, whatever came before did.
func (p *Pool) wary(a *attempt) bool {
	r := p.roll
	if r == nil || !r.to.OnTrial() {
		return false
	}
	return r.to.Forgave(a.job.JID) || r.to.OldNext && len(p.slots) == 1
}
