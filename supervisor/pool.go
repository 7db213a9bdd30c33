package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"oarlock/queue"
	"oarlock/runner"
)

// never is an alarm that does not ring.
const never = time.Duration(math.MaxInt64)

// shared is what the pools of one supervisor have in common. It does not change.
type shared struct {
	clock    func() time.Duration
	redis    redis
	starter  starter
	gate     *gate
	legacy   *life
	base     *slog.Logger
	onEvent  func(Event)
	childLog func(Line)
	poll     time.Duration
}

// pool decides which job runs on which of its children, and what Redis is told
// after. All that happens reaches its loop through the inbox; what takes time runs
// in goroutines of its own, which report there.
type pool struct {
	*shared
	name   string
	worker string // the name under which Redis knows who holds its locks
	store  store
	log    *slog.Logger
	inbox  inbox
	done   chan struct{} // closed when the loop has ended
	ctx    context.Context
	giveUp context.CancelFunc // ends calls that are still out; the very last resort

	maxCrashes atomic.Int64             // cfg.MaxCrashes
	asked      atomic.Pointer[[]string] // cfg.Queues
	named      atomic.Pointer[[]string] // queues
	told       atomic.Pointer[view]     // the last view posted

	// All below belongs to the loop.
	cfg    Pool
	queues []string      // what cfg.Queues names, with globs replaced by queues that exist
	now    time.Duration // on the clock, when this turn began
	alarm  time.Duration // when the next turn is due even if nothing happens

	flight  map[string]*attempt // all attempts that are not over, by jid
	waiting []*attempt          // those without a child, oldest first
	endings []*attempt          // those to be settled, oldest first

	slots    []*slot
	leavers  map[*member]struct{} // members that gave up their slot and are not gone yet
	gen      *generation          // what new members are started from
	roll     *roll                // a change of generation under way; nil if none
	target   int                  // how many slots there should be
	spawns   spawnRate
	misborn  int           // children in a row that ended before they worked a job
	memoryAt time.Duration // when to look at their memory again
	view     view          // what there is to take, as last seen
	breaker  breaker
	scaling  scaling
	line     line // the calls to Redis that settle and take
	renewals renewals
	life     lifetime
	count    Counters
}

// lifetime is how far a pool is on its way out.
type lifetime struct {
	quiet    bool          // takes nothing until told otherwise
	draining bool          // takes nothing any more, and ends when nothing is in flight
	drainBy  time.Duration // when jobs still at work are interrupted; never without a limit
	stopped  bool          // they were
	killed   bool          // everything was killed
	endBy    time.Duration // when to leave whatever Redis has not been told
	over     bool
	owing    bool // it left jobs about which Redis was told nothing
}

func newPool(s *shared, cfg Pool, worker string) *pool {
	p := &pool{
		shared:  s,
		name:    cfg.Name,
		worker:  worker,
		store:   s.redis.session(worker),
		log:     s.base.With("pool", cfg.Name),
		inbox:   newInbox(),
		done:    make(chan struct{}),
		cfg:     cfg,
		flight:  map[string]*attempt{},
		leavers: map[*member]struct{}{},
		breaker: newBreaker(),
		life:    lifetime{drainBy: never, endBy: never},
	}
	p.ctx, p.giveUp = context.WithCancel(context.Background())
	p.gen = newGeneration(1, cfg.Child, worker)
	p.target, _ = cfg.bounds()
	p.now = s.clock()
	p.renewals = newRenewals()
	p.line = newLine(p.now + jittered(p.renewals.interval()))
	p.asked.Store(&cfg.Queues)
	p.maxCrashes.Store(int64(cfg.MaxCrashes))
	p.serve(plain(cfg.Queues))
	p.resize()
	return p
}

// post hands work to the loop. Safe for concurrent use; work that comes after the
// loop has ended is dropped.
func (p *pool) post(f func()) { p.inbox.post(f) }

// run works until the pool was drained and nothing of it is left.
func (p *pool) run() {
	defer close(p.done)
	defer p.giveUp()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var reopened <-chan struct{}
		if !p.gate.isOpen() {
			reopened = p.gate.open()
		}
		select {
		case <-p.inbox.wake:
		case <-reopened:
		case <-timer.C:
		}
		p.turn()
		if p.life.over {
			p.farewell()
			return
		}
		timer.Reset(p.alarm - p.now)
	}
}

