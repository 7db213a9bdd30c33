package pool

import (
	"errors"
	"slices"

	"oarlock/protocol"
	"oarlock/runner"
	"oarlock/supervisor/outcome"
)

// company is a message of several attempts, which say as one what its ending tells of the pool.
type company struct {
	of      int             // how many it had
	open    int             // how many of them have not ended
	bearing outcome.Bearing // the best of those that have
}

// heard hears what the ending of one attempt tells, and reports whether that is to be judged: of a
// message of several the last is, for the best of all. A nil company is an attempt by itself.
func (c *company) heard(b *outcome.Bearing) bool {
	if c == nil {
		return true
	}
	c.open--
	if c.bearing == outcome.NoBearing || *b != outcome.NoBearing && *b < c.bearing {
		c.bearing = *b
	}
	*b = c.bearing
	return c.open == 0
}

// handOutBatches is handOut where a child is given several attempts in one message. Each goes with those
// that wait for the same, the oldest first.
func (p *Pool) handOutBatches() {
	for i := 0; i < len(p.waiting); {
		a := p.waiting[i]
		if !p.mayBegin() {
			return
		}
		if p.renewsFirst(a) {
			p.renewals.now()
			i++
			continue
		}
		m := p.vacancy(a)
		if m == nil {
			if !p.wary(a) {
				return
			}
			i++ // others need not wait for old code
			continue
		}
		together, full := p.together(i, m.room(p.prefetch()))
		if until := a.came + p.cfg.BatchWait; !full && p.now < until {
			p.alert(until)
			i++
			continue
		}
		if p.giveTogether(m, together) {
			p.waiting = slices.DeleteFunc(p.waiting, func(b *attempt) bool { return b.stage != waiting })
		}
	}
}

// together returns the attempts that may go in one message with the one that waits at i, itself first, and
// whether no more would fit.
func (p *Pool) together(i, room int) (list []*attempt, full bool) {
	first := p.waiting[i]
	limit := min(room, first.alongside(p.cfg.Batch))
	list, bytes := []*attempt{first}, first.job.Size
	wary := p.wary(first)
	for _, a := range p.waiting[i+1:] {
		if len(list) >= limit {
			break
		}
		switch {
		case a.job.Klass != first.job.Klass, p.wary(a) != wary, p.renewsFirst(a):
			continue
		case bytes+a.job.Size > protocol.MaxBatchBytes:
			return list, true
		case a.alongside(p.cfg.Batch) <= len(list):
			continue
		}
		limit = min(limit, a.alongside(p.cfg.Batch))
		list, bytes = append(list, a), bytes+a.job.Size
	}
	return list, len(list) >= limit
}

// alongside is of how many jobs at most the attempt's message may be, itself included. A suspect is alone.
func (a *attempt) alongside(most int) int {
	switch {
	case a.job.Suspect():
		return 1
	case a.job.Batch > 0:
		return min(a.job.Batch, most)
	}
	return most
}

// giveTogether gives attempts to a child in one message, and reports whether something became of any of them.
func (p *Pool) giveTogether(m *member, list []*attempt) bool {
	var err error
	if m.child.Batches() {
		err = m.takeTogether(list)
	} else {
		list = list[:1]
		list[0].wire.Lease = list[0].lease.End() - p.now
		err = m.take(list[0])
	}
	switch {
	case err == nil:
		if p.roll != nil && m.gen != p.roll.to {
			p.roll.to.OldNext = false
		}
		return true
	case errors.Is(err, runner.ErrPayload):
		p.sortOut(list, err)
		return true
	}
	for _, a := range list {
		p.advance(a, waiting)
		a.member, a.company = nil, nil
	}
	m.close() // it is about to exit
	return false
}

// sortOut ends those of some attempts that no child can be given, and lets the others wait on.
func (p *Pool) sortOut(list []*attempt, err error) {
	for _, a := range list {
		if len(a.job.Data) > 0 && !protocol.Valid(a.job.Data) {
			p.unworkable(a, err)
			continue
		}
		p.advance(a, waiting)
		a.member, a.company = nil, nil
	}
}

// takeTogether is take for attempts that go in one message to a child that reads such.
func (m *member) takeTogether(list []*attempt) error {
	p := m.pool
	jobs, limits := make([]*protocol.Job, len(list)), make([]runner.RunLimits, len(list))
	c := &company{of: len(list), open: len(list)}
	m.pool.breaker.Begun(p.now)
	for i, a := range list {
		p.advance(a, running)
		a.member, a.began, a.wellAt, a.company = m, p.now, p.wellAt, c
		p.watch(a.lease)
		a.wire.Lease = a.lease.End() - p.now
		jobs[i], limits[i] = a.wire, runner.RunLimits{Timeout: a.wire.Timeout, Lease: a.lease.End()}
	}
	m.runs = append(m.runs, list...)
	runs, err := m.child.GiveBatch(jobs, limits)
	if err != nil {
		m.runs = slices.DeleteFunc(m.runs, func(a *attempt) bool { return a.company == c })
		return err
	}
	for i, a := range list {
		a.run = runs[i]
		if p.life.draining {
			a.run.Drain(p.left())
		}
		m.tellBegun(a)
	}
	return nil
}

// batchRoom is room for a child that reads messages of several jobs: for one message.
func (m *member) batchRoom() int {
	if len(m.runs) > 0 || m.gen.spec.Mode != runner.Reuse && m.jobs > 0 {
		return 0
	}
	return max(min(m.pool.cfg.Batch, protocol.MaxBatch, m.left()), 0)
}

// messageOf is how many jobs were in the message of several that the child is at work on; 0 if it is at work on none.
func (m *member) messageOf() int {
	if len(m.runs) == 0 || m.runs[0].company == nil || m.runs[0].company.of < 2 {
		return 0
	}
	return m.runs[0].company.of
}
