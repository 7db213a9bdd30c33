package pool

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/internal/clock"
	"oarlock/supervisor/internal/gate"
	"oarlock/supervisor/internal/pace"
	"oarlock/supervisor/outcome"
	"oarlock/supervisor/report"
)

// exchanges are a pool's calls to Redis that settle and take. There is at most one on its way:
// what finishes meanwhile goes with the next, so batches grow by themselves when there is much
// to do, and nothing waits when there is little.
type exchanges struct {
	out        bool                        // a call is on its way
	spare      *exchange                   // one that is over: its memory is for the next; may be nil
	doubt      *exchange                   // ended in doubt; nothing else is sent before that is resolved
	doubts     int                         // calls in a row that ended so
	hungry     bool                        // there may be jobs to take; see wake
	rest       bool                        // the last call left something to be done that is nobody's in particular
	wokenAt    time.Duration               // when somebody last put one
	lookAt     time.Duration               // when the next job is known to be due
	auditAt    time.Duration               // when to compare what Redis holds in our name with what we have
	holdTakes  time.Duration               // no takes before
	spareUntil time.Duration               // others' locks that ran out are left alone before
	holdAll    time.Duration               // no calls before
	refusals   *backoff.ExponentialBackOff // the wait after Redis refused a whole call
	gathering  bool                        // the next call waits for more endings
	pace       pace.Pace
	shut       bool // Redis was away when we last looked
}

// exchange is one settle-and-take call.
type exchange struct {
	attempts    []*attempt
	settlements []queue.Settlement
	take        queue.Take
	sent        time.Duration
	took        time.Duration // until it was in doubt
}

// The wait after a refusal grows from refusalFirst to refusalLimit. Half as much again
// may be drawn, and work is to go on within two seconds of whatever was in its way.
const (
	refusalFirst = 100 * time.Millisecond
	refusalLimit = time.Second
)

func newExchanges(auditAt time.Duration) exchanges {
	return exchanges{auditAt: auditAt, hungry: true, lookAt: never, pace: pace.New(), refusals: clock.Growing(refusalFirst, refusalLimit)}
}

// wake tells that there may be jobs to take.
func (e *exchanges) wake() { e.hungry = true }

// woken tells that somebody put a job just now.
func (e *exchanges) woken(now time.Duration) {
	e.wake()
	e.wokenAt = now
}

// wakeAt tells that there will be jobs to take from then on.
func (e *exchanges) wakeAt(due time.Duration) { e.lookAt = min(e.lookAt, due) }

// nothing tells that there was no job to take at a time, after which somebody may have put one.
func (e *exchanges) nothing(at time.Duration) { e.hungry = e.hungry && e.wokenAt >= at }

// converse sends the next call if there is anything to say.
func (p *Pool) converse() {
	e := &p.exchanges
	if !p.Gate.IsOpen() {
		e.shut = e.shut || p.Gate.Reason() != nil // nil: nobody has asked yet
		return
	}
	if e.shut { // Redis is back: first renew what we hold, then take, not all pools at once
		e.shut = false
		e.holdTakes = p.now + rand.N(p.Poll/returnShare)
		e.spareUntil = p.now + returnPatience
		e.auditAt = p.now
		p.renewals.first(len(p.flight) > 0)
	}
	p.submitRefused()
	if e.out || p.renewals.awaited {
		return
	}
	if p.now < e.holdAll {
		p.alert(e.holdAll)
		return
	}
	switch {
	case e.doubt != nil:
		p.resolve()
	case p.now >= e.auditAt:
		p.audit()
	default:
		p.alert(e.auditAt)
		p.exchange()
	}
}

