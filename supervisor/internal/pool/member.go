package pool

import (
	"errors"
	"syscall"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/internal/breaker"
	"oarlock/supervisor/internal/proof"
	"oarlock/supervisor/internal/starts"
	"oarlock/supervisor/internal/statedir"
	"oarlock/supervisor/outcome"
	"oarlock/supervisor/report"
)

// member is one child of a pool, from the decision to start it until it is gone. It
// belongs to the loop.
type member struct {
	pool   *Pool
	slot   *slot
	gen    *generation
	child  Child         // nil while it is being started
	permit starts.Permit // to start it, until it has been
	entry  int           // where the state directory notes its process; statedir.NoEntry if nowhere
	first  *attempt      // in mode once: the job it is started for
	state  memberState
	runs   []*attempt // given and not ended, in the order they were written

	jobs      int  // runs that it worked, well or badly
	hasRead   bool // a job: it came to work
	born      time.Duration
	fitSince  time.Duration // when it was ready, or, in mode once, when its process ran
	idle      time.Duration // since when it has had no run
	busy      time.Duration // how long it has worked jobs, in all
	endedAt   time.Duration // when its last run ended
	length    time.Duration // of that
	memory    int64         // bytes, as last seen
	asked     bool          // somebody wants it replaced
	row       breaker.Row   // what it ended badly, one after the other
	sick      bool          // that is its own doing, and not its jobs'
	wentFor   string        // why it was taken out of its slot: one of report.Left…; "" if it was not
	weighAt   time.Duration // when to look at its memory again after a job; never while somebody does
	maxJobs   int           // its own limits: those of the pool, spread
	maxAge    time.Duration
	maxMemory int64
}

// newMember prepares a member for a slot without starting it.
func (p *Pool) newMember(s *slot) *member {
	m := &member{pool: p, slot: s, gen: s.gen, entry: statedir.NoEntry, born: p.now, idle: p.now}
	m.limit(&p.cfg)
	return m
}

// start starts a member: a resident, or in mode once one for its first job.
func (p *Pool) start(m *member) *member {
	ctx := p.resident
	var first *protocol.Job
	var lease time.Duration
	if m.first != nil {
		ctx, first, lease = p.ctx, m.first.wire, m.first.lease.End()
	}
	p.births.Begun(m.slot, m)
	p.Places.Take(p.place(m.slot))
	go func() { // reports to the loop
		c, err := p.Starter.Start(ctx, &m.gen.spec, m.slot.n, first, lease, reporter{m})
		if err != nil {
			p.Places.Leave(p.place(m.slot))
		}
		short := m.shortage(err)
		p.post(func() { m.started(c, err, short) })
	}()
	return m
}

// shortage returns what the host has run out of, if that is why a start failed, else "".
func (m *member) shortage(err error) string {
	own := errors.Is(err, syscall.ENOMEM) && m.gen.spec.Sandbox.Limits.Memory != nil // a limit of the pool's own
	if !runner.Short(err) || own {
		return ""
	}
	return runner.Shortage(err)
}

// started hears that the process runs, or why it does not; short is what the host has run
// out of, if that is the reason.
func (m *member) started(c Child, err error, short string) {
	p := m.pool
	p.Starts.Over(m.permit, short, p.now)
	if err != nil {
		if a := m.first; a != nil {
			p.ended(a, runner.NotStarted(err))
			m.runs = nil
		}
		m.exit(runner.Exit{Code: -1, Message: err.Error()}, short != "")
		return
	}
	m.child = c
	if p.once() {
		m.becameReady()
	}
	p.count.Started++
	p.event(report.Event{Kind: report.ChildStarted, Slot: m.slot.n, PID: c.PID()})
	if m.entry, err = p.Legacy.Enter(c.PID(), c.PGID()); err != nil {
		p.log.Warn("child not noted in the state directory", "err", err)
	}
	switch {
	case p.life.killed:
		c.Kill(runner.CauseShutdown)
	case m.leaves() && len(m.runs) == 0:
		m.leave()
	}
	if a := m.first; a != nil {
		switch err := m.hand(a); {
		case errors.Is(err, runner.ErrPayload):
			p.unworkable(a, err)
			c.Kill(runner.CauseShutdown)
		case err != nil: // it was just killed with all the others
			p.ended(a, &runner.Ending{Kind: runner.Interrupted, SentByUs: runner.CauseShutdown, ExitCode: -1})
		}
	}
}

