package pool

import (
	"time"

	"oarlock/runner"
)

// Auto, as the Prefetch of a pool, stands for as many jobs as its short jobs make worth while.
const Auto = -1

const (
	// aheadWork is how much work waits behind a job at most: by no more are priorities and the turns of queues late.
	aheadWork = 2 * time.Millisecond
	// aheadMost is how many jobs wait behind one at most.
	aheadMost = 64
	// aheadTrips is of how many calls to Redis a job must not take as long, for some to wait behind it: else the child
	// loses little by asking.
	aheadTrips = 4
	// silence is how long a child may be at a job that others wait behind: it is none of the short ones.
	silence = 10 * aheadWork
)

// ahead is how many jobs of such a length are worth being kept ready for a child at work, where a call takes so long; 0 for
// the length: not known.
func ahead(length, roundTrip time.Duration) int {
	if length <= 0 || length >= aheadTrips*roundTrip {
		return 0
	}
	return min(int(aheadWork/length), aheadMost)
}

// prefetches reports whether attempts may wait behind others at their children.
func (p *Pool) prefetches() bool { return p.cfg.Prefetch != 0 }

// prefetch is how many attempts may wait behind another at a child: none while the breaker
// is open, for the child would begin them without asking.
func (p *Pool) prefetch() int {
	switch {
	case p.breaker.Open:
		return 0
	case p.cfg.Prefetch != Auto:
		return p.cfg.Prefetch
	case p.cfg.Batch > 1, p.gen.spec.Mode != runner.Reuse:
		return 0
	}
	took, _, known := p.exchanges.pace.RoundTrip()
	if !known {
		return 0
	}
	return ahead(p.scaling.Length(), took)
}

// silent reports whether a member has been at its job for so long that nothing is to wait behind it, and else
// sees to it that somebody asks again, if something does.
func (m *member) silent() bool {
	p := m.pool
	if p.cfg.Prefetch != Auto || len(m.runs) == 0 {
		return false
	}
	at := m.sinceOf(m.runs[0]) + silence
	if at > p.now && len(m.runs) > 1 {
		p.alert(at)
	}
	return at <= p.now
}

// giveBackAhead gives back to Redis what was taken ahead and has found no child for a while: somebody else may have one.
func (p *Pool) giveBackAhead() {
	if p.cfg.Prefetch != Auto {
		return
	}
	left := p.waiting[:0]
	for _, a := range p.waiting {
		if at := a.came + silence; at > p.now {
			p.alert(at)
			left = append(left, a)
			continue
		}
		if p.wary(a) { // old code will have it
			left = append(left, a)
			continue
		}
		p.giveBack(a, 0)
	}
	clear(p.waiting[len(left):])
	p.waiting = left
}