// turn does everything that can be done now. Each part may be called at any time and
// does nothing if there is nothing to do; it notes by alert when it wants to be
// called again.
func (p *pool) turn() {
	p.now = p.clock()
	p.alarm = never
	p.inbox.work()
	p.watchLeases()
	p.tendSlots()
	p.handOut()
	p.renew()
	p.converse()
	p.leave()
	p.inbox.await(p.patience())
}

// patience is for how many endings together the loop wants to be woken. Each would be
// one turn otherwise, in which nothing can be done while a call is out, or while it
// is worth waiting for more.
func (p *pool) patience() int {
	switch {
	case len(p.waiting) > 0:
		return 1
	case p.line.out:
		return forEver // the reply wakes the loop
	case p.line.gathering:
		return p.atWork()
	}
	return 1
}

// alert makes sure that there is a turn at the time t.
func (p *pool) alert(t time.Duration) { p.alarm = min(p.alarm, max(t, p.now)) }

// taken receives a job that Redis has locked in our name, by a take or as found by
// an audit.
func (p *pool) taken(t queue.Taken, l lease) {
	a, known := p.flight[t.JID]
	if !known {
		a = newAttempt(t, l, p.cfg.Timeout)
		p.flight[t.JID] = a
		p.count.Taken++
		p.watch(l)
		p.admit(a)
		return
	}
	if a.job.Popped == t.Popped {
		return // an audit found what we have
	}
	p.adopt(a, t, l)
}

// adopt receives a job that is in flight already: its lock had ended before we could
// renew it, and now it is ours again. There are never two children for one job.
func (p *pool) adopt(a *attempt, t queue.Taken, l lease) {
	p.count.Adopted++
	// One lock that ended costs one of remaining. If anything else has changed, some
	// other worker had the job in between, and what we have of it is worth nothing.
	alone := a.job.Remaining-t.Remaining <= 1 &&
		a.job.Crashes == t.Crashes && a.job.Interruptions == t.Interruptions && a.job.Releases == t.Releases
	p.log.Warn("job came back while in flight", "jid", t.JID, "queue", t.Queue, "stage", a.stage.String(), "alone", alone)
	a.job, a.lease, a.lost = t, l, false
	switch a.stage {
	case waiting:
		a.prepare(p.cfg.Timeout)
	case running:
		if alone && a.run != nil {
			a.gap = 0
			return
		}
		a.again = true
		p.stop(a, runner.CauseLockLost, p.cfg.Child.KillGrace)
	case stopping:
		a.again = true
	case ended:
		if alone {
			a.settlement.Popped = t.Popped
			return
		}
		p.count.Late++
		p.restart(a)
	}
}

// admit gives a new attempt its place: a child's queue, or, if no child can ever
// take it, its failure.
func (p *pool) admit(a *attempt) {
	a.stage = waiting
	if p.cfg.MaxJob > 0 && a.job.Size > p.cfg.MaxJob {
		p.fail(a, "payload-too-large", "the job's data is larger than max_job")
		return
	}
	p.waiting = append(p.waiting, a)
}

// fail ends an attempt that no child was given.
func (p *pool) fail(a *attempt, group, message string) {
	p.settle(a, queue.Settlement{Action: queue.Fail, Group: group, Message: message})
}

// unworkable fails an attempt that no child can be given.
func (p *pool) unworkable(a *attempt, err error) {
	p.fail(a, "payload-not-json", err.Error())
}

// settle ends an attempt by a settlement, whose job it fills in.
func (p *pool) settle(a *attempt, s queue.Settlement) {
	s.JID, s.Queue, s.Popped = a.job.JID, a.job.Queue, a.job.Popped
	p.line.paced(p.now, len(p.endings) == 0)
	a.stage, a.settlement = ended, s
	p.endings = append(p.endings, a)
}

