package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/protocol"
	"oarlock/runner/internal/tree"
)

// lastWords is how long the pipes of a child that is gone are read on: something
// that escaped may hold them open for ever.
const lastWords = 250 * time.Millisecond

// reap waits for the end of the child and tells of it. It is the only one that does.
func (c *Child) reap() {
	exit := exitOf(c.proc.Wait())
	now := time.Now()
	<-c.claimed
	for _, s := range c.streams() {
		s.hurry(lastWords)
	}
	c.listening.Wait()
	consumed := c.in.consumed()
	c.in.close()

	c.mu.Lock()
	switch {
	case exit.Signal == unix.SIGKILL && c.proc.Lapsed():
		c.lapsed()
		exit.Cause = CauseLockLost
	case c.termed || c.killed:
		exit.Cause = c.cause
		if c.cause == CauseNone {
			exit.Cause = c.stopped
		}
	case c.told && exit.Signal == c.spec.DrainSignal:
		exit.Cause = CauseShutdown
	case c.cause == CauseShutdown && exit.Code == 0 && !c.oneJob():
		// It read the end of its input and left. A child that works a single job
		// would have left anyway.
		exit.Cause = c.cause
	}
	exit.Message = joinLines(c.why, exit.Message)
	runs := c.runs
	c.runs = nil
	c.move(Gone)
	c.mu.Unlock()

	failed := false
	for _, r := range runs {
		if c.mayEnd(r) {
			first := !r.since.IsZero()
			began := first && (c.spec.Mode == Once || c.spec.Input == InputNone || r.readBy(consumed))
			c.classify(r, &exit, first, began)
		}
		failed = failed || c.keepsDir(&r.ending)
	}
	if exit.Message == "" && !slices.ContainsFunc(runs, func(r *Run) bool { return r.ending.Began }) {
		exit.Message = strings.TrimSpace(string(c.err.tail.text())) // whatever it was given, this is why it did not start
	}
	dir := c.giveBackDir(&exit, failed)
	for _, r := range runs {
		r.ending.Dir = dir
		c.finish(nil, r, now)
	}
	c.proc.Release()
	c.exit = exit
	c.events.ChildExited(c, exit)
	close(c.exited)
	c.host.forget(c)
}

// lapsed notes that a guard has killed the child, whose lease had ended. The caller holds mu.
func (c *Child) lapsed() {
	c.stopped = CauseLockLost
	if len(c.runs) == 0 {
		return
	}
	first := c.runs[0] // of a batch, the one whose lease ended first: the others were only in its way
	for _, r := range c.runs {
		if r.batch != nil && r.lease > 0 && r.lease < first.lease {
			first = r
		}
	}
	if first.stopping == CauseNone {
		first.stopping = CauseLockLost
	}
}

// classify says how r ended by the end of its process. first tells whether it was the
// next to be worked, and began whether the child had read so far.
func (c *Child) classify(r *Run, exit *Exit, first, began bool) {
	e := &r.ending
	e.ExitCode, e.Signal, e.OOM = exit.Code, exit.Signal, exit.OOM
	e.Began = began
	switch {
	case c.oneJob():
		e.CPU = exit.UserCPU + exit.SystemCPU
	case first:
		e.CPU = max(exit.UserCPU+exit.SystemCPU-r.cpuBefore(), 0)
	}
	e.SentByUs = c.causeOf(r, exit)
	switch {
	case c.stoppedForRun(r):
	case !first:
		e.Kind, e.Message = Innocent, "its child ended at an earlier job"
	case stoppedForChild(e, exit):
	case !exit.Started && !exit.Lost:
		c.neverStarted(e, exit)
	default:
		c.leftByItself(e, exit, began)
	}
}

// causeOf returns why we ended r, or the child for other reasons than r; CauseNone: we did not.
func (c *Child) causeOf(r *Run, exit *Exit) Cause {
	switch { // nobody changes r.stopping any more
	case r.stopping != CauseNone:
		return r.stopping
	case exit.Cause != CauseNone && exit.Cause == c.stopped:
		return CauseShutdown // it was another run that had to be stopped
	}
	return exit.Cause
}

