package queue

import "math"

// Jobs of one score are popped by their jids, the greatest first. NewJID sees to it that those that are named by us come in their order; those
// that the caller names get places of their own, as far as the numbers of the protocol tell them apart.

// MostOrdered is the greatest priority, either way, up to which jobs of one PutAll whose jids the caller names keep their order.
const MostOrdered = 100

// mostSpread is by how many seconds a job may come later for the order of one PutAll. More jobs keep no order.
const mostSpread = 10

// putLine gives the jobs of one PutAll their places, one behind the other.
type putLine struct {
	own  bool    // one of them has a jid of the caller's
	last float64 // by when the place of the last one is reckoned
	sum  float64 // by how much the last one is later than what it is planned for
}

// spread says of each put by how much later than now its place is reckoned.
func (l *putLine) spread(puts []Put, now float64) {
	if !l.own {
		return
	}
	for i := range puts {
		p := &puts[i]
		priority := 0.0
		if p.Priority != nil {
			priority = math.Abs(*p.Priority)
		}
		if priority > MostOrdered {
			continue
		}
		step := placeStep(priority)
		l.last, l.sum = max(now, l.last+step), l.sum+step
		if p.after = min(l.last-now, mostSpread); !p.At.IsZero() { // which is the same moment in all calls
			p.after = min(l.sum, mostSpread)
		}
	}
}

// placeStep is how many seconds two places of a priority differ at least: a microsecond, or what a float64 tells apart there. A place is the
// priority less the ten thousand millionth part of the time.
func placeStep(priority float64) float64 {
	size := priority + 1
	return max(1e-6, 1.5e10*(math.Nextafter(size, math.Inf(1))-size))
}
