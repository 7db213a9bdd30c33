package supervisor

import (
	"oarlock/runner"
)

// ended hears how an attempt ended.
func (p *pool) ended(a *attempt, e *runner.Ending) {
	if a.stage != running && a.stage != stopping {
		return // lost while its child was still being started
	}
	a.ending = e
	o := p.conclude(a, e)
	a.member.finished(a, worked(e.Kind))
	if p.roll != nil && a.member.gen == p.roll.to && worked(e.Kind) {
		p.roll.proven = true
	}
	p.event(Event{Kind: AttemptEnded, Job: a.wire, Ending: e, Action: o.settlement.Action, Slot: a.member.slot.n, PID: a.member.pid()})
	if !o.redo {
		p.judge(a, e, o.bearing)
	}
	switch {
	case a.again:
		p.restart(a)
	case o.drop:
		p.drop(a)
	case o.redo:
		p.redo(a, e)
	default:
		p.count.concluded(e.Kind, o.settlement.Action)
		p.settle(a, o.settlement)
	}
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
func (p *pool) judge(a *attempt, e *runner.Ending, b bearing) {
	switch b {
	case good:
		if p.breaker.acked() {
			p.log.Info("breaker closed: a job was acknowledged", "jid", a.job.JID)
			p.line.hungry = true
		}
	case bad:
		if p.breaker.failed(a.job.JID, e.Kind.String(), p.now) {
			p.log.Error("breaker open: no job was acknowledged for long; taking single jobs as probes", "last", e.Kind.String(), "group", e.Group, "message", e.Message)
		}
	case broken:
		if p.breaker.open(e.Message, p.now) {
			p.log.Error("breaker open: the command cannot be run; taking single jobs as probes", "command", p.cfg.Child.Command, "message", e.Message)
		}
	case neutral:
		p.breaker.unanswered()
	}
}
