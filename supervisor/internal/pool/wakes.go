package pool

import (
	"slices"

	"oarlock/queue"
)

// Put hears that something was put into a queue. Safe for concurrent use.
func (p *Pool) Put(name string) {
	ours := p.globs() && queue.MatchAny(p.Patterns(), name) || slices.Contains(p.Serving(), name)
	if ours && p.wakes.Add(name) {
		p.post(p.wake)
	}
}

// wake looks into the queues of which the pool was woken.
func (p *Pool) wake() {
	queues := p.wakes.Take()
	var unknown []string // and of one of our globs
	for name := range queues {
		if !p.menu.Serves(name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		p.serve(append(slices.Clone(p.queues), unknown...))
	}
	p.menu.Came(queues, p.Redis.Now())
	p.exchanges.woken(p.now)
}