// take gives an attempt to a member that has room for it. It returns ErrLeaving of
// package runner if the child takes none any more, and ErrPayload if no child ever
// takes this one.
func (m *member) take(a *attempt) error {
	m.pool.advance(a, running)
	a.member, a.began, a.wellAt = m, m.pool.now, m.pool.wellAt
	m.pool.breaker.Begun(m.pool.now)
	m.pool.watch(a.lease) // it may have been renewed while it waited
	m.runs = append(m.runs, a)
	if m.child == nil { // mode once: its process comes with the job
		m.first = a
		m.slot.member = m
		m.pool.start(m)
		return nil
	}
	return m.hand(a)
}

// hand writes the job to the child.
func (m *member) hand(a *attempt) error {
	p := m.pool
	r, err := m.child.Give(a.wire, runner.RunLimits{Timeout: a.wire.Timeout, Lease: a.lease.End()})
	if err == nil {
		a.run = r
		if a.stage == stopping { // decided while the child was being started
			r.Cancel(a.cause, a.grace)
		} else if p.life.draining {
			r.Drain(p.left())
		}
		m.tellBegun(a)
		return nil
	}
	m.runs = without(m.runs, a)
	return err
}

// tellBegun tells the observer that the child has the attempt, unless the child was not told of it yet.
func (m *member) tellBegun(a *attempt) {
	p := m.pool
	if p.OnEvent == nil || a.told || a.run == nil || !a.run.Told() {
		return
	}
	a.told = true
	p.event(report.Event{Kind: report.AttemptStarted, Job: a.wire, Slot: m.slot.n, PID: m.child.PID(), Waited: p.waited(a)})
}

// waited is how long a job that is being begun has waited since it was put, or since it was last popped; 0 if
// that is not known, or was told before: each job waits once, however many children it is given to.
func (p *Pool) waited(a *attempt) time.Duration {
	if a.counted || a.job.Put == 0 {
		return 0
	}
	a.counted = true
	return max(queue.Duration(p.Redis.Now()-a.job.Put), 0)
}

// room is how many more jobs the member can be given now.
func (m *member) room(prefetch int) int {
	p := m.pool
	if m.state != memberReady || m.child == nil {
		return 0
	}
	if m.rests() {
		return 0
	}
	if prefetch > 0 && (m.gen.OnTrial() || m.silent() || p.auto() && !m.child.NamesRuns()) {
		prefetch = 0
	}
	if p.cfg.Batch > 1 && !p.breaker.Open && m.child.Batches() {
		return m.batchRoom()
	}
	if m.gen.spec.Mode != runner.Reuse {
		return max(1-len(m.runs)-m.jobs, 0)
	}
	return max(min(1+prefetch, m.left())-len(m.runs), 0)
}

// keeps reports whether an attempt of the member is kept ready behind another: its child knows nothing of it.
func (m *member) keeps(a *attempt) bool { return a != m.runs[0] && a.company == nil }

// rests reports whether the member has to leave its slot's work to another: to the old
// member that stays and has a job, or, of old code that is about to be replaced, to a
// replacement: one that will be ready sooner than a job would end, or, however long it takes, if all jobs of the old code ended badly.
func (m *member) rests() bool {
	p := m.pool
	r := p.roll
	if r == nil {
		return false
	}
	if m.slot.member != m { // it stays
		return false
	}
	if m.gen == r.to {
		old := p.stayingIn(m.slot)
		return old != nil && len(old.runs) > 0
	}
	if r.to.Standing == proof.Untried || r.over {
		return false
	}
	return r.mends || len(m.runs) == 0 && p.replacementsCome(max(m.idle, r.followAt))
}

// replacementsCome reports whether the replacements of all slots are about to come, who were awaited since
// then, before a job would have ended. Some may not come up, whatever the first of them did;
// the old ones are not idle for that.
func (p *Pool) replacementsCome(since time.Duration) bool {
	batches := time.Duration(len(p.slots)/p.surplus() + 1)
	until := since + max(bootsAhead*batches*p.boot, time.Second)
	if p.now >= until || batches*p.boot >= p.scaling.Length() {
		return false
	}
	p.alert(until)
	return true
}

