package pool

import (
	"slices"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
	"oarlock/supervisor/outcome"
)

// together is how far apart the signals may arrive that somebody sends to a supervisor and
// to its children at once, as a service manager does to a whole control group.
const together = time.Second

// moment is how much later than a child's end we may hear of our own signal that was sent at
// the same time.
const moment = 100 * time.Millisecond

// signaled judges what ended just before anew, as far as Redis was not told of it.
func (p *Pool) signaled() {
	p.life.together = p.now + together
	p.life.quiet = true // the drain follows in a moment, and what goes back now is for others
	withheld := p.withheld
	p.withheld = nil
	for _, a := range withheld {
		p.finish(a, outcome.AsInterrupted(a.ending))
	}
	for _, a := range slices.Clone(p.asking.of) {
		if a.ending != nil && outcome.Unspoken(a.ending) && p.now-a.endedAt <= together {
			p.unasked(a)
			a.ending = outcome.AsInterrupted(a.ending)
			o := p.conclude(a, a.ending)
			p.tellEnded(a, a.ending, &o)
			p.settleAs(a, a.ending, &o)
		}
	}
	for _, a := range p.endings {
		if a.ending != nil && outcome.Unspoken(a.ending) && p.now-a.endedAt <= together {
			a.ending = outcome.AsInterrupted(a.ending)
			a.settlement = p.conclude(a, a.ending).Settlement
			p.count.Interrupted++
		}
	}
}

// withhold keeps an ending back for as long as the signal that caused it may still arrive
// here, and reports whether it does. What went well waits for nothing.
func (p *Pool) withhold(a *attempt, e *runner.Ending) bool {
	failed := e.Kind == runner.Died || e.Kind == runner.Exited && e.Action != protocol.ExitAck
	switch {
	case !outcome.Unspoken(e) || a.lost || a.again:
		return false
	case outcome.BySignal(e):
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
func (p *Pool) finishWithheld() {
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
