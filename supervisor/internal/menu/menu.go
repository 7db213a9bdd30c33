// Package menu is what the takes of a pool choose from: its queues, in the order in which they are
// served. It owns what is known of what there is in them. It asks nobody, and knows of Redis only
// what it is told of a look or a take.
package menu

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"oarlock/queue"
)

// fewQueues is how many queues a take is handed at most, for it costs what it looks at. A
// pool that has no more hands all of them to every take.
const fewQueues = 32

// Menu is what the takes of a pool choose from: its queues in the order in which they are
// served, as far as the lookout, and the takes since, told what there is in them. It
// belongs to the loop. The zero value serves no queue.
type Menu struct {
	order  queue.Order
	places map[string]int // of the pool's queues, in its configured order
	line   []*offer       // where there are few queues, all; else those seen to have jobs
	byName map[string]*offer
	turn   int // of round-robin: the place from which the next take goes on
}

// offer is a queue of a menu.
type offer struct {
	name  string
	place int
	head  float64 // not before this its next job was put, as far as is known; 0 if nothing is
	none  bool    // there was nothing to take when we last looked
}

// Seen is a queue in which the lookout saw jobs.
type Seen struct {
	Name string
	Head float64 // when the next was put; 0 if that is not known
}

func (m *Menu) few() bool { return len(m.places) <= fewQueues }

// Serve sets what the pool's queues are, and by which order they are served.
func (m *Menu) Serve(queues []string, order queue.Order) {
	old := m.line
	m.order, m.places = order, make(map[string]int, len(queues))
	for i, name := range queues {
		m.places[name] = i
	}
	m.clear()
	for _, o := range old {
		if m.add(o.name, o.head); m.byName[o.name] != nil {
			m.byName[o.name].none = o.none
		}
	}
	m.fillUp(0)
	m.sort()
}

// See sets what there is to take, as the lookout saw it at a time on Redis' clock.
func (m *Menu) See(seen []Seen, at float64) {
	m.clear()
	for _, q := range seen {
		m.add(q.Name, q.Head)
	}
	m.fillUp(at)
	m.sort()
}

// Serves reports whether a queue is one of the pool's.
func (m *Menu) Serves(name string) bool {
	_, ours := m.places[name]
	return ours
}

// Came hears that something came into queues, at a time on Redis' clock.
func (m *Menu) Came(queues map[string]struct{}, now float64) {
	for name := range queues {
		if o := m.byName[name]; o == nil {
			m.add(name, now)
		} else if o.none {
			o.none, o.head = false, now
		}
	}
	m.sort()
}

// Left hears that a job has left a queue, where there may be room for another now.
func (m *Menu) Left(name string) {
	if o := m.byName[name]; o != nil {
		o.none = false
	}
}

// Hand returns the queues for the next take, and what is known of their heads.
func (m *Menu) Hand() (queues []string, heads []float64) {
	start := 0
	switch {
	case m.order == queue.Shuffled && !m.few() && len(m.line) > 0:
		start = rand.IntN(len(m.line)) // the take draws among those that it is handed
	case m.order == queue.RoundRobin:
		start = max(0, slices.IndexFunc(m.line, func(o *offer) bool { return o.place >= m.turn }))
	}
	queues = make([]string, 0, min(len(m.line), fewQueues))
	for i := range m.line {
		o := m.line[(start+i)%len(m.line)]
		if o.none {
			continue
		}
		queues = append(queues, o.name)
		if m.order == queue.Oldest {
			heads = append(heads, o.head)
		}
		if len(queues) == fewQueues {
			break
		}
	}
	return queues, heads
}

// Heard hears what came of a take, and reports whether there may be more to take at once.
func (m *Menu) Heard(take queue.Take, reply *queue.Reply) bool {
	for _, left := range reply.Left {
		m.leave(left.Queue, left.Head, reply.Now)
	}
	all := len(reply.Jobs) >= take.Count
	if n := len(reply.Jobs); n > 0 && m.order == queue.RoundRobin {
		m.turn = m.places[reply.Jobs[n-1].Queue] + 1
	}
	if !all && !reply.More {
		for _, name := range take.Queues {
			m.leave(name, 0, reply.Now)
		}
	}
	if m.order == queue.Oldest {
		m.sort()
	}
	return all || reply.More || !m.few() && slices.ContainsFunc(m.line, func(o *offer) bool { return !o.none })
}

// leave notes what a take left of a queue: when its next job was put, or 0.
func (m *Menu) leave(name string, head, now float64) {
	o := m.byName[name]
	switch {
	case o == nil:
	case head > 0:
		o.head = head
	case m.few():
		o.head = now // what is not there yet is put later
	default:
		o.none = true
	}
}

// Empty reports whether there is no queue to take from.
func (m *Menu) Empty() bool {
	return !slices.ContainsFunc(m.line, func(o *offer) bool { return !o.none })
}

func (m *Menu) clear() { m.line, m.byName = nil, map[string]*offer{} }

func (m *Menu) add(name string, head float64) {
	place, ours := m.places[name]
	if !ours || m.byName[name] != nil {
		return
	}
	o := &offer{name: name, place: place, head: head}
	m.line = append(m.line, o)
	m.byName[name] = o
}

// fillUp adds the queues that are not on a menu of few, of which no job was put before a time.
func (m *Menu) fillUp(head float64) {
	if m.few() {
		for name := range m.places {
			m.add(name, head)
		}
	}
}

func (m *Menu) sort() {
	slices.SortFunc(m.line, func(a, b *offer) int {
		if m.order == queue.Oldest && a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return cmp.Compare(a.place, b.place)
	})
}