// exchange settles what has ended and takes as many jobs as the children can have.
func (p *Pool) exchange() {
	e := &p.exchanges
	e.gathering = false
	want := p.appetite()
	p.idle.Store(want > 0)
	settleable := p.settleable() + len(p.departed)
	if p.renewals.awaited {
		return
	}
	if settleable == 0 && !(want > 0 && e.hungry) {
		if !e.rest {
			return
		}
		want = 0 // a call with nothing of ours does that alone
	}
	if e.gathering = p.moreToCome() || want == 0 && p.roomToCome(); e.gathering {
		return
	}
	x := cmp.Or(e.spare, &exchange{})
	e.spare = nil
	x.sent = p.now
	x.take = queue.Take{Order: p.cfg.Order, Count: want, MaxJob: p.cfg.MaxJob, Bytes: e.pace.Bytes(), Spare: p.now < e.spareUntil}
	if settleable > 0 {
		left := p.endings[:0]
		for _, a := range p.endings {
			if a.lease.End() <= p.now || len(a.wishes) > 0 { // one that goes back without a lease does so by itself, see release
				left = append(left, a)
				continue
			}
			p.advance(a, settling)
			x.attempts = append(x.attempts, a)
			x.settlements = append(x.settlements, a.settlement)
		}
		clear(p.endings[len(left):])
		p.endings = left
		x.settlements = append(x.settlements, p.departed...)
		p.departed = p.departed[:0]
	}
	if want > 0 {
		x.take.Queues, x.take.Heads = p.menu.Hand()
		e.hungry = false
		e.lookAt = never
		if len(p.unknowns.of) > 0 {
			var until time.Duration
			x.take.Passes, until = p.passes()
			e.wakeAt(until)
		}
	}
	e.out, e.rest = true, false
	p.count.Exchanges++
	p.event(report.Event{Kind: report.Settling, Settles: len(x.attempts), Takes: want})
	p.calls <- func() {
		reply, err := p.store.Exchange(p.ctx, x.settlements, x.take)
		p.post(func() { p.exchanged(x, reply, err) })
	}
	runtime.Gosched() // let it go out before anything else is done
}

// appetite is how many jobs to take now.
func (p *Pool) appetite() int {
	e := &p.exchanges
	if p.takesNothing() || p.life.draining || p.menu.Empty() || p.askedTooMuch() {
		return 0
	}
	want := p.room() - len(p.waiting)
	if want <= 0 {
		return 0
	}
	if p.now < e.holdTakes {
		p.alert(e.holdTakes)
		return 0
	}
	if p.breaker.Open {
		if len(p.waiting) > 0 || !p.mayBegin() {
			return 0
		}
		want = 1
	}
	if p.now >= e.lookAt {
		e.wake()
	} else {
		p.alert(e.lookAt)
	}
	return want
}

// settleable counts the endings whose lease still runs, and which wait for no wish to be
// granted before. A lease that has ended is
// renewed first: what we know of the job is worth nothing until Redis said that it
// is ours.
func (p *Pool) settleable() int {
	n := 0
	for _, a := range p.endings {
		switch {
		case a.lease.End() <= p.now && a.goesBack(): // see release
		case a.lease.End() <= p.now:
			p.renewals.first(true)
		case len(a.wishes) == 0:
			n++
		}
	}
	return n
}

// exchanged hears the reply.
func (p *Pool) exchanged(x *exchange, reply queue.Reply, err error) {
	e := &p.exchanges
	e.out = false
	if err != nil {
		p.exchangeFailed(x, err)
		return
	}
	p.Gate.Worked()
	e.refusals.Reset()
	e.doubts, e.rest = 0, reply.Rest
	took := p.Clock() - x.sent
	for i, a := range x.attempts {
		p.settled(a, reply.Results[i])
	}
	p.brought(reply.Jobs, reply.Now, took)
	for _, t := range reply.Jobs {
		p.taken(t, clock.Lease{Granted: x.sent, Lock: queue.Duration(t.Expires - reply.Now)}, took)
	}
	p.Complaints.LeftOut(p.name, reply.Broken)
	if x.take.Count > 0 {
		e.pace.Tripped(took, p.now)
		again := p.menu.Heard(x.take, &reply)
		p.breaker.Took(len(reply.Jobs), again)
		if again {
			e.wake()
		} else {
			p.scaling.Short()
			p.listen()
		}
		if reply.NextDue > reply.Now { // what is due and did not come is held back, by a pause for instance
			e.wakeAt(p.now + queue.Duration(reply.NextDue-reply.Now))
		}
	}
	p.event(report.Event{Kind: report.RoundTrip, Settles: len(x.attempts), Takes: len(reply.Jobs), Took: took, Gate: reply.Gate})
	e.spare = x.emptied()
}

