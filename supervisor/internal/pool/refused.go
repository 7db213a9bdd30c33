package pool

import (
	"time"

	"oarlock/queue"
	"oarlock/supervisor/internal/clock"
	"oarlock/supervisor/outcome"
)

// A settlement that is refused for good is sent again after pauses that grow from
// refusedFirst to refusedLimit.
const (
	refusedFirst = time.Second
	refusedLimit = 5 * time.Minute
)

// settleOtherwise finds another end for an attempt whose settlement Redis refuses as
// such: a next queue that cannot be, data that is no JSON. The job fails with the reason;
// if even that is refused it goes back.
//
// Where the job's keys are not what they should be, neither can be. Such an attempt is
// kept: if we forgot it, the next audit would find the job in our name and run it
// again, for ever. Its failure is sent again now and then, for somebody may have mended
// the keys, until the lock is lost.
func (p *Pool) settleOtherwise(a *attempt, err error) {
	a.refused++
	if a.refused == 1 {
		a.objection = err.Error()
	}
	p.log.Error("settlement refused", "jid", a.job.JID, "queue", a.job.Queue, "run", a.wire.Run,
		"action", string(a.settlement.Action), "times", a.refused, "err", err)
	switch a.refused {
	case 1:
		p.submit(a, refusal(a))
	case 2:
		s := queue.Settlement{MaxCrashes: p.cfg.MaxCrashes}
		outcome.Release(&s, queue.CountCrash, outcome.ReleaseDelay) // or it would go round for ever
		p.submit(a, s)
	default:
		p.advance(a, ended)
		a.settleAt = p.now + clock.Jittered(min(refusedFirst<<min(a.refused-3, 20), refusedLimit))
		p.refused = append(p.refused, a)
	}
}

// refusal is the end of a job whose own end was refused.
func refusal(a *attempt) queue.Settlement {
	return queue.Settlement{Action: queue.Fail, Group: "refused", Message: a.objection}
}

// submitRefused lets those try again whose pause is over.
func (p *Pool) submitRefused() {
	left := p.refused[:0]
	for _, a := range p.refused {
		if p.now < a.settleAt {
			p.alert(a.settleAt)
			left = append(left, a)
			continue
		}
		p.submit(a, refusal(a))
	}
	clear(p.refused[len(left):])
	p.refused = left
}
