package supervisor

import (
	"slices"
	"sync"

	"oarlock/queue"
)

// wakes are the queues into which something came since a pool's loop last took them. They
// are told all together, for thousands may come at once. The zero value is ready. Safe for
// concurrent use.
type wakes struct {
	mu     sync.Mutex
	queues map[string]struct{}
}

// add notes a queue, and reports whether it is the first that the loop has to be told of.
func (w *wakes) add(queue string) (first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if first = len(w.queues) == 0; first {
		w.queues = map[string]struct{}{}
	}
	w.queues[queue] = struct{}{}
	return first
}

// take returns all of them, and begins anew.
func (w *wakes) take() map[string]struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	queues := w.queues
	w.queues = nil
	return queues
}

// Put hears that something was put into a queue. Safe for concurrent use.
func (p *pool) Put(name string) {
	ours := p.globs() && queue.MatchAny(p.Patterns(), name) || slices.Contains(p.Serving(), name)
	if ours && p.wakes.add(name) {
		p.post(p.wake)
	}
}

// wake looks into the queues of which the pool was woken.
func (p *pool) wake() {
	queues := p.wakes.take()
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
	p.menu.Came(queues, p.redis.Now())
	p.exchanges.woken(p.now)
}
