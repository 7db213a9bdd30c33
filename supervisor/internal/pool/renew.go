package pool

import (
	"errors"
	"fmt"
	"time"

	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/internal/clock"
	"oarlock/supervisor/internal/gate"
	"oarlock/supervisor/report"
)

const (
	// idleLock is what a pool that holds no lock takes for the length of one.
	idleLock = 60 * time.Second
	// checkpointPause is how often an attempt's checkpoint is stored at most.
	checkpointPause = time.Second
	// renewPause is the wait before a renewal that failed is tried again, renewGap that
	// after one that did not.
	renewPause = 250 * time.Millisecond
	renewGap   = 20 * time.Millisecond
	// gapLate is how late we may be to stop a child because its lease runs out. Later
	// than that, it is not Redis that was away but we: stopped, suspended or starved.
	gapLate = 50 * time.Millisecond
	// gapGrace is how long a renewal may take then before the child is stopped.
	gapGrace = 100 * time.Millisecond
)

// renewals keeps the locks of a pool: one call for all of them, when the first has
// run a third of its time.
type renewals struct {
	out     bool          // a call is on its way
	sent    time.Duration // when the last was sent
	awaited bool          // nothing else is sent before a renewal was answered; a take could sweep our own locks
	at      time.Duration // when the next is due, at the earliest
	hold    time.Duration // none before, however urgent
	watch   time.Duration // when a lease is to be looked at, at the earliest
	lock    time.Duration // the shortest lock seen of late; 0 if none
	margin  time.Duration // the smallest part of a lease that was left at a renewal; never if there was none
	last    time.Duration // likewise, at the last renewal
}

func newRenewals() renewals { return renewals{at: never, watch: never, margin: never} }

// hasten makes sure that the next renewal is not later than t.
func (r *renewals) hasten(t time.Duration) { r.at = min(r.at, t) }

// now asks for a renewal at once.
func (r *renewals) now() { r.at = 0 }

// first asks for a renewal before anything else is sent, if any lock may have run out.
func (r *renewals) first(any bool) {
	if any {
		r.awaited = true
		r.now()
	}
}

// interval is how often locks are renewed.
func (r *renewals) interval() time.Duration {
	if r.lock == 0 {
		return idleLock / 3
	}
	return r.lock / 3
}

// renew sends the locks that we hold if a renewal is due.
func (p *Pool) renew() {
	r := &p.renewals
	if len(p.flight) == 0 {
		r.awaited = false
		return
	}
	if r.out || !p.Gate.IsOpen() {
		return
	}
	if at := max(r.at, r.hold); p.now < at {
		p.alert(at)
		return
	}
	if r.at > 0 && !p.renewalDue() { // the job for which it was due has ended
		p.alert(r.at)
		return
	}
	attempts := make([]*attempt, 0, len(p.flight))
	items := make([]queue.RenewItem, 0, len(p.flight))
	for _, a := range p.flight {
		if a.lost || a.goesBack() {
			continue
		}
		item := queue.RenewItem{JID: a.job.JID, Queue: a.job.Queue, Popped: a.job.Popped}
		if a.checkpoint != nil && p.now >= a.checkpointed+checkpointPause {
			item.Checkpoint = a.checkpoint
			a.checkpointed = p.now
		}
		attempts, items = append(attempts, a), append(items, item)
	}
	if len(items) == 0 {
		r.awaited, r.at = false, never
		return
	}
	r.out, r.sent = true, p.now
	p.count.Renewals++
	sent, now := p.now, p.Redis.Now()
	go func() { // reports to the loop
		renewed, err := p.store.Renew(p.ctx, items)
		p.post(func() { p.renewed(attempts, items, renewed, sent, now, err) })
	}()
}

// renewalDue sets when the next renewal is due and reports whether that is now.
func (p *Pool) renewalDue() bool {
	r := &p.renewals
	r.at = never
	for _, a := range p.flight {
		if a.lost || a.goesBack() {
			continue
		}
		r.hasten(a.lease.Renewal())
		if a.checkpoint != nil {
			r.hasten(a.checkpointed + checkpointPause)
		}
	}
	return r.at <= p.now
}

