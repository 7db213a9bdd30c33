package supervisor

import "time"

const (
	// scalePause is how often a pool with bounds looks whether it has the right size.
	scalePause = time.Second
	// scaleAge is how old the oldest waiting job must be for the pool to grow.
	scaleAge = time.Second
	// idleLimit is how long a child may be idle in a pool above its lower bound, where
	// idle_timeout does not say.
	idleLimit = 30 * time.Second
)

// scaling grows and shrinks a pool between its bounds.
type scaling struct {
	at time.Duration // when to look again
}

// scale looks whether the pool has the right number of slots. A slot of mode once
// costs nothing without a job, so such a pool always has all it may have.
func (p *pool) scale() {
	least, most := p.cfg.bounds()
	if p.cfg.MaxChildren == 0 || p.life.draining {
		return
	}
	if p.once() {
		p.target = most
		p.resize()
		return
	}
	p.target = min(max(p.target, least), most)
	p.resize()
	s := &p.scaling
	if p.now < s.at {
		p.alert(s.at)
		return
	}
	s.at = p.now + scalePause
	p.alert(s.at)
	switch {
	case p.target < most && p.crowded():
		p.target = min(p.target+max(p.target/4, 1), most)
		p.log.Info("pool grows", "children", p.target, "oldest", p.view.oldest.Seconds())
	case p.target > least && p.idler():
		p.target--
		p.log.Info("pool shrinks", "children", p.target)
	}
	p.resize()
}

// crowded reports whether jobs wait for want of children. Children that are still
// starting are waited for, and where there is none at all a single job is enough.
func (p *pool) crowded() bool {
	if p.life.quiet || p.breaker.reason != "" || p.room() > 0 || p.view.ready == 0 {
		return false
	}
	for _, s := range p.slots {
		if s.member == nil || !s.member.ready {
			return false
		}
	}
	return p.view.oldest >= scaleAge || p.target == 0
}

// idler reports whether a child has been idle for too long.
func (p *pool) idler() bool {
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
