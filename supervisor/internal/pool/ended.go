package pool

import (
	"cmp"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/internal/breaker"
	"oarlock/supervisor/outcome"
	"oarlock/supervisor/report"
)

// ended hears how an attempt ended.
func (p *Pool) ended(a *attempt, e *runner.Ending) {
	if a.stage != running && a.stage != stopping {
		return // lost while its child was still being started
	}
	if a.stage == running && e.Kind == runner.LockLost { // we stood still, or we would have asked for it
		p.log.Warn("lease ended: the child was killed by its guard", "jid", a.job.JID, "queue", a.job.Queue, "run", a.wire.Run, "lease", "ended")
	}
	if p.now < p.life.together && outcome.Unspoken(e) {
		e = outcome.AsInterrupted(e)
	}
	a.ending, a.endedAt = e, p.now
	m := a.member
	m.finished(a, e)
	if len(e.Wishes) > 0 {
		a.wishes = append(a.wishes, e.Wishes...)
		p.wishes(a)
	}
	if outcome.Unstarted(e) && !e.Short || outcome.Unread(e) && !a.member.hasRead {
		p.rollFailed(a.member, e.Message)
	}
	if !p.withhold(a, e) {
		p.finish(a, e)
	}
	if len(m.runs) > 0 {
		m.tellBegun(m.runs[0]) // it was kept ready behind this one
	}
}

// finish makes of an attempt what its ending means.
func (p *Pool) finish(a *attempt, e *runner.Ending) {
	a.ending = e
	if p.awaitsOthers(a, e) {
		return
	}
	o := outcome.Outcome{Drop: true} // the job has come back, and this attempt means nothing to it
	if !a.again {
		o = p.conclude(a, e)
	}
	bearing := o.Bearing
	if o.Redo {
		bearing = outcome.NoBearing
	}
	asking := false
	if o.Open { // few are: what outlives this turn is for them alone
		open := o
		asking = p.consult(a, &open, func() {
			p.tellEnded(a, e, &open)
			p.judgeEnding(a, e, open.Bearing)
			p.settleAs(a, e, &open)
		})
	}
	if !asking {
		p.tellEnded(a, e, &o)
		p.judgeEnding(a, e, bearing)
	}
	switch {
	case a.again:
		p.restart(a)
	case o.Drop:
		p.drop(a)
	case o.Redo:
		p.redo(a, e)
	case asking: // settled when that is answered
	default:
		p.settleAs(a, e, &o)
	}
}

// judgeEnding judges what an ending says about the pool, or, of a message of several, what the last says for all.
func (p *Pool) judgeEnding(a *attempt, e *runner.Ending, b outcome.Bearing) {
	if a.company.heard(&b) {
		p.judge(a, e, b)
	}
}

// settleAs settles an attempt that a child has ended.
func (p *Pool) settleAs(a *attempt, e *runner.Ending, o *outcome.Outcome) {
	p.count.Concluded(e, o)
	a.counts = true
	p.entries.settled(&a.job, &o.Settlement)
	p.submit(a, o.Settlement)
}

// tellEnded tells the observer how an attempt ended, and what is made of it; nobody else gets its output. Of one that is to park it
// tells when Redis has answered: another job may have its correlation.
func (p *Pool) tellEnded(a *attempt, e *runner.Ending, o *outcome.Outcome) {
	s := &o.Settlement
	told := report.Event{Kind: report.AttemptEnded, Job: a.wire, Slot: a.member.slot.n, PID: a.member.pid(), Ending: e,
		Action: s.Action, Fails: s.Fails(&a.job), Redo: o.Redo, Group: cmp.Or(s.Group, e.Group), Message: cmp.Or(s.Message, e.Message)}
	if s.Action == queue.Park && !o.Drop && !o.Redo {
		a.untold = &told
		return
	}
	p.event(told)
	e.Output = nil // it is not kept here as well until Redis has answered
}

// tellUntold tells of the end of an attempt of which tellEnded did not; inVain says that its job has failed, for another has its
// correlation.
func (p *Pool) tellUntold(a *attempt, inVain bool) {
	told := a.untold
	if told == nil {
		return
	}
	a.untold = nil
	if inVain {
		told.Fails, told.Group, told.Message = true, "duplicate-correlation", "another job has the correlation for which it was to wait"
	}
	p.event(*told)
	told.Ending.Output = nil
}

