package pool

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/internal/clock"
	"oarlock/supervisor/outcome"
	"oarlock/supervisor/report"
)

// taken receives a job that Redis has locked in our name, by a take that took so long or, never, as found by
// an audit.
func (p *Pool) taken(t queue.Taken, l clock.Lease, took time.Duration) {
	a, known := p.flight[t.JID]
	if !known {
		a = p.newAttempt(t, l)
		if a.took = took; p.now >= l.Renewal() || took == never {
			a.late = true
			p.renewals.first(true)
		}
		p.flight[t.JID] = a
		p.count.Taken++
		p.learn(&t)
		p.watch(l)
		p.admit(a)
		return
	}
	if a.job.Popped == t.Popped {
		return // an audit found what we have
	}
	p.cameBack(a, t, l)
}

// cameBack receives a job that is in flight already: its lock had ended without our
// knowing, by itself or because somebody took the job back, moved it or put it again, and
// now it is ours anew. There are never two children for one job: one that still works on
// the old attempt is stopped, and the job runs again when it is gone.
func (p *Pool) cameBack(a *attempt, t queue.Taken, l clock.Lease) {
	adopted := a.stage == ended && !a.goesBack() && a.answersFor(t)
	p.log.Warn("job came back while in flight", "jid", t.JID, "queue", t.Queue, "run", a.wire.Run,
		"stage", a.stage.String(), "lease", p.standing(a), "adopted", adopted)
	if adopted {
		p.count.Adopted++
	} else {
		p.count.RunAnew++
	}
	a.job, a.lease, a.lost = t, l, false
	p.watch(l)
	switch {
	case adopted:
		a.settlement.Popped = t.Popped
	case a.stage == running, a.stage == stopping:
		a.again, a.checkpoint = true, nil // how far it came says nothing about what is put now
		if a.stage == running {
			p.stop(a, runner.CauseLockLost, p.cfg.Child.KillGrace)
		}
	default:
		if a.stage == ended {
			p.count.Late++
		}
		p.restart(a)
	}
}

// answersFor reports whether what came of the attempt counts for a later take of its job:
// whether nothing has happened to the job in between but that its lock ran out, which always
// costs one of remaining. Putting it again, moving it or taking it back never does.
func (a *attempt) answersFor(t queue.Taken) bool {
	if t.Queue != a.job.Queue || t.Remaining != a.job.Remaining-1 {
		return false
	}
	if t.Put == 0 { // not known of what an audit found
		return t.Klass == a.job.Klass && bytes.Equal(t.Data, a.job.Data)
	}
	return t.Put == a.job.Popped
}

// admit gives a new attempt its place: the last among those that wait, or, if no child
// can ever take it, or is to, its end.
func (p *Pool) admit(a *attempt) {
	p.turns++
	a.turn = p.turns
	if a.job.Damage != "" {
		p.log.Error("job set aside: it cannot be read", "jid", a.job.JID, "queue", a.job.Queue, "damage", a.job.Damage)
		p.fail(a, "damaged", a.job.Damage)
		return
	}
	if p.cfg.MaxJob > 0 && a.job.Size > p.cfg.MaxJob {
		p.fail(a, "payload-too-large", "the job's data is larger than max_job")
		return
	}
	if s := outcome.Unworked(p.cfg.Policy, &a.job); s != nil {
		p.unworked(a, s)
		return
	}
	p.await(a)
}

// await puts an attempt among those that wait for a child, where its turn is; a suspect
// whose turn it is not is held until then.
func (p *Pool) await(a *attempt) {
	if a.job.Suspect() && !a.accused {
		a.heldUntil = p.now + suspectPatience
		p.held = append(p.held, a)
		return
	}
	a.came = p.now
	at := len(p.waiting)
	for at > 0 && p.waiting[at-1].turn > a.turn {
		at--
	}
	p.waiting = slices.Insert(p.waiting, at, a)
}

// fail ends an attempt that no child was given.
func (p *Pool) fail(a *attempt, group, message string) {
	a.counts = true
	p.event(report.Event{Kind: report.SetAside, Job: a.wire, Action: queue.Fail, Fails: true, Group: group, Message: message})
	p.submit(a, queue.Settlement{Action: queue.Fail, Group: group, Message: message})
}

// unworkable fails an attempt that no child can be given; but what has come back meanwhile, to
// be run anew, has other data perhaps.
func (p *Pool) unworkable(a *attempt, err error) {
	switch {
	case a.again:
		p.restart(a)
	case a.lost:
		p.drop(a)
	default:
		p.fail(a, "payload-not-json", err.Error())
	}
}

// submit ends an attempt by a settlement for the next exchange, whose job it fills in.
func (p *Pool) submit(a *attempt, s queue.Settlement) {
	s.JID, s.Queue, s.Popped = a.job.JID, a.job.Queue, a.job.Popped
	if a.ending == nil { // that says nothing of it
		s.Batch = a.job.Batch
	}
	p.exchanges.pace.Ended(p.now, len(p.endings) == 0)
	p.advance(a, ended)
	a.inherit(&s)
	a.settlement = s
	p.acquit(a)
	p.endings = append(p.endings, a)
}

