package supervisor

import (
	"oarlock/queue"
	"oarlock/runner"
)

// ended hears how an attempt ended.
func (p *pool) ended(a *attempt, e *runner.Ending) {
	if a.stage != running && a.stage != stopping {
		return // lost while its child was still being started
	}
	if a.stage == running && e.Kind == runner.LockLost { // we stood still, or we would have asked for it
		p.log.Warn("lease ended: the child was killed by its guard", "jid", a.job.JID, "queue", a.job.Queue, "run", a.wire.Run, "lease", "ended")
	}
	if p.now < p.life.together && unspoken(e) {
		e = interrupted(e)
	}
	a.ending, a.endedAt = e, p.now
	a.member.finished(a, worked(e.Kind))
	if p.roll != nil && a.member.gen == p.roll.to && worked(e.Kind) {
		p.roll.proven = true
	}
	if !p.withhold(a, e) {
		p.finish(a, e)
	}
}

// finish makes of an attempt what its ending means.
func (p *pool) finish(a *attempt, e *runner.Ending) {
	a.ending = e
	o := Outcome{Drop: true} // the job has come back, and this attempt means nothing to it
	if !a.again {
		o = p.conclude(a, e)
	}
	p.event(Event{Kind: AttemptEnded, Job: a.wire, Ending: e, Action: o.Settlement.Action, Slot: a.member.slot.n, PID: a.member.pid()})
	if !o.Redo {
		p.judge(a, e, o.Bearing)
	}
	switch {
	case a.again:
		p.restart(a)
	case o.Drop:
		p.drop(a)
	case o.Redo:
		p.redo(a, e)
	default:
		p.count.concluded(e, &o)
		p.settle(a, o.Settlement)
	}
}

// conclude decides what an ending means for its job, and adds the record of one that
// did not go well.
func (p *pool) conclude(a *attempt, e *runner.Ending) Outcome {
	o := Decide(p.cfg.Policy, Attempt{
		Job:        a.job,
		Checkpoint: a.checkpoint,
		Lost:       a.lost,
		Warned:     a.warned,
		Early:      a.early,
	}, e)
	if s := &o.Settlement; o.Bearing != Neutral && s.Action != queue.Complete && s.Action != "" {
		s.Record = record(a, e, p.worker, keptBytes-len(s.Checkpoint))
	}
	for _, wish := range o.Refused {
		p.log.Warn("wish of a child refused", "jid", a.job.JID, "queue", a.job.Queue, "why", wish)
	}
	return o
}

// redo gives an attempt that was not begun to another child, in its turn.
func (p *pool) redo(a *attempt, e *runner.Ending) {
	a.early = a.early || e.Kind == runner.LeftEarly
	if e.Checkpoint != nil {
		a.job.Checkpoint = e.Checkpoint
	}
	a.prepare(p.cfg.Timeout)
	a.stage, a.member, a.run, a.ending, a.gap = waiting, nil, nil, nil, 0
	p.await(a)
}

// judge lets the breaker learn from an ending.
func (p *pool) judge(a *attempt, e *runner.Ending, b Bearing) {
	switch b {
	case Good:
		if p.breaker.acked() {
			p.log.Info("breaker closed: a job was acknowledged", "jid", a.job.JID)
			p.line.hungry = true
		}
	case Bad:
		if p.breaker.failed(a.job.JID, e.Kind.String(), p.now) {
			p.log.Error("breaker open: no job was acknowledged for long; taking single jobs as probes", "last", e.Kind.String(), "group", e.Group, "message", e.Message)
		}
	case Broken:
		if p.breaker.open(e.Message, p.now) {
			p.log.Error("breaker open: the command cannot be run; taking single jobs as probes", "command", p.cfg.Child.Command, "message", e.Message)
		}
	case Neutral:
		p.breaker.unanswered()
	}
}