// stoppedForRun says how r ended if we ended it for its own sake, and tells whether we did.
func (c *Child) stoppedForRun(r *Run) bool {
	e := &r.ending
	switch e.SentByUs {
	case CauseCanceled:
		e.Kind, e.Message = Canceled, "canceled"
	case CauseLockLost:
		e.Kind, e.Message = LockLost, "the lock was lost"
	case CauseTimeout:
		e.Kind, e.Group, e.Message = TimedOut, "timeout", "took longer than "+r.limits.Timeout.String()
		if r.limits.Timeout == 0 {
			e.Message = "took too long"
		}
	case CauseStall:
		e.Kind, e.Group, e.Message = TimedOut, "stalled", "was silent for longer than "+c.spec.StallTimeout.String()
	default:
		return false
	}
	return true
}

// stoppedForChild says how a run ended if we ended its child, and tells whether we did.
func stoppedForChild(e *Ending, exit *Exit) bool {
	switch e.SentByUs {
	case CauseShutdown:
		e.Kind, e.Message = Interrupted, "the child was told to leave"
	case CauseMemory:
		e.Kind, e.Group, e.Message = Died, "memory", "outgrew its memory limit"
	case CauseProtocol:
		e.Kind, e.Group, e.Message = BrokeProtocol, "protocol", exit.Message
	case CauseStart:
		e.Kind, e.Group, e.Message, e.Began = CouldNotStart, "start", exit.Message, false
	default:
		return false
	}
	return true
}

// neverStarted says how a run ended whose program could not be run at all.
func (c *Child) neverStarted(e *Ending, exit *Exit) {
	e.Kind, e.Began = CouldNotStart, false
	e.Group, e.Message = "start", joinLines(exit.Message, c.lastSaid())
	switch exit.Code {
	case tree.ExitTooBig:
		if c.filled.longest != "" {
			e.Kind, e.Group, e.Message = BadArguments, "bad-arguments", c.filled.tooMuch()
		}
	case tree.ExitCannotRun, tree.ExitNotFound:
	case tree.ExitShort:
		e.Short = true
	default:
		e.Short = true
		e.Message = "what was to become the program died before: " + describe(exit) + "; has the host run out of processes or memory?"
	}
}

// leftByItself says how a run ended whose child left, or was ended by somebody else.
func (c *Child) leftByItself(e *Ending, exit *Exit, began bool) {
	switch {
	case exit.Lost:
		e.Kind, e.Group, e.Message = Died, "unknown", "its end was not seen"
	case !began:
		e.Kind, e.Message = LeftEarly, "the child left before it read the job: "+describe(exit)
	case exit.OOM != "":
		e.Kind, e.Group, e.Message = Died, "oom", joinLines(exit.OOM, c.lastSaid())
	case exit.Signal != 0:
		e.Kind, e.Group, e.Message = Died, signalGroup(exit), joinLines(describe(exit), c.lastSaid())
	case exit.Code == 0 && (!c.oneJob() || c.hello != nil):
		e.Kind, e.Group, e.Message = Died, protocol.ExitGroup(0), "left without a verdict"
	default:
		e.Kind, e.Action = Exited, c.spec.ExitCodes.Action(exit.Code)
		if exit.Code != 0 && e.Action != protocol.ExitAck {
			e.Group, e.Message = protocol.ExitGroup(exit.Code), cmp.Or(c.lastSaid(), describe(exit))
		}
	}
}

// lastSaid returns the last line of stderr that says something.
func (c *Child) lastSaid() string { return protocol.Why(string(c.err.tail.text())) }

// keepsDir tells whether the private directory is to be kept because of e.
func (c *Child) keepsDir(e *Ending) bool {
	if c.dir == "" || c.spec.Sandbox.KeepFailed == 0 || !c.oneJob() {
		return false
	}
	switch e.Kind {
	case Said:
		return e.Verdict.Kind == protocol.Retry || e.Verdict.Kind == protocol.Fail
	case Exited:
		return e.Action != protocol.ExitAck && e.Action != protocol.ExitRelease
	}
	return e.Kind == TimedOut || e.Kind == Died
}

// describe says how a process ended.
func describe(exit *Exit) string { return tree.How(exit.Code, exit.Signal, exit.CoreDump) }

// signalGroup names the group of failures that ended by that signal: signal-SEGV.
func signalGroup(exit *Exit) string {
	name := unix.SignalName(exit.Signal)
	if name == "" {
		return fmt.Sprintf("signal-%d", int(exit.Signal))
	}
	return "signal-" + strings.TrimPrefix(name, "SIG")
}

// joinLines joins the texts that are not empty, a line each.
func joinLines(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n")
}
