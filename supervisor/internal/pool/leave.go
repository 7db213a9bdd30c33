package pool

import (
	"context"
	"time"

	"oarlock/runner"
	"oarlock/supervisor/report"
)

const (
	// lastWord is how long a pool that has nothing more to do, or is past all its limits,
	// tries to tell Redis what became of its jobs. With what the process does after that,
	// it leaves within ten seconds.
	lastWord = 8 * time.Second
	// idleLeaves is how long children have to go when nothing is in flight, however long
	// kill_grace may be.
	idleLeaves = 6 * time.Second
	// EachEnd is by how much a pool that leaves waits longer, at most, for each of its children and jobs, while they still end.
	EachEnd = 50 * time.Millisecond
	// lastGasp is the same for a pool that was told to end at once.
	lastGasp = 500 * time.Millisecond
	// goodbye is how long a pool that was not tries to take its worker off the list.
	goodbye = 1500 * time.Millisecond
)

// drain makes the pool take nothing more and end when nothing is in flight. Jobs
// still at work after timeout are interrupted; 0 means no limit. Called again it can
// only shorten the time.
func (p *Pool) drain(timeout time.Duration) {
	if !p.life.draining {
		p.life.draining, p.life.toEnd = true, p.remains()
		p.life.least = p.life.toEnd
	}
	p.cease()
	if timeout > 0 {
		p.life.drainBy = min(p.life.drainBy, p.now+timeout)
	}
	for _, a := range p.flight {
		if a.stage == running && a.run != nil && !p.life.killed {
			a.run.Drain(p.left())
		}
	}
	if p.roll != nil {
		p.log.Info("roll given up: the pool drains")
		p.rollEnded(p.roll, report.RollAbandoned, "the pool drains")
		p.dismissStaying(0)
		p.roll = nil
	}
}

// kill ends everything at once. The jobs go back uncounted if Redis answers soon.
func (p *Pool) kill() {
	p.life.killed = true
	p.drain(0)
	p.life.drainBy = p.now
	p.life.endBy = min(p.life.endBy, p.now+lastGasp)
}

// left is how long jobs still at work have before they are interrupted; 0 if they are not.
func (p *Pool) left() time.Duration {
	if p.life.drainBy == never {
		return 0
	}
	return max(p.life.drainBy-p.now, time.Millisecond)
}

// leave brings a draining pool to its end.
func (p *Pool) leave() {
	l := &p.life
	if !l.draining {
		return
	}
	if p.now < l.drainBy {
		p.alert(l.drainBy)
	} else if !l.stopped || l.killed {
		p.interrupt()
	}
	p.dismiss()
	if n := p.remains(); n < l.least {
		l.least, l.endedAt = n, p.now
	}
	atWork := len(p.leavers) + len(p.asking.of)
	for _, s := range p.slots {
		if s.member != nil {
			atWork++
		}
	}
	if end := p.lastMoment(atWork); p.now < end {
		p.alert(end)
		l.over = atWork == 0 && len(p.flight) == 0 && !p.exchanges.out && p.exchanges.doubt == nil && !p.renewals.out && !p.wishing.out && p.asking.out == 0
		return
	}
	l.over, l.owing = true, len(p.flight) > 0 || p.exchanges.out || p.exchanges.doubt != nil
	p.log.Error("leaving without a word to redis: jobs that it holds for us are given back by the next supervisor here, or wait for their locks",
		"jobs", len(p.flight), "in_doubt", p.exchanges.doubt != nil, "children", atWork)
	p.eachMember(func(m *member) {
		if m.child != nil {
			m.child.Kill(runner.CauseShutdown)
		}
	})
}

// lastMoment is when a draining pool leaves, whatever Redis has not been told and whatever
// does not end.
func (p *Pool) lastMoment(atWork int) time.Duration {
	l := &p.life
	end := l.endBy
	if l.drainBy != never {
		end = min(end, l.patient(l.drainBy+p.cfg.Child.KillGrace))
	}
	if atWork > 0 && len(p.flight) > 0 {
		l.freeAt = never
		return end
	}
	// Only Redis is still needed, or children are left that have nothing to do.
	l.freeAt = min(l.freeAt, p.now)
	if p.now < l.freeAt+idleLeaves {
		p.alert(l.freeAt + idleLeaves)
	} else if len(p.flight) == 0 {
		p.eachMember(func(m *member) {
			if m.child != nil {
				m.child.Kill(runner.CauseShutdown)
			}
		})
	}
	return min(end, l.patient(l.freeAt))
}

// patient is when a pool leaves that had time until a moment: lastWord after it, or after something last ended, within a bound that
// grows with what there was to end.
func (l *lifetime) patient(from time.Duration) time.Duration {
	return min(max(from, l.endedAt), from+time.Duration(l.toEnd)*EachEnd) + lastWord
}

// remains is how many children and jobs are to end before a draining pool can leave.
func (p *Pool) remains() int {
	n := len(p.flight)
	p.eachMember(func(*member) { n++ })
	return n
}

// interrupt stops all that is at work: its jobs are released to the front of their
// queues, and it costs them nothing.
func (p *Pool) interrupt() {
	l := &p.life
	grace := p.cfg.Child.KillGrace
	if l.killed {
		grace = 0
	}
	if n := p.atStage(running); n > 0 && !l.stopped { // what has ended waits for Redis only
		p.log.Info("interrupting jobs", "jobs", n, "grace", grace.Seconds())
	}
	l.stopped = true
	p.askNoMore()
	for _, a := range p.flight {
		if a.stage == running || a.stage == stopping && l.killed && a.grace > 0 {
			p.stop(a, runner.CauseShutdown, grace)
		}
	}
	if l.killed {
		p.eachMember(func(m *member) {
			if m.child != nil {
				m.child.Kill(runner.CauseShutdown)
			}
		})
	}
}

// atStage is how many attempts are there.
func (p *Pool) atStage(at stage) int {
	n := 0
	for _, a := range p.flight {
		if a.stage == at {
			n++
		}
	}
	return n
}

// dismiss lets children go that have nothing to do any more.
func (p *Pool) dismiss() {
	for _, s := range p.slots {
		if s.next != nil {
			s.next.retire(whyEnds)
		}
		if m := s.member; m != nil && !p.once() {
			m.retire(whyEnds)
		}
	}
}

// eachMember calls f for all members, wherever they are.
func (p *Pool) eachMember(f func(*member)) {
	for _, s := range p.slots {
		if s.member != nil {
			f(s.member)
		}
		if s.next != nil {
			f(s.next)
		}
	}
	for m := range p.leavers {
		f(m)
	}
	if p.roll != nil {
		for _, m := range p.roll.staying {
			f(m)
		}
	}
}

// farewell takes the worker off Redis' list, after all else, unless it owes jobs or Redis
// does not answer.
func (p *Pool) farewell() {
	patience := goodbye
	if p.life.killed {
		patience = lastGasp
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if silent := p.exchanges.out || p.renewals.out; p.Gate.IsOpen() && !p.life.owing && !silent {
		said := make(chan error, 1)
		go func() { said <- p.store.Deregister(ctx) }() // may outlive ctx for as long as a reply may take
		var err error
		select {
		case err = <-said:
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			p.log.Info("the worker could not be taken off the list of workers, where it stays without a job until it was not seen for a day", "worker", p.worker, "err", err)
		}
	}
	if err := p.store.Close(); err != nil {
		p.log.Debug("session not closed", "err", err)
	}
}