// renewed hears the reply. sent and now are the same moment on our clock and on
// Redis'.
func (p *Pool) renewed(attempts []*attempt, items []queue.RenewItem, renewed []queue.Renewed, sent time.Duration, now float64, err error) {
	r := &p.renewals
	r.out = false
	if err != nil {
		p.event(report.Event{Kind: report.Renewed, Took: p.now - sent, Reason: queue.Class(err).String()})
		p.renewFailed(sent, err)
		return
	}
	p.Gate.Worked()
	r.hold = p.now + renewGap
	r.lock = never
	locks, margin := 0, never
	for i, a := range attempts {
		if a.stage == over || a.job.Popped != items[i].Popped {
			continue // settled meanwhile, or popped again since
		}
		if err := renewed[i].Err; err != nil {
			p.renewalRefused(a, err)
			continue
		}
		locks, margin = locks+1, min(margin, a.lease.End()-p.now)
		a.hold(p.leaseUntil(renewed[i].Expires, sent, now))
		a.gap = 0
		r.lock = min(r.lock, a.lease.Lock)
		if c := items[i].Checkpoint; c != nil && len(c) == len(a.checkpoint) && &c[0] == &a.checkpoint[0] {
			a.checkpoint = nil // stored
		}
	}
	if r.lock == never {
		r.lock = 0
	}
	r.margin = min(r.margin, margin)
	if locks > 0 {
		r.last = margin
		p.event(report.Event{Kind: report.Renewed, Locks: locks, Margin: margin, Took: p.now - sent})
	}
	p.exchanges.auditAt = min(p.exchanges.auditAt, p.now+r.interval())
	p.renewalDue()
	r.awaited = p.lapsed()
}

// leaseUntil is the lease of a lock that ends at expires, on Redis' clock, where sent
// and now are the same moment on our clock and on Redis'. If our idea of Redis' clock
// has changed since, the shorter lease counts. Redis' clock may have stepped by more than a lock: then the child goes on
// for jumpPatience, in which the lock is renewed.
func (p *Pool) leaseUntil(expires float64, sent time.Duration, now float64) clock.Lease {
	lock := queue.Duration(expires - now)
	since := queue.Duration(expires-p.Redis.Now()) + p.Clock() - sent
	short, long := min(lock, since), max(lock, since)
	if long-short > clockJump {
		short = max(short, min(long, jumpPatience))
	}
	return clock.Lease{Granted: sent, Lock: short}
}

const (
	// clockJump is from what difference on Redis' clock and ours count as having jumped against each other.
	clockJump = time.Second
	// jumpPatience is how long a lock is believed in then, without another renewal. Others spare it for longer.
	jumpPatience = 3 * time.Second
)

// clockJumped makes good what a jump of Redis' clock does: our locks may seem to have expired, and so may others'.
func (p *Pool) clockJumped() {
	p.renewals.first(len(p.flight) > 0)
	p.exchanges.spareUntil = p.now + returnPatience
}

// whyLapses says why the lease of an attempt runs out: what keeps its renewal.
func (p *Pool) whyLapses(a *attempt) string {
	r, lock := &p.renewals, a.lease.Lock
	switch {
	case !p.Gate.IsOpen():
		return "its lock could not be renewed: Redis is away: " + p.Gate.Describe()
	case r.out && p.now-r.sent > lock/8:
		return fmt.Sprintf("a call to Redis takes longer than its lock allows: the renewal of its lock of %v has been on its way for %v",
			lock.Round(time.Millisecond), (p.now - r.sent).Round(time.Millisecond))
	case a.took != never && a.took > lock/4:
		return fmt.Sprintf("a call to Redis takes longer than its lock allows: the one that brought it took %v of its lock of %v",
			a.took.Round(time.Millisecond), lock.Round(time.Millisecond))
	}
	return "its lock was not renewed in time"
}

// lapsed reports whether a lease has ended and may still be renewed, as when the call
// that was just answered had been sent before we stood still.
func (p *Pool) lapsed() bool {
	for _, a := range p.flight {
		if a.stage != settling && !a.lost && !a.goesBack() && a.lease.End() <= p.now {
			return true
		}
	}
	return false
}

// renewFailed hears that a renewal failed. It changed nothing that we may count on,
// and can be repeated.
func (p *Pool) renewFailed(sent time.Duration, err error) {
	if p.stoodStill(sent) { // its time ran out while ours did not: that says nothing of Redis
		p.log.Warn("a renewal was out while this process stood still: asking again", "err", err)
		p.renewals.hold = p.now
		p.renewals.now()
		return
	}
	p.renewals.hold = p.now + renewPause
	if p.Gate.SortHarmless(err) != gate.Away {
		p.log.Error("locks not renewed", "err", err)
	}
}