// giveBack ends an attempt that no child has begun: its job goes back to Redis, due after a delay, and that counts for nothing.
func (p *Pool) giveBack(a *attempt, delay time.Duration) {
	s := queue.Settlement{}
	outcome.Release(&s, queue.CountNothing, delay)
	p.submit(a, s)
}

// restart makes a fresh attempt of a job that came back while its old attempt was
// being ended.
func (p *Pool) restart(a *attempt) {
	p.remove(a)
	b := p.newAttempt(a.job, a.lease)
	p.flight[b.job.JID] = b
	p.watch(b.lease)
	p.admit(b)
}

// drop forgets an attempt about which Redis is to be told nothing more, but for the end of one that was taken from
// us: those behind it wait for that, and those who need its places.
func (p *Pool) drop(a *attempt) {
	p.tellUntold(a, false)
	p.remove(a)
	delete(p.flight, a.job.JID)
	if a.lost && (a.job.Key != "" || a.job.Places != "") {
		p.departed = append(p.departed, queue.Settlement{JID: a.job.JID, Queue: a.job.Queue, Popped: a.job.Popped, Key: a.job.Key, Places: a.job.Places,
			Action: queue.LeaveTurn})
	}
}

// remove takes an attempt out of whatever list it is in.
func (p *Pool) remove(a *attempt) {
	switch a.stage {
	case waiting:
		p.waiting, p.held = without(p.waiting, a), without(p.held, a)
	case ended:
		p.endings, p.refused = without(p.endings, a), without(p.refused, a)
		p.withheld = without(p.withheld, a)
		p.unasked(a)
	}
	p.advance(a, over)
	p.acquit(a)
}

// without returns list without its element a.
func without[E comparable](list []E, a E) []E {
	for i, b := range list {
		if a == b {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}

// handOut gives waiting attempts to children that are ready for them.
func (p *Pool) handOut() {
	if len(p.waiting) == 0 {
		return
	}
	if p.life.draining || p.barren() { // others may have children that start
		for _, a := range p.waiting { // none of them was begun
			p.giveBack(a, 0)
		}
		p.waiting = nil
		return
	}
	if p.cfg.Batch > 1 {
		p.handOutBatches()
		return
	}
	p.giveBackExcess()
	left := p.waiting[:0]
	for i, a := range p.waiting {
		if !p.mayBegin() {
			left = append(left, p.waiting[i:]...)
			break
		}
		if p.renewsFirst(a) {
			p.renewals.now()
			left = append(left, a)
			continue
		}
		if !p.give(a) {
			left = append(left, a)
			if p.wary(a) {
				continue // others need not wait for old code
			}
			left = append(left, p.waiting[i+1:]...)
			break
		}
	}
	clear(p.waiting[len(left):])
	p.waiting = left
	p.giveBackAhead()
}

// renewsFirst reports whether the lock of an attempt must be renewed before it begins: much of it had run out on arrival, or too
// little is left.
func (p *Pool) renewsFirst(a *attempt) bool {
	return a.late || a.lease.Warning(p.cfg.Child.KillGrace) <= p.now
}

// giveBackExcess gives back what was taken for more children than the host has room for:
// others may have some.
func (p *Pool) giveBackExcess() {
	if !p.once() {
		return
	}
	short, room := p.Starts.ShortOf(p.now)
	if room = max(room, 1); short == "" || len(p.waiting) <= room {
		return
	}
	for _, a := range p.waiting[room:] {
		p.giveBack(a, 0)
	}
	clear(p.waiting[room:])
	p.waiting = p.waiting[:room]
}

// give gives an attempt to a child and reports whether that is settled, one way or
// another. Without a child it stays where it is.
func (p *Pool) give(a *attempt) bool {
	for {
		m := p.vacancy(a)
		if m == nil {
			return false
		}
		a.wire.Lease = a.lease.End() - p.now
		err := m.take(a)
		if err == nil {
			if p.roll != nil && m.gen != p.roll.to {
				p.roll.to.OldNext = false
			}
			return true
		}
		if errors.Is(err, runner.ErrPayload) {
			p.unworkable(a, err)
			return true
		}
		p.advance(a, waiting)
		a.member = nil
		m.close() // it is about to exit
	}
}

// stop asks the child of a running attempt to stop it, and kills it after grace. One that
// waits behind another at its child needs no child to be stopped.
func (p *Pool) stop(a *attempt, cause runner.Cause, grace time.Duration) {
	if p.withdraw(a) {
		switch {
		case a.again:
			p.restart(a)
		case a.lost:
			p.drop(a)
		default:
			p.await(a)
		}
		return
	}
	p.advance(a, stopping)
	a.cause, a.grace = cause, grace
	if a.run != nil { // else as soon as it is known
		a.run.Cancel(cause, grace)
	}
}
