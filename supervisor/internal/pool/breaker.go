package pool

import "oarlock/supervisor/internal/breaker"

// mayBegin reports whether the pool may begin another job now: always, unless its
// breaker is open. If it may not, there is a turn when it may.
func (p *Pool) mayBegin() bool {
	b := &p.breaker
	if !b.Open {
		return true
	}
	if p.now < b.Next {
		p.alert(b.Next)
		return false
	}
	for _, a := range p.flight {
		if old := a.began + breaker.Hold; a.atWork() && p.now < old && a.began >= b.Anew {
			p.alert(old)
			return false
		}
	}
	return true
}

// atWork reports whether a child has the attempt.
func (a *attempt) atWork() bool { return a.stage == running || a.stage == stopping }
