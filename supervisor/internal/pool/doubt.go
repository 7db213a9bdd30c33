package pool

import (
	"time"

	"oarlock/queue"
	"oarlock/supervisor/internal/clock"
	"oarlock/supervisor/internal/gate"
)

// resolve asks Redis what became of a call that was sent and not answered, and never
// repeats it. The store first makes sure that nothing of it can still run; then the
// settlements are settled by reading the jobs, and what Redis holds in our name
// beyond what is in flight is what the call has taken.
func (p *Pool) resolve() {
	e := &p.exchanges
	x := e.doubt
	e.out = true
	sent, now := p.now, p.Redis.Now()
	queues, known := p.queues, p.inFlight()
	go func() { // reports to the loop
		var resolutions []queue.Resolution
		var held []queue.Taken
		var err error
		if len(x.attempts) > 0 {
			resolutions, err = p.store.Resolve(p.ctx, x.settlements[:len(x.attempts)])
		}
		if err == nil {
			held, err = p.store.Held(p.ctx, queues, known...)
		}
		p.post(func() { p.resolved(x, resolutions, held, sent, now, err) })
	}()
}

func (p *Pool) resolved(x *exchange, resolutions []queue.Resolution, held []queue.Taken, sent time.Duration, now float64, err error) {
	e := &p.exchanges
	e.out = false
	if err != nil {
		p.askFailed(err)
		return
	}
	e.doubt = nil
	if e.doubts > 1 { // questions are answered and calls are not
		e.holdAll = p.now + e.refusals.NextBackOff()
	}
	e.wake()
	var again []*attempt
	for i, a := range x.attempts {
		if resolutions[i] == queue.NotRun {
			again = append(again, a)
			continue
		}
		p.count.Resolved++
		if a.lease.End() <= p.now { // then it may as well have been taken from us before
			p.log.Warn("verdict in doubt beyond its lock", "jid", a.job.JID, "queue", a.job.Queue, "run", a.wire.Run,
				"action", string(a.settlement.Action), "lease", p.standing(a), "err", queue.ErrDoubt)
		}
		p.concluded(a, queue.SettleResult{State: resolutions[i].String()})
		p.drop(a)
	}
	p.leaveAgain(x)
	p.putBack(again)
	if bytes := dataOf(held); p.exchanges.pace.Doubted(bytes, x.took) {
		p.asksForLess("a call that brought much data was not answered in time: asking for less", len(held), bytes, x.took)
	}
	recovered := p.hold(held, sent, now)
	p.log.Info("doubt resolved", "settled", len(x.attempts)-len(again), "unsettled", len(again), "recovered", recovered)
}

// audit looks for jobs that Redis holds in our name and that we do not know of, as a
// lost reply leaves them. It takes the place of an exchange, so that no take can be
// half-way meanwhile.
func (p *Pool) audit() {
	e := &p.exchanges
	e.out = true
	e.auditAt = p.now + clock.Jittered(p.renewals.interval())
	sent, now := p.now, p.Redis.Now()
	queues, known := p.queues, p.inFlight()
	go func() { // reports to the loop
		held, err := p.store.Held(p.ctx, queues, known...)
		p.post(func() {
			e.out = false
			if err != nil {
				p.askFailed(err)
				return
			}
			p.Gate.Worked()
			if n := p.hold(held, sent, now); n > 0 {
				p.log.Warn("audit found jobs of ours that nobody worked", "jobs", n)
			}
		})
	}()
}

// inFlight are the jobs that Held may leave out.
func (p *Pool) inFlight() []queue.RenewItem {
	known := make([]queue.RenewItem, 0, len(p.flight))
	for jid, a := range p.flight {
		known = append(known, queue.RenewItem{JID: jid, Queue: a.job.Queue, Popped: a.job.Popped})
	}
	return known
}

// hold receives what Redis holds in our name and returns how many of the jobs were
// not in flight. sent and now are the same moment on our clock and on Redis'.
func (p *Pool) hold(held []queue.Taken, sent time.Duration, now float64) int {
	found := 0
	for _, t := range held {
		if _, known := p.flight[t.JID]; !known {
			found++
			p.count.Recovered++
		}
		p.taken(t, p.leaseUntil(t.Expires, sent, now), never)
	}
	return found
}

// dataOf is how many bytes of data jobs have.
func dataOf(jobs []queue.Taken) (bytes int64) {
	for i := range jobs {
		bytes += jobs[i].Size
	}
	return bytes
}

// askFailed hears that a question failed, which may be asked again.
func (p *Pool) askFailed(err error) {
	if p.Gate.SortHarmless(err) == gate.Away {
		return
	}
	p.log.Error("redis refused to say what is ours", "err", err)
	p.exchanges.holdAll = p.now + p.exchanges.refusals.NextBackOff()
}