// finished notes that a run of the member ended.
func (m *member) finished(a *attempt, e *runner.Ending) {
	p := m.pool
	m.runs = without(m.runs, a)
	if outcome.Worked(e) {
		m.jobs++
		m.lasted(a, e)
		m.endedAt, m.length = p.now, e.Wall
		p.weighAfterJob(m)
	}
	if outcome.Worked(e) || e.Began { // a child that has read its job has started, whatever it made of it
		if !m.hasRead {
			p.spawns.Earned()
		}
		m.hasRead = true
		p.failedStarts = 0
		p.births.Worked(m.born)
	}
	switch {
	case len(m.runs) == 0:
		m.idle = p.now
		if m.leaves() {
			m.leave()
		}
	case m.runs[0].company == nil: // it was kept ready, and is told now
		m.runs[0].began = p.now
	}
}

// lasted takes note of how long the member worked an attempt that has just ended, by the clock of whoever heard it: the loop
// hears of several together. Of those that came in one message the last tells it for all: they may end in the same moment.
func (m *member) lasted(a *attempt, e *runner.Ending) {
	length, each := e.Wall, time.Duration(1)
	if a.company != nil {
		if len(m.runs) > 0 {
			return
		}
		each = time.Duration(a.company.of)
	}
	m.busy += length
	m.pool.scaling.Lasted(length / each)
}

// exit forgets a member whose process is gone, or was not started; short says that the host had
// not what its start takes.
func (m *member) exit(exit runner.Exit, short bool) {
	p := m.pool
	asked := m.state == memberAsked
	m.to(memberGone)
	p.Legacy.Leave(m.entry)
	p.event(report.Event{Kind: report.ChildExited, Slot: m.slot.n, PID: m.pid(), Exit: &exit, Reason: m.reason(exit)})
	m.greeted()
	m.leftBehind(exit)
	stayed := p.stayingIn(m.slot) == m
	p.dislodge(m)
	delete(p.leavers, m)
	if stayed {
		p.stayOn(m)
	}
	for _, a := range m.runs { // none is left, by the contract of runner.Events
		p.log.Error("child ended without ending its run", "jid", a.job.JID)
	}
	if m.child != nil {
		p.Starts.Freed()
	}
	switch {
	case short:
		p.births.Ended(m)
	case m.child == nil && p.life.draining: // its start was given up
	case stayed, asked, m.hasRead, m.first != nil: // what was started for a job has ended it
		p.births.Ended(m)
	default:
		p.startFailed(m, exit)
	}
}

// dislodge takes a member from its place in its slot.
func (p *Pool) dislodge(m *member) {
	if m.slot.member == m {
		m.slot.member = nil
	}
	if m.slot.next == m {
		m.slot.next = nil
	}
	if p.roll != nil {
		p.roll.staying = without(p.roll.staying, m)
	}
}

// ranOut tells all pools that the host was short of something when the member's process was
// to become its program.
func (m *member) ranOut(exit runner.Exit) {
	p := m.pool
	go func() { // reports to the loop
		short := runner.Shortage(errors.New(exit.Message))
		p.post(func() { p.Starts.RanOut(short, p.now) })
	}()
}

// leftBehind counts what a program that worked a single job, and exited well, had left running. That
// it was killed is said once, for it may have been meant to go on.
func (m *member) leftBehind(exit runner.Exit) {
	p := m.pool
	if exit.Left == 0 || exit.Code != 0 || exit.Cause != runner.CauseNone || m.first == nil {
		return
	}
	if p.count.LeftBehind == 0 {
		p.log.Warn("a job's program exited and left processes running, which were killed; said once, status counts them",
			"processes", exit.Left, "jid", m.first.job.JID, "klass", m.first.job.Klass, "pid", m.pid(),
			"advice", "let it wait for them; what is to outlive a job is a job of its own (oarlock say put), or a service's (systemd-run --no-block)")
	}
	p.count.LeftBehind += exit.Left
}

// pid is the process id, 0 if it never started.
func (m *member) pid() int {
	if m == nil || m.child == nil {
		return 0
	}
	return m.child.PID()
}
