package pool

import (
	"errors"
	"slices"
	"time"

	"oarlock/queue"
	"oarlock/supervisor/internal/gate"
)

// releases are calls that give jobs back whose leases have ended, by themselves: an exchange may stand, or fail again and again, and what has no
// attempt any more must not be held. There is at most one on its way.
type releases struct {
	out  bool
	hold time.Duration // none before
}

// goesBack reports whether all that is left to do of an attempt is to give its job back. Its lock is not renewed: when that has run out, the job
// is to be had by others anyway.
func (a *attempt) goesBack() bool {
	return (a.stage == ended || a.stage == settling) && a.settlement.Action == queue.Release
}

// release gives back what has no lease any more.
func (p *Pool) release() {
	r := &p.releases
	if r.out || !p.Gate.IsOpen() {
		return
	}
	var attempts []*attempt
	var settlements []queue.Settlement
	for _, a := range p.endings {
		if !a.goesBack() || len(a.wishes) > 0 {
			continue
		}
		if at := max(a.lease.End(), r.hold); p.now < at {
			p.alert(at)
			continue
		}
		attempts, settlements = append(attempts, a), append(settlements, a.settlement)
	}
	if len(attempts) == 0 {
		return
	}
	p.endings = slices.DeleteFunc(p.endings, func(a *attempt) bool { return slices.Contains(attempts, a) })
	for _, a := range attempts {
		p.advance(a, settling)
	}
	r.out = true
	go func() { // reports to the loop
		results, err := p.store.Release(p.ctx, settlements)
		p.post(func() { p.released(attempts, results, err) })
	}()
}

// released hears what became of them. A release that failed is repeated: one that has run meanwhile is refused.
func (p *Pool) released(attempts []*attempt, results []queue.SettleResult, err error) {
	r := &p.releases
	r.out, r.hold = false, p.now+renewPause
	if err != nil {
		if p.Gate.SortHarmless(err) != gate.Away {
			p.log.Error("jobs not given back yet", "jobs", len(attempts), "err", err)
		}
		p.putBack(attempts)
		return
	}
	for i, a := range attempts {
		if a.stage != settling {
			continue
		}
		if err := results[i].Err; errors.Is(err, queue.ErrLockLost) || errors.Is(err, queue.ErrNoJob) { // it has run, or others have the job
			a.lost = true
			p.drop(a)
			continue
		}
		p.settled(a, results[i])
	}
}