// brought learns how much a take should ask for from one that took so long.
func (p *Pool) brought(jobs []queue.Taken, now float64, took time.Duration) {
	if len(jobs) == 0 {
		return
	}
	bytes, lock := int64(0), never
	for i := range jobs {
		bytes, lock = bytes+jobs[i].Size, min(lock, queue.Duration(jobs[i].Expires-now))
	}
	if p.exchanges.pace.Brought(bytes, took, lock) {
		p.asksForLess("a call took more than a quarter of the locks that it brought: asking for less data", len(jobs), bytes, took, "lock", lock)
	}
}

// asksForLess tells that the next takes ask for less data, and why.
func (p *Pool) asksForLess(why string, jobs int, bytes int64, took time.Duration, more ...any) {
	if _, warn := p.slow.Add(p.now); warn {
		p.log.Warn(why, append([]any{"jobs", jobs, "bytes", bytes, "took", took, "bytes_next", p.exchanges.pace.Bytes()}, more...)...)
	}
}

// emptied returns x as one that holds on to nothing but the memory of its lists.
func (x *exchange) emptied() *exchange {
	clear(x.attempts)
	clear(x.settlements)
	x.attempts, x.settlements = x.attempts[:0], x.settlements[:0]
	return x
}

// settled hears what became of one settlement.
func (p *Pool) settled(a *attempt, r queue.SettleResult) {
	switch {
	case r.Err == nil:
		p.menu.Left(a.job.Queue)
		p.answered(a, r.Puts)
		p.concluded(a, r)
		p.drop(a)
	case errors.Is(r.Err, queue.ErrLockLost), errors.Is(r.Err, queue.ErrNoJob):
		a.lost = true
		p.count.Late++
		p.log.Warn("verdict dropped: the lock is lost", "jid", a.job.JID, "queue", a.job.Queue, "run", a.wire.Run, "err", r.Err)
		p.drop(a)
	case gate.Of(r.Err).NotRun(): // it became a replica in the middle, or the like
		p.log.Error("not settled yet", "jid", a.job.JID, "queue", a.job.Queue, "run", a.wire.Run, "err", r.Err)
		p.putBack([]*attempt{a})
		p.exchanges.holdAll = p.now + refusalLimit
	default:
		p.settleOtherwise(a, r.Err)
	}
}

// concluded tells that Redis has what became of an attempt: where its job is now, or, as its state, that the settlement took effect.
func (p *Pool) concluded(a *attempt, r queue.SettleResult) {
	s, state := &a.settlement, r.State
	inVain := s.Action == queue.Park && state == "failed" // another job has its correlation
	p.tellUntold(a, inVain)
	if a.counts {
		p.count.Settled(s.Action, s.Fails(&a.job) || inVain)
	}
	p.event(report.Event{Kind: report.Settled, Job: a.wire, Ending: a.ending, Action: s.Action, State: state, Puts: r.Puts, Part: r.Part})
	switch {
	case inVain:
		p.log.Warn("a job that was to wait for its answer has failed: another has its correlation", "jid", a.job.JID, "queue", a.job.Queue, "run", a.wire.Run,
			"correlation", cmp.Or(s.Correlation, a.job.Correlation))
	case s.Action == queue.Park && (state == "scheduled" || state == "waiting"):
		e := report.Event{Kind: report.Parked, Job: a.wire, Name: cmp.Or(s.Correlation, a.job.Correlation), Took: s.Delay}
		if state == "waiting" {
			e.Reason = "answered"
		}
		p.event(e)
	case s.Group == outcome.InVain && a.ending == nil:
		p.event(report.Event{Kind: report.ParkTimedOut, Job: a.wire, Name: a.job.Correlation, State: state, Group: s.Group, Message: s.Message})
	}
}

// answered reads what became of the jobs that a settled one wanted put.
func (p *Pool) answered(a *attempt, puts []queue.PutResult) {
	for i, r := range puts {
		switch {
		case r.Err != nil:
			p.count.NotPut++
			p.log.Warn("a job that a child put was refused", "jid", a.job.JID, "put", r.JID, "queue", a.settlement.Puts[i].Queue, "err", r.Err)
		case r.Held:
			p.count.NotPut++
			p.log.Info("a job that a child put was left out: another has its correlation, and stands for it", "jid", a.job.JID, "of", r.JID,
				"queue", a.settlement.Puts[i].Queue, "state", r.State)
		case r.Existed:
			p.count.NotPut++
			p.log.Warn("a job that a child put was left out: one of that jid exists", "jid", a.job.JID, "put", r.JID,
				"queue", a.settlement.Puts[i].Queue, "state", r.State, "if_exists", string(a.settlement.Puts[i].IfExists))
		default:
			p.count.Put++
		}
	}
}

