package pool

import (
	"time"

	"oarlock/queue"
	"oarlock/supervisor/internal/gate"
	"oarlock/supervisor/internal/lookout"
	"oarlock/supervisor/internal/menu"
	"oarlock/supervisor/report"
)

// A pool of a list works it as others work queues: the list is the one queue on its menu, and what it
// does not know of queues its store does not ask for.

// looked is what was seen of the pool's list.
type looked struct {
	queue.ListCounts
	putBack int // by the monitor, so far
}

// returned counts the entries of a list that its pool puts back for how their attempts ended.
type returned struct{ retried, crashed int }

// settled hears what becomes of a job.
func (r *returned) settled(job *queue.Taken, s *queue.Settlement) {
	switch {
	case s.Action == queue.Requeue, s.Action == queue.Retry && job.Remaining > 0:
		r.retried++
	case s.Action == queue.Release && s.Counter == queue.CountCrash && job.Crashes < s.MaxCrashes:
		r.crashed++
	}
}

// serveList makes the pool work a list in place of queues.
func (p *Pool) serveList(l queue.List) {
	p.list = p.Redis.ListSession(p.worker, l)
	p.store = p.list
	p.queues = []string{l.Name}
	p.menu.Serve(p.queues, queue.Ordered)
}

// List is the list that the pool works; nil if it works queues. Safe for concurrent use.
func (p *Pool) List() *queue.List { return p.listed }

// Looked hears what there is in the pool's list, and how many of its entries were just put back because they
// were abandoned. at is when that was asked. Safe for concurrent use.
func (p *Pool) Looked(counts queue.ListCounts, putBack int, at time.Duration) {
	last := p.looked.Load()
	now := looked{counts, putBack}
	if last != nil {
		now.putBack += last.putBack
	}
	p.looked.Store(&now)
	v := lookout.View{At: at, Now: p.Redis.Now(), Ready: counts.Waiting, Queues: []menu.Seen{{Name: p.listed.Name}}}
	if counts.Damage != "" {
		v.Damaged = []string{p.listed.Name + ": " + counts.Damage}
	}
	p.Tell(v, never)
	p.post(func() {
		if !p.listening {
			p.exchanges.wake() // the take that finds nothing listens
		}
	})
}

// listen waits beside the loop until something comes into the list, when a take has not found as much as it wanted.
func (p *Pool) listen() {
	if p.list == nil || p.listening || p.life.draining {
		return
	}
	p.listening = true
	go func() { // reports to the loop; it ends with the store, or p.ctx
		err := p.list.Await(p.ctx)
		p.post(func() { p.arrived(err) })
	}()
}

// arrived hears that something came into the list, or why nobody can tell; then a look will.
func (p *Pool) arrived(err error) {
	p.listening = false
	if err == nil {
		p.exchanges.woken(p.now)
		return
	}
	if !p.life.draining && p.Gate.SortHarmless(err) == gate.Refused {
		p.log.Error("cannot wait for entries of a list: it is looked at now and then", "list", p.queues[0], "err", err)
	}
}

// listSnapshot describes the pool's list; nil if it has none.
func (p *Pool) listSnapshot() *report.ListSnapshot {
	if p.list == nil {
		return nil
	}
	s := &report.ListSnapshot{Name: p.queues[0], Unseen: true, Retried: p.entries.retried, Crashed: p.entries.crashed}
	if seen := p.looked.Load(); seen != nil {
		s.ListCounts, s.PutBack, s.Unseen = seen.ListCounts, seen.putBack, false
	}
	return s
}