// conclude decides what an ending means for its job, and adds the record of one that
// did not go well.
func (p *Pool) conclude(a *attempt, e *runner.Ending) outcome.Outcome {
	facts := outcome.Attempt{
		Job:        a.job,
		Checkpoint: a.checkpoint,
		Lost:       a.lost,
		Warned:     a.warned,
		Lapse:      a.lapse,
		Early:      a.early,
		Slowed:     p.breaker.Away(p.now, a.endedAt-a.began),
	}
	if e.Kind != runner.Said || e.Verdict.Kind != protocol.Ack { // most are, and need to know no more
		facts.Now = p.Redis.Now()
		facts.OthersWell = p.wellSince(a, a.job.Unstarted.First, facts.Now)
		if outcome.Unknown(e) {
			facts.Where, facts.Unasked = generationName(p.worker, a.member.gen.n), p.notAsked(a)
			_, facts.Passed = p.passed(classOf{a.job.Queue, a.job.Klass})
		}
	}
	o := outcome.Decide(p.cfg.Policy, facts, e)
	a.member.gen.Forgive(a.job.JID, &o)
	s := &o.Settlement
	if o.Recorded(e) {
		s.Record = outcome.RecordOf(a.wire, a.member.pid(), p.worker, e, len(s.Checkpoint))
	}
	if s.Standstill >= outcome.Standstill {
		p.log.Warn("a job is interrupted again and again where it was: it needs a longer drain_timeout, or to keep checkpoints",
			"jid", a.job.JID, "klass", a.job.Klass, "queue", a.job.Queue, "interruptions", s.Standstill)
	}
	s.Cleared = a.job.Deaths > 0 && s.Counter != queue.CountInterruption
	for _, wish := range o.Refused {
		p.log.Warn("wish of a child refused", "jid", a.job.JID, "queue", a.job.Queue, "why", wish)
	}
	return o
}

// redo gives an attempt that was not begun to another child, in its turn.
func (p *Pool) redo(a *attempt, e *runner.Ending) {
	a.early = a.early || outcome.Unread(e)
	if e.Checkpoint != nil {
		a.job.Checkpoint = e.Checkpoint
	}
	p.undo(a)
	p.await(a)
}

// undo lets an attempt that no child has begun be given to any.
func (p *Pool) undo(a *attempt) {
	p.prepare(a)
	p.advance(a, waiting)
	a.member, a.run, a.told, a.ending, a.met, a.gap, a.company = nil, nil, false, nil, false, 0, nil
}

// wellSince reports whether a job of the pool ended well after a moment, and before the attempt began: what ended well later may have
// found mended what the attempt did not. The moment and now are on Redis' clock.
func (p *Pool) wellSince(a *attempt, moment, now float64) bool {
	return a.wellAt > 0 && (p.now-a.wellAt).Seconds() < now-moment
}

// judge finds out whether the member itself went bad: only one that is kept from job to job can.
func (m *member) judge(jid string, e *runner.Ending, b outcome.Bearing) {
	p := m.pool
	switch {
	case m.gen.spec.Mode != runner.Reuse || m.sick || m.leaves():
	case b != outcome.Bad:
		m.row.Ended(&p.usual, p.now)
	case m.row.Bad(jid, &p.usual, p.now):
		m.sick = true
		p.log.Warn("a child went bad: its last jobs all ended badly, and few do here; it is replaced",
			"slot", m.slot.n, "pid", m.pid(), "jobs", m.row.Len(), "last", outcome.Manner(e), "message", breaker.LastLine(e.Message))
	}
}

// judge lets the breaker learn from an ending.
func (p *Pool) judge(a *attempt, e *runner.Ending, b outcome.Bearing) {
	closed := false
	switch {
	case b == outcome.NoBearing:
	case a.member.gen.OnTrial():
		p.tried(a, b)
		if b == outcome.Bad {
			return // the pool is not to blame for it
		}
	default:
		p.past.Note(b == outcome.Bad)
		a.member.judge(a.job.JID, e, b)
	}
	switch b {
	case outcome.Good:
		p.wellAt = max(p.now, 1)
		closed = p.breaker.Good()
	case outcome.Neutral:
		closed = p.breaker.Neutral()
	case outcome.Bad:
		if p.breaker.Bad(a.job.JID, outcome.Manner(e), e.Message, p.target) {
			p.breaker.Since = p.now
			p.log.Error("breaker open: begins single jobs, ten a second at most, until one ends well", "why", p.breaker.Why())
			p.event(report.Event{Kind: report.BreakerOpened, Message: p.breaker.Why()})
		}
	}
	if closed {
		p.log.Info("breaker closed: a job ended as it should", "jid", a.job.JID, "ending", outcome.Manner(e))
		p.event(report.Event{Kind: report.BreakerClosed, Job: a.wire})
		p.exchanges.wake()
	}
}
