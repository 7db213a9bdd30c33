package supervisor

import (
	"syscall"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// together is how far apart the signals may arrive that somebody sends to a supervisor and
// to its children at once, as a service manager does to a whole control group.
const together = time.Second

// moment is how much later than a child's end we may hear of our own signal that was sent at
// the same time.
const moment = 100 * time.Millisecond

// Signaled tells that this process was just sent a signal that ends it; Stop or StopNow
// follow. Whoever sent it may have sent it to the children too, so a child that ends without
// a verdict from a second before to a second after that was interrupted, by whatever code or
// signal: its job goes back uncounted. That includes exit code 0, for many programs leave so
// when they are told to, in the middle of their work; only a verdict is believed then.
func (s *Supervisor) Signaled() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pools {
		p.post(p.signaled)
	}
	for _, p := range s.leaving {
		p.post(p.signaled)
	}
}

// signaled judges what ended just before anew, as far as Redis was not told of it.
func (p *pool) signaled() {
	p.life.together = p.now + together
	p.life.quiet = true // the drain follows in a moment, and what goes back now is for others
	withheld := p.withheld
	p.withheld = nil
	for _, a := range withheld {
		p.finish(a, interrupted(a.ending))
	}
	for _, a := range p.endings {
		if a.ending != nil && unspoken(a.ending) && p.now-a.endedAt <= together {
			a.ending = interrupted(a.ending)
			a.settlement = p.conclude(a, a.ending).Settlement
			p.count.Interrupted++
		}
	}
}

// unspoken reports whether a child ended by itself, or by somebody else, and said nothing
// about its job.
func unspoken(e *runner.Ending) bool {
	return e.Verdict == nil && e.SentByUs == runner.CauseNone && e.Kind != runner.Innocent
}

// interrupted is an ending by a signal that was meant for all of us.
func interrupted(e *runner.Ending) *runner.Ending {
	i := *e
	i.Kind, i.Group = runner.Interrupted, ""
	i.Message = "the child ended as its supervisor was told to"
	if e.Message != "" {
		i.Message += ": " + e.Message
	}
	return &i
}

// bySignal reports whether a child ended as one does that was told to by a signal for
// services to end, or for a terminal that closes.
func bySignal(e *runner.Ending) bool {
	switch e.Signal {
	case syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP:
		return true
	}
	switch syscall.Signal(e.ExitCode - 128) { // as shells tell of a signal
	case syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP:
		return true
	}
	return false
}

// withhold keeps an ending back for as long as the signal that caused it may still arrive
// here, and reports whether it does. What went well waits for nothing.
func (p *pool) withhold(a *attempt, e *runner.Ending) bool {
	failed := e.Kind == runner.Died || e.Kind == runner.Exited && e.Action != protocol.ExitAck
	switch {
	case !unspoken(e) || a.lost || a.again:
		return false
	case bySignal(e):
		a.settleAt = a.endedAt + together
	case failed:
		a.settleAt = a.endedAt + moment
	default:
		return false
	}
	p.advance(a, ended)
	p.withheld = append(p.withheld, a)
	return true
}

// finishWithheld concludes what was kept back for long enough.
func (p *pool) finishWithheld() {
	withheld := p.withheld
	p.withheld = nil
	for _, a := range withheld {
		if p.now < a.settleAt && !p.life.killed {
			p.alert(a.settleAt)
			p.withheld = append(p.withheld, a)
			continue
		}
		p.finish(a, a.ending)
	}
}
