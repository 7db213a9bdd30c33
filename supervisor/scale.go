package supervisor

import (
	"math"
	"time"

	"oarlock/supervisor/internal/lookout"
)

const (
	// scalePause is how often a pool with bounds looks whether it has too many children.
	scalePause = time.Second
	// scaleAge is how long jobs may be ready without a child for them before the pool
	// grows; where children take longer to start, it is that long.
	scaleAge = time.Second
	// scaleGoal is in what time a pool that grows wants to have worked off what waits. It
	// is less than scaleAge, because more will come meanwhile.
	scaleGoal = scaleAge / 2
	// idleLimit is how long a child may be idle in a pool above its lower bound, where
	// idle_timeout does not say.
	idleLimit = 30 * time.Second
)

// scaling grows and shrinks a pool between its bounds.
type scaling struct {
	at      time.Duration // when to look again whether a child is idle
	fresh   bool          // the view was not considered yet
	crowded bool          // there is no room, and the last take got all that it asked for
	since   time.Duration // when that began
	askAt   time.Duration // when somebody may be asked to look again before it is time
	length  time.Duration // of a job, as a moving average; 0: not known
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
		return
	}
	p.target = min(max(p.target, least), most)
	s := &p.scaling
	if !s.crowded && p.exchanges.hungry && p.target < most && p.room() <= len(p.waiting) {
		p.lookSoon()
	}
	if s.fresh {
		s.fresh = false
		if want := min(p.wanted(), most); want > p.target {
			p.target = want
			p.log.Info("pool grows", "children", p.target, "waiting", p.view.Ready)
		}
	}
	if p.now >= s.at {
		s.at = p.now + scalePause
		if p.target > least && p.idler() {
			p.target--
			p.log.Info("pool shrinks", "children", p.target)
		}
	}
	p.alert(s.at)
}

// lookSoon asks what waits, now that there is no room for it.
func (p *pool) lookSoon() {
	s := &p.scaling
	if p.now < s.askAt {
		p.alert(s.askAt)
		return
	}
	s.askAt = p.now + scaleAge/2
	s.crowded, s.since = true, p.now
	p.told.Store(nil) // that nothing waits is news as well
	p.soon()
}

// wanted is how many children the pool should have for what was just seen to wait:
// enough to work off a backlog soon, by how long jobs take here; and some more where
// there has been one for long, however short. Children that would be ready only when it
// is gone are not wanted, and those that are starting count.
func (p *pool) wanted() int {
	s := &p.scaling
	if p.life.quiet || p.breaker.Open || p.barren() || !s.crowded || p.view.Ready == 0 {
		return 0
	}
	busy, hands := 0, 0
	for _, slot := range p.slots {
		if m := slot.member; m != nil && m.fit() {
			hands++
			busy += min(len(m.runs), 1)
		}
	}
	patience := max(scaleAge, p.boot)
	work := float64(p.view.Ready) * p.lengthOfJobs().Seconds()
	if work > float64(hands)*patience.Seconds() {
		return busy + min(p.view.Ready, int(math.Ceil(work/scaleGoal.Seconds())))
	}
	if hands == len(p.slots) && p.now-s.since >= patience {
		return p.target + min(p.view.Ready, max(p.target/4, 1))
	}
	return 0
}

// lengthOfJobs is how long a job takes a child of the pool, by those that ended lately
// and those at work; scaleAge if there was none.
func (p *pool) lengthOfJobs() time.Duration {
	var sum, n time.Duration
	for _, slot := range p.slots {
		if m := slot.member; m != nil && len(m.runs) > 0 {
			sum += p.now - max(m.runs[0].began, m.endedAt)
			n++
		}
	}
	known := p.scaling.length
	if known == 0 {
		known = scaleAge
	}
	return max(known, sum/max(n, 1))
}

// lengthShare is the weight of one more job in the average of their lengths.
const lengthShare = 8

// lasted hears how long a child was at work on a job.
func (s *scaling) lasted(length time.Duration) {
	if s.length == 0 {
		s.length = length
		return
	}
	s.length += (length - s.length) / lengthShare
}

// short hears that there was less to take than there was room.
func (s *scaling) short() { s.crowded = false }

// saw hears what there is to take now. Where there is no room, no take would find out
// that there is nothing.
func (p *pool) saw(v lookout.View) {
	s := &p.scaling
	if v.Ready > 0 {
		s.fresh = true
	} else if s.crowded {
		s.crowded = false
		p.exchanges.nothing(v.At)
	}
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
