package pool

import (
	"time"

	"oarlock/queue"
	"oarlock/runner"
)

// Auto, as the Prefetch of a pool, stands for as many jobs as its short jobs make worth while.
const Auto = -1

const (
	// aheadWork is how much work waits behind a job at most: by no more are priorities and the turns of queues late.
	aheadWork = 2 * time.Millisecond
	// aheadMost is how many jobs wait behind one at most, and aheadAll how many wait behind those of all children: what these end, and Redis is
	// not told of yet, runs again if the supervisor is killed. That is enough for five calls of the size that pays (pace.Batch): one on its
	// way, one that gathers, and what children have before them. Where there are as many children, calls are of that size by themselves.
	aheadMost = 16
	aheadAll  = 160
	// aheadTrips is of how many calls to Redis a job must not take as long, for some to wait behind it: else the child
	// loses little by asking.
	aheadTrips = 4
	// aheadBytes is how much data waits behind one, by what jobs had of it lately: a child more must not cost memory.
	aheadBytes = 64 << 10
	// silence is how long a child may be at a job that others wait behind: it is none of the short ones.
	silence = 10 * aheadWork
)

// ahead is how many jobs of such a length and size are worth being kept ready for each of so many children at work, where a
// call takes so long; 0 for the length: not known.
func ahead(length, roundTrip time.Duration, size, children int) int {
	if length <= 0 || length >= aheadTrips*roundTrip {
		return 0
	}
	return min(int(aheadWork/length), aheadMost, aheadAll/max(children, 1), aheadBytes/max(size, 1))
}

// prefetches reports whether attempts may wait behind others at their children.
func (p *Pool) prefetches() bool { return p.cfg.Prefetch > 0 || p.auto() }

// auto reports whether the pool finds out by itself how many wait. No more entries of a list are in work than there are
// children, for programs of others look at those.
func (p *Pool) auto() bool {
	return p.cfg.Prefetch == Auto && p.cfg.Batch <= 1 && p.list == nil && p.gen.spec.Mode == runner.Reuse
}

// prefetch is how many attempts may wait behind another at a child: none while the breaker
// is open, for the child would begin them without asking.
func (p *Pool) prefetch() int {
	switch {
	case p.breaker.Open:
		return 0
	case p.cfg.Prefetch != Auto:
		return p.cfg.Prefetch
	case !p.auto(), p.now < p.thrifty:
		return 0
	}
	took, _, known := p.exchanges.pace.RoundTrip()
	if !known {
		return 0
	}
	return ahead(p.scaling.Length(), took, p.size, len(p.slots))
}

// learn notes what a job that was taken says of how many are worth being kept ready.
func (p *Pool) learn(t *queue.Taken) {
	if t.Places != "" {
		p.thrifty = p.now + thrift
	}
	if p.size == 0 {
		p.size = len(t.Data)
		return
	}
	p.size += (len(t.Data) - p.size) / sizeShare
}

const (
	// sizeShare is the weight of one more job in the average of their sizes.
	sizeShare = 8
	// thrift is how long nothing is kept ready after a job that takes places of throttles: what waits would hold places
	// that others could have.
	thrift = time.Second
)

// silent reports whether a member has been at its job for so long that nothing is to wait behind it, and else
// sees to it that somebody asks again, if something does.
func (m *member) silent() bool {
	p := m.pool
	if !p.auto() || len(m.runs) == 0 {
		return false
	}
	at := m.runs[0].began + silence
	if at > p.now && len(m.runs) > 1 {
		p.alert(at)
	}
	return at <= p.now
}

// giveBackAhead gives back to Redis what was taken ahead and has had no child for a while: somebody else may have one.
// As many as there are slots without a job stay: their children come, as those of other pools do.
func (p *Pool) giveBackAhead() {
	if !p.auto() {
		return
	}
	stay := 0
	for _, s := range p.slots {
		if s.member == nil || len(s.member.runs) == 0 {
			stay++
		}
	}
	left := p.waiting[:0]
	for i, a := range p.waiting {
		if i < stay || p.wary(a) { // the wary: old code will have it
			left = append(left, a)
			continue
		}
		if at := a.lease.Granted + silence; at > p.now {
			p.alert(at)
			left = append(left, a)
			continue
		}
		p.giveBack(a, 0)
	}
	clear(p.waiting[len(left):])
	p.waiting = left
}
