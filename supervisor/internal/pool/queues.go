package pool

import (
	"slices"
	"time"

	"oarlock/queue"
	"oarlock/supervisor/internal/lookout"
)

// serve sets the queues that the pool takes from. It belongs to the loop.
func (p *Pool) serve(queues []string) {
	if slices.Equal(queues, p.queues) {
		return
	}
	p.queues = queues // calls that are out keep the slice before
	p.menu.Serve(queues, p.cfg.Order)
	p.exchanges.wake()
	p.named.Store(&queues)
}

// Found hears what the pool's globs stand for. Safe for concurrent use.
func (p *Pool) Found(queues []string) { p.post(func() { p.serve(queues) }) }

// Patterns are the names and globs that the pool is configured for. Safe for
// concurrent use.
func (p *Pool) Patterns() []string { return *p.asked.Load() }

// globs reports whether there are globs among them. Safe for concurrent use.
func (p *Pool) globs() bool { return slices.ContainsFunc(p.Patterns(), queue.IsGlob) }

// Idle reports whether the pool has a child for another job. Safe for concurrent use.
func (p *Pool) Idle() bool { return p.idle.Load() }

// Serving lists the queues that the pool takes from. Safe for concurrent use.
func (p *Pool) Serving() []string {
	if names := p.named.Load(); names != nil {
		return *names
	}
	return nil
}

// Tell passes on what there is in the pool's queues, and when the next job is due. It
// does not wake the pool if that changes nothing. Safe for concurrent use.
func (p *Pool) Tell(v lookout.View, due time.Duration) {
	last := p.told.Swap(&v)
	if last != nil && (queue.Duration(v.Now-last.Now)-(v.At-last.At)).Abs() > clockJump {
		p.post(p.clockJumped)
	}
	if v.Ready == 0 && due == never && last != nil && last.Ready == 0 && slices.Equal(v.Damaged, last.Damaged) && v.Abstains == last.Abstains {
		return
	}
	p.post(func() {
		p.view = v
		p.saw(v)
		p.menu.See(v.Queues, v.Now)
		if v.Ready > 0 {
			p.exchanges.wake()
		}
		p.exchanges.wakeAt(due)
	})
}