// exchangeFailed hears that a whole call failed.
func (p *Pool) exchangeFailed(x *exchange, err error) {
	e := &p.exchanges
	what := p.Gate.Sort(err)
	if what == gate.Doubtful {
		// Sent, and no answer: it may have run, be running, or run later.
		p.log.Warn("exchange in doubt: asking redis what became of it", "settles", len(x.attempts), "takes", x.take.Count, "err", err)
		e.doubt, x.took = x, p.Clock()-x.sent
		e.doubts++
		return
	}
	if x.take.Count > 0 {
		e.wake()
	}
	p.leaveAgain(x)
	p.putBack(x.attempts)
	switch what {
	case gate.Full:
		// What frees memory still works, so what ends is settled; nothing is taken.
		e.holdTakes = p.now + e.refusals.NextBackOff()
		if x.take.Count == 0 {
			e.holdAll = e.holdTakes
		}
	case gate.Refused, gate.Busy:
		p.log.Error("exchange refused", "err", err)
		e.holdAll = p.now + e.refusals.NextBackOff()
	}
}

// leaveAgain says once more which turns are over, where a call has not run, or nobody knows: it may be said twice.
func (p *Pool) leaveAgain(x *exchange) {
	p.departed = append(p.departed, x.settlements[len(x.attempts):]...)
}

// putBack returns attempts whose settlement did not run to those to be settled.
func (p *Pool) putBack(attempts []*attempt) {
	back := make([]*attempt, 0, len(attempts)+len(p.endings))
	for _, a := range attempts {
		if a.stage == settling {
			p.advance(a, ended)
			back = append(back, a)
		}
	}
	p.endings = append(back, p.endings...)
}

// returnShare is the part of a poll interval over which pools spread their first takes
// when Redis is back; supervisors are spread already by how long their gates wait.
const returnShare = 10

// returnPatience is how long after Redis' return others have time to renew what they hold:
// their gates find it back within two seconds.
const returnPatience = 3 * time.Second

// moreToCome reports whether it is worth waiting for further endings before the next
// call is sent.
func (p *Pool) moreToCome() bool {
	if len(p.endings) == 0 || p.atWork() == 0 || len(p.endings) >= p.batch() {
		return false
	}
	until, wait := p.exchanges.pace.Gather(p.now)
	if wait {
		p.alert(until)
	}
	return wait
}

// roomPatience is how long an ending waits at most for the child that will have the slot, so that one call settles it and
// takes a job for that one.
const roomPatience = 5 * time.Millisecond

// roomToCome reports whether endings had better wait for a child that works one job and is about to be there: its job
// would take a call of its own. There is none in store for it if there may be no job to take.
func (p *Pool) roomToCome() bool {
	if p.gen.spec.Mode == runner.Reuse || !p.exchanges.hungry || len(p.endings) == 0 || p.life.draining || !p.succeeded() {
		return false
	}
	until := p.exchanges.pace.Since() + roomPatience
	p.alert(until)
	return p.now < until
}

// succeeded reports whether some slot is about to have another child: its next one is being started, or its last one,
// of mode once, has done its job.
func (p *Pool) succeeded() bool {
	return slices.ContainsFunc(p.slots, func(s *slot) bool {
		if p.once() {
			return s.member != nil && len(s.member.runs) == 0
		}
		return s.next != nil && s.next.state == memberStarting || s.member != nil && s.member.state == memberStarting
	})
}

// batch is how many endings are enough for a call.
func (p *Pool) batch() int {
	enough := pace.Batch(len(p.flight), p.prefetch() > 0 && len(p.flight) > len(p.slots))
	if p.cfg.Batch > 1 { // the child that ended a message has nothing to do until the next comes
		return min(enough, p.cfg.Batch)
	}
	return enough
}

// atWork is how many attempts may still end by themselves, while no call is out: those that
// wait for a child will have one in a moment.
func (p *Pool) atWork() int { return len(p.flight) - len(p.endings) }