// stoodStill reports whether this process stood still while a call was out that had been
// sent at that time, and gives the attempts that wait for its answer the time for another.
func (p *Pool) stoodStill(sent time.Duration) bool {
	still := false
	for _, a := range p.flight {
		switch {
		case a.stage != running || a.lost:
		case a.gap == 0: // watchLeases has not seen it yet
			still = still || p.now-a.lease.Warning(p.cfg.Child.KillGrace) > gapLate
		case sent < a.gap-gapGrace:
			still = true
			a.gap = p.now + gapGrace
		}
	}
	return still
}

// renewalRefused hears that the lock of an attempt is gone: cancelled, or given to
// somebody else. Its child is stopped, and nothing is settled.
func (p *Pool) renewalRefused(a *attempt, err error) {
	if a.stage == settling {
		return // its settlement may have come first; the answer to that tells
	}
	if !errors.Is(err, queue.ErrLockLost) && !errors.Is(err, queue.ErrNoJob) {
		p.log.Error("renewal refused", "jid", a.job.JID, "queue", a.job.Queue, "err", err)
		a.checkpoint = nil // the only thing in it that can be refused
		p.renewals.hold = p.now + renewPause
		if p.now < a.lease.End() || gate.Of(err).NotRun() {
			return
		}
		// Nobody can tell any more whose the job is; without it the others can go on.
	}
	cause := runner.CauseLockLost
	if a.hint || errors.Is(err, queue.ErrNoJob) {
		cause = runner.CauseCanceled
	}
	p.count.Lost++
	p.log.Warn("lock lost", "jid", a.job.JID, "queue", a.job.Queue, "run", a.wire.Run, "stage", a.stage.String(), "lease", p.standing(a), "cause", cause.String(), "err", err)
	p.event(report.Event{Kind: report.LockLost, Job: a.wire, Slot: a.slot(), PID: a.member.pid(), Cause: cause})
	a.lost, a.again = true, false
	switch a.stage {
	case waiting, ended:
		if a.stage == ended {
			p.count.Late++
		}
		p.drop(a)
	case running, stopping:
		grace := p.cfg.Child.KillGrace
		if a.lease.End() <= p.now {
			grace = 0 // somebody else may be at work on it already
		}
		p.stop(a, cause, min(grace, max(a.lease.End()-p.now, 0)))
	}
}

// standing says in one word whether we may still act on the lock of an attempt.
func (p *Pool) standing(a *attempt) string {
	if a.warned || a.lease.End() <= p.now {
		return "ended"
	}
	return "holds"
}

// watch takes note of a new lease.
func (p *Pool) watch(l clock.Lease) {
	p.renewals.hasten(l.Renewal())
	p.renewals.watch = min(p.renewals.watch, l.Warning(p.cfg.Child.KillGrace))
}

// watchLeases stops what runs out of its lease, early enough that the child is dead
// when it ends.
func (p *Pool) watchLeases() {
	r := &p.renewals
	if p.now < r.watch {
		p.alert(r.watch)
		return
	}
	r.watch = never
	suspect := 0
	for _, a := range p.flight {
		if a.stage != running || a.lost {
			continue
		}
		end, warning := a.lease.End(), a.lease.Warning(p.cfg.Child.KillGrace)
		switch {
		case p.now < warning:
			r.watch = min(r.watch, warning)
		case p.now < a.gap:
			r.watch = min(r.watch, a.gap)
		case p.now-warning > gapLate && a.gap == 0:
			// One renewal says whether the job is still ours; if the lease has ended,
			// nothing is believed before.
			a.gap = p.now + gapGrace
			r.watch = min(r.watch, a.gap)
			r.first(true)
			suspect++
		default:
			a.warned, a.lapse = true, p.whyLapses(a)
			p.log.Warn("lease runs out: stopping the child", "jid", a.job.JID, "queue", a.job.Queue, "run", a.wire.Run, "lease", p.standing(a), "why", a.lapse)
			p.stop(a, runner.CauseLockLost, max(end-p.now, 0))
		}
	}
	if suspect > 0 {
		p.log.Warn("leases ran out while this process stood still: asking redis", "jobs", suspect)
	}
	p.alert(r.watch)
}
