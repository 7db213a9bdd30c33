package supervisor

import (
	"sync"
	"time"

	"oarlock/queue"
	"oarlock/supervisor/internal/clock"
	"oarlock/supervisor/internal/statedir"
	"oarlock/supervisor/outcome"
)

const (
	// suspectPatience is how long a suspect is held until its turn comes, before another
	// supervisor may have it.
	suspectPatience = 30 * time.Second
	// suspectPause is how long it stays away then.
	suspectPause = 10 * time.Second
)

// suspects lets one suspect at a time run in all the pools of a supervisor: a job that was
// at work whenever supervisors died. The state directory says which one it is, so that if
// this supervisor dies too nobody else is blamed. Safe for concurrent use.
type suspects struct {
	mu      sync.Mutex
	running *attempt           // whose turn it is; nil if nobody's
	waiting map[*pool]struct{} // whose suspects want to be next
}

// admit gives an attempt its turn, unless it is another's, and reports whether it has it.
func (s *suspects) admit(p *pool, a *attempt) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		if s.waiting == nil {
			s.waiting = map[*pool]struct{}{}
		}
		s.waiting[p] = struct{}{}
		return false
	}
	s.running, a.accused = a, true
	p.accuse(&statedir.Accused{Worker: p.worker, JID: a.job.JID})
	return true
}

// leave ends the turn of an attempt.
func (s *suspects) leave(p *pool, a *attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running, a.accused = nil, false
	p.accuse(nil)
	for p := range s.waiting {
		p.post(func() {}) // it looks whose turn it is
	}
	clear(s.waiting)
}

// accuse writes down who is to blame if this supervisor dies.
func (p *pool) accuse(who *statedir.Accused) {
	if err := p.legacy.Accuse(who); err != nil {
		p.log.Warn("state directory not written: if this supervisor dies, the wrong job may be blamed", "err", err)
	}
}

// tendSuspects lets a suspect run if a child is free for it and no other runs. Those whose
// turn does not come are given back, so that they keep nobody from anything.
func (p *pool) tendSuspects() {
	held := p.held
	p.held = nil
	for _, a := range held {
		switch {
		case p.life.draining:
			p.waiting = append(p.waiting, a) // to go back with them
		case p.room() > len(p.waiting) && p.suspects.admit(p, a):
			p.log.Warn("running a job that was at work whenever its supervisors died, and no other such beside it",
				"jid", a.job.JID, "queue", a.job.Queue, "run", a.wire.Run, "deaths", a.job.Deaths)
			p.await(a)
		case p.now >= a.heldUntil || len(p.held) >= max(p.target, 1):
			s := queue.Settlement{}
			outcome.Release(&s, queue.CountNothing, clock.Jittered(suspectPause))
			p.submit(a, s)
		default:
			p.alert(a.heldUntil)
			p.held = append(p.held, a)
		}
	}
}
