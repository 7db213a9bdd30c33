package pool

import (
	"time"

	"oarlock/supervisor/internal/lookout"
	"oarlock/supervisor/internal/scale"
	"oarlock/supervisor/report"
)

// idleLimit is how long a child may be idle in a pool above its lower bound, where
// idle_timeout does not say.
const idleLimit = 30 * time.Second

// scale looks whether the pool has the right number of slots. A slot of mode once
// costs nothing without a job, so such a pool always has all it may have.
func (p *Pool) scale() {
	least, most := p.cfg.bounds()
	if p.cfg.MaxChildren == 0 || p.life.draining {
		return
	}
	if p.once() {
		p.target = most
		return
	}
	p.target = min(max(p.target, least), most)
	if !p.scaling.Crowded() && p.exchanges.hungry && p.target < most && p.room() <= len(p.waiting) {
		p.lookSoon()
	}
	if p.scaling.News() {
		if want := min(p.wanted(), most); want > p.target {
			p.scaled(want, report.ScaledUp)
			p.log.Info("pool grows", "children", p.target, "waiting", p.view.Ready)
		}
	}
	if p.now >= p.idleAt {
		p.idleAt = p.now + scale.Pause
		if p.target > least && p.idler() {
			p.scaled(p.target-1, report.ScaledDown)
			p.log.Info("pool shrinks", "children", p.target)
		}
	}
	p.alert(p.idleAt)
}

// scaled gives the pool another number of children from now on, and tells the observer why.
func (p *Pool) scaled(to int, why string) {
	if to != p.target {
		p.event(report.Event{Kind: report.Scaled, From: p.target, To: to, Reason: why})
	}
	p.target = to
}

// lookSoon asks what waits, now that there is no room for it.
func (p *Pool) lookSoon() {
	if look, at := p.scaling.Full(p.now); !look {
		p.alert(at)
		return
	}
	p.told.Store(nil) // that nothing waits is news as well
	p.Soon()
}

// wanted is how many children the pool should have for what was just seen to wait.
func (p *Pool) wanted() int {
	if p.takesNothing() || p.breaker.Open || p.barren() {
		return 0
	}
	l := scale.Load{Now: p.now, Boot: p.boot, Ready: p.view.Ready, Slots: len(p.slots), Target: p.target}
	for _, s := range p.slots {
		m := s.member
		if m == nil {
			continue
		}
		if m.fit() {
			l.Hands++
		}
		if len(m.runs) > 0 {
			l.Busy++
			l.AtWork += p.now - m.runs[0].began
		}
	}
	return p.scaling.Wanted(l)
}

// saw hears what there is to take now.
func (p *Pool) saw(v lookout.View) {
	if p.scaling.Saw(v.Ready) {
		p.exchanges.nothing(v.At)
	}
}

// idler reports whether a child has been idle for too long.
func (p *Pool) idler() bool {
	limit := p.cfg.IdleTimeout
	if limit == 0 {
		limit = idleLimit
	}
	for _, s := range p.slots {
		if s.member != nil && s.member.idleFor(p.now) >= limit {
			return true
		}
	}
	return false
}
