package pool

import (
	"time"

	"oarlock/supervisor/internal/breaker"
)

// mayBegin reports whether the pool may begin another job now: always, unless its
// breaker is open or its retry_command has too much to answer. If it may not, there is a turn when it may.
func (p *Pool) mayBegin() bool {
	if p.askedTooMuch() {
		return false
	}
	if !p.breaker.Open {
		return true
	}
	if at := p.nextProbe(); p.now < at {
		p.alert(at)
		return false
	}
	return true
}

// nextProbe is when a pool whose breaker is open may begin another job, unless one ends before.
func (p *Pool) nextProbe() time.Duration {
	b := &p.breaker
	at := b.Next
	for _, a := range p.flight {
		if a.atWork() && a.began >= b.Anew {
			at = max(at, a.began+breaker.Hold)
		}
	}
	return at
}

// atWork reports whether a child has the attempt.
func (a *attempt) atWork() bool { return a.stage == running || a.stage == stopping }