// restart makes a fresh attempt of a job that came back while its old attempt was
// being ended.
func (p *pool) restart(a *attempt) {
	p.remove(a)
	b := newAttempt(a.job, a.lease, p.cfg.Timeout)
	p.flight[b.job.JID] = b
	p.watch(b.lease)
	p.admit(b)
}

// drop forgets an attempt about which Redis is to be told nothing more.
func (p *pool) drop(a *attempt) {
	p.remove(a)
	delete(p.flight, a.job.JID)
	if a.ending == nil { // no word on the pool, should it have been a probe
		p.breaker.unanswered()
	}
}

// remove takes an attempt out of whatever list it is in.
func (p *pool) remove(a *attempt) {
	switch a.stage {
	case waiting:
		p.waiting = without(p.waiting, a)
	case ended:
		p.endings = without(p.endings, a)
	}
	a.stage = over
}

// without returns list without its element a.
func without(list []*attempt, a *attempt) []*attempt {
	for i, b := range list {
		if a == b {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}

// handOut gives waiting attempts to children that are ready for them.
func (p *pool) handOut() {
	if len(p.waiting) == 0 {
		return
	}
	if p.life.draining {
		for _, a := range p.waiting { // none of them was begun
			s := queue.Settlement{}
			release(&s, queue.CountNothing, 0)
			p.settle(a, s)
		}
		p.waiting = nil
		return
	}
	left := p.waiting[:0]
	for i, a := range p.waiting {
		if a.lease.warning(p.cfg.Child.KillGrace) <= p.now {
			p.renewals.now() // it came with a lock that has almost ended
			left = append(left, a)
			continue
		}
		if !p.give(a) {
			left = append(left, p.waiting[i:]...)
			break
		}
	}
	clear(p.waiting[len(left):])
	p.waiting = left
}

// give gives an attempt to a child and reports whether that is settled, one way or
// another. Without a child it stays where it is.
func (p *pool) give(a *attempt) bool {
	for {
		m := p.vacancy()
		if m == nil {
			return false
		}
		a.wire.Lease = a.lease.end() - p.now
		err := m.take(a)
		if err == nil {
			return true
		}
		if errors.Is(err, runner.ErrPayload) {
			p.unworkable(a, err)
			return true
		}
		a.stage, a.member = waiting, nil
		p.retire(m, err.Error())
	}
}

// stop asks the child of a running attempt to stop it, and kills it after grace.
func (p *pool) stop(a *attempt, cause runner.Cause, grace time.Duration) {
	a.stage = stopping
	a.cause, a.grace = cause, grace
	if a.run != nil { // else as soon as it is known
		a.run.Cancel(cause, grace)
	}
}

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
	p.judge(a, e, o.bearing)
	if o.bearing != good {
		p.report(a, e, o)
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

// report writes down an attempt that was not acknowledged.
func (p *pool) report(a *attempt, e *runner.Ending, o outcome) {
	level, action := slog.LevelInfo, string(o.settlement.Action)
	switch {
	case o.redo:
		action = "redo"
	case o.drop:
		action = "drop"
	case e.Kind != runner.Said && e.Kind != runner.Interrupted:
		level = slog.LevelWarn
	}
	p.log.LogAttrs(p.ctx, level, "attempt not acknowledged",
		slog.String("jid", a.job.JID),
		slog.String("queue", a.job.Queue),
		slog.String("klass", a.job.Klass),
		slog.Int("attempt", a.wire.Attempt),
		slog.String("run", a.wire.Run),
		slog.String("ending", e.Kind.String()),
		slog.String("action", action),
		slog.String("group", o.settlement.Group),
		slog.String("message", o.settlement.Message),
		slog.Int("pid", a.member.pid()),
	)
}

// redo gives an attempt that was not begun to another child.
func (p *pool) redo(a *attempt, e *runner.Ending) {
	a.early = a.early || e.Kind == runner.LeftEarly
	if e.Checkpoint != nil {
		a.job.Checkpoint = e.Checkpoint
	}
	a.prepare(p.cfg.Timeout)
	a.stage, a.member, a.run, a.gap, a.warned = waiting, nil, nil, 0, false
	p.waiting = append([]*attempt{a}, p.waiting...)
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
