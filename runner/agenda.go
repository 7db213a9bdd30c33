package runner

import (
	"time"

	"oarlock/runner/internal/proc"
)

// A child that may or may not say hello must have lived for probation to be given a
// job, for one that fails at once shall not have any. If it is at work then, or would
// be if it were given a core, it has not come to its input: it is looked at again until
// it sleeps, or probationLimit is over.
const (
	probation      = 200 * time.Millisecond
	probationAgain = 50 * time.Millisecond
	probationLimit = 2 * time.Second
)

// unreadAgain is the time between two looks at whether a child reads at last of a job whose time was over before.
const unreadAgain = 50 * time.Millisecond

// sampling is the time between two looks at the memory of a run.
const sampling = time.Second

// agenda sorts moments into those that have come and those to come back for.
type agenda struct {
	now  time.Time
	next time.Time // the earliest one to come; zero: none
}

// due tells whether at has come. The zero time never does.
func (a *agenda) due(at time.Time) bool {
	if at.IsZero() {
		return false
	}
	if !at.After(a.now) {
		return true
	}
	if a.next.IsZero() || at.Before(a.next) {
		a.next = at
	}
	return false
}

// attend does what is due for the child now, and has the clock come back for the rest.
func (c *Child) attend() { c.host.clock.arm(c.look(time.Now())) }

// look does what is due at now and returns when to look again; zero: not before
// something happens. It is all that ever happens to a child because time passes.
func (c *Child) look(now time.Time) (next time.Time) {
	a := agenda{now: now}
	var do []func()
	c.mu.Lock()
	if c.state == Gone {
		c.mu.Unlock()
		return time.Time{}
	}
	if c.state == Starting {
		do = c.lookAtStart(&a, do)
	}
	if len(c.runs) > 0 {
		do = c.lookAtRun(&a, c.runs[0], do)
	}
	if !c.termed && !c.killed && a.due(c.termAt) && !a.due(c.killAt) {
		c.termed = true
		if c.state != Draining { // so it is for a run's sake, which may yet be answered
			c.move(Draining)
			do = append(do, func() { c.events.Bye(c, "it was told to stop a run by a signal") })
		}
		do = append(do, c.terminate)
	}
	if !c.killed && a.due(c.killAt) {
		c.killed = true
		c.move(Killing)
		do = append(do, c.proc.Kill)
	}
	c.mu.Unlock()
	for _, s := range [...]*stream{c.st, c.out, c.err} {
		if s == nil {
			continue
		}
		if at := s.tellAt.Load(); at != nil && a.due(*at) {
			do = append(do, s.lateTell)
		}
	}
	for _, f := range do {
		f()
	}
	return a.next
}

// lookAtStart looks at a child that is not ready. The caller holds mu.
func (c *Child) lookAtStart(a *agenda, do []func()) []func() {
	if c.spec.Hello != HelloRequired && c.spec.Mode == Reuse {
		if c.trialEnds.IsZero() {
			c.trialEnds = c.started.Add(probation)
		}
		switch {
		case !a.due(c.trialEnds):
		case a.now.Before(c.started.Add(probationLimit)) && onItsWay(c.pid):
			c.trialEnds = a.now.Add(probationAgain)
			a.due(c.trialEnds)
		default:
			c.becomeReady()
			do = append(do, func() { c.events.ChildReady(c) })
		}
		return do
	}
	if a.due(c.started.Add(c.spec.StartTimeout)) {
		c.cause, c.why = CauseStart, "it did not say hello within "+c.spec.StartTimeout.String()
		c.hasten(a.now, a.now)
	}
	return do
}

// onItsWay tells whether a process runs, waits for a core or a disk to go on, or has ended without anybody having
// noticed yet.
func onItsWay(pid int) bool {
	s, ok := proc.Read(pid)
	return ok && (s.State == 'R' || s.State == 'D' || s.State == 'Z')
}

// lookAtRun looks at the run in front. The caller holds mu.
func (c *Child) lookAtRun(a *agenda, r *Run, do []func()) []func() {
	if r.stopping == CauseNone {
		if !r.unread.IsZero() {
			c.awaitReading(a, r)
		}
		switch {
		case r.limits.Timeout > 0 && a.due(r.clock().Add(r.limits.Timeout)):
			c.timeIsUp(a, r, CauseTimeout)
		case c.spec.StallTimeout > 0 && a.due(c.lastSign(r).Add(c.spec.StallTimeout)):
			c.timeIsUp(a, r, CauseStall)
		}
		if r.stopping != CauseNone {
			cause := r.stopping
			do = append(do, func() { c.events.RunStopping(c, r, cause) })
		}
	}
	if c.spec.Mode != Once && !r.read && !c.killed && a.due(r.since.Add(c.spec.WriteTimeout)) && !c.hasRead(r) {
		c.cause, c.why = CauseProtocol, "it did not read its job within "+c.spec.WriteTimeout.String()
		c.hasten(a.now, a.now)
	}
	if r.batch == nil {
		do = c.lookAtKept(a, r, do)
	} else {
		for _, one := range r.batch.open() {
			do = c.lookAtKept(a, one, do)
		}
	}
	if a.due(r.sampleAt) {
		r.sampleAt = a.now.Add(sampling)
		a.due(r.sampleAt)
		do = append(do, func() { c.sample(r) })
	}
	return do
}

// timeIsUp stops a run whose time is over. But a child that has not begun to read of its job has yet to begin it: the time
// starts anew, as long as it is not killed for that. The caller holds mu.
func (c *Child) timeIsUp(a *agenda, r *Run, cause Cause) {
	if c.spec.Mode == Once || c.hasRead(r) {
		c.stop(r, cause, c.spec.KillGrace, a.now)
		return
	}
	c.awaitReading(a, r)
}

// awaitReading has the time of r begin now, and again and again until its child has begun to read of it. The caller holds mu.
func (c *Child) awaitReading(a *agenda, r *Run) {
	if !r.read && !c.hasRead(r) {
		r.unread = a.now
		a.due(a.now.Add(unreadAgain))
	}
}

// clock is when the time of r began. The caller holds mu.
func (r *Run) clock() time.Time {
	if r.unread.After(r.since) {
		return r.unread
	}
	return r.since
}

// lookAtKept passes on what a run sent too often to be passed on each time. The caller holds mu.
func (c *Child) lookAtKept(a *agenda, r *Run, do []func()) []func() {
	if a.due(r.progress.due) {
		r.progress.passed(a.now)
		p := r.progress.value
		do = append(do, func() { c.events.Progress(c, r, p) })
	}
	if a.due(r.checkpoint.due) {
		r.checkpoint.passed(a.now)
		data := r.checkpoint.value
		do = append(do, func() { c.events.Checkpoint(c, r, data) })
	}
	return do
}

// lastSign returns when the child last gave a sign of life during r. The caller holds mu.
func (c *Child) lastSign(r *Run) time.Time {
	last := c.started.Add(time.Duration(c.lastOut.Load()))
	if began := r.clock(); last.Before(began) {
		return began
	}
	return last
}

// firstLook returns when to look at a child that was just given r.
func (c *Child) firstLook(r *Run) time.Time {
	after := min(sampling, c.spec.WriteTimeout)
	if r.limits.Timeout > 0 {
		after = min(after, r.limits.Timeout)
	}
	if c.spec.StallTimeout > 0 {
		after = min(after, c.spec.StallTimeout)
	}
	return time.Now().Add(after)
}
