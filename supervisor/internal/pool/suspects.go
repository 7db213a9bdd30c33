package pool

import (
	"time"

	"oarlock/supervisor/internal/clock"
	"oarlock/supervisor/internal/statedir"
)

const (
	// suspectPatience is how long a suspect is held until its turn comes, before another
	// supervisor may have it.
	suspectPatience = 30 * time.Second
	// suspectPause is how long it stays away then.
	suspectPause = 10 * time.Second
)

// suspected gives a suspect its turn, unless another has it, and reports whether it is at its turn.
func (p *Pool) suspected(a *attempt) bool {
	a.accused = p.Suspects.Admit(p, statedir.Accused{Worker: p.worker, JID: a.job.JID}, p.log)
	return a.accused
}

// acquit ends the turn of an attempt that is at work no more, if it was a suspect's.
func (p *Pool) acquit(a *attempt) {
	if a.accused {
		a.accused = false
		p.Suspects.Leave(p.log)
	}
}

// tendSuspects lets a suspect run if a child is free for it and no other runs. Those whose
// turn does not come are given back, so that they keep nobody from anything.
func (p *Pool) tendSuspects() {
	held := p.held
	p.held = nil
	for _, a := range held {
		switch {
		case p.life.draining:
			p.waiting = append(p.waiting, a) // to go back with them
		case p.room() > len(p.waiting) && p.suspected(a):
			p.log.Warn("running a job that was at work each time its supervisors died; no other such job runs at the same time",
				"jid", a.job.JID, "queue", a.job.Queue, "run", a.wire.Run, "deaths", a.job.Deaths)
			p.await(a)
		case p.now >= a.heldUntil || len(p.held) >= max(p.target*max(p.cfg.Batch, 1), 1):
			p.giveBack(a, clock.Jittered(suspectPause))
		default:
			p.alert(a.heldUntil)
			p.held = append(p.held, a)
		}
	}
}
