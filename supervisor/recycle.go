package supervisor

import (
	"time"

	"oarlock/runner"
)

// memoryPause is how often the memory of children is looked at.
const memoryPause = time.Second

// limit draws the member's own limits around those of the pool, so that children
// which started together do not leave together.
func (m *member) limit(c *Pool) {
	draw := func(v int64) int64 {
		if v <= 0 {
			return 0
		}
		return max(int64(spread(float64(v), 2*c.Jitter)), 1)
	}
	m.maxJobs = int(draw(int64(c.MaxJobs)))
	m.maxAge = time.Duration(draw(int64(c.MaxAge)))
	m.maxMemory = c.MaxMemory // what a machine has is not spread
}

// due returns why a member is to be replaced, or "". Until its heir is ready it goes
// on working.
func (m *member) due(p *pool) string {
	switch {
	case m.gen.spec.Mode == runner.Preload && (m.jobs > 0 || len(m.runs) > 0):
		return "it has had its job"
	case m.gen != m.slot.gen:
		return "a new generation takes over"
	case m.maxJobs > 0 && m.jobs >= m.maxJobs:
		return "max_jobs"
	case m.maxAge > 0 && p.now-m.born >= m.maxAge:
		return "max_age"
	case m.maxMemory > 0 && m.memory > m.maxMemory:
		return "max_memory"
	case p.cfg.MaxChildren == 0 && m.idleFor(p.now) >= p.cfg.IdleTimeout && p.cfg.IdleTimeout > 0:
		return "idle_timeout"
	}
	if m.maxAge > 0 {
		p.alert(m.born + m.maxAge)
	}
	if p.cfg.IdleTimeout > 0 && p.cfg.MaxChildren == 0 && len(m.runs) == 0 && m.ready {
		p.alert(m.idle + p.cfg.IdleTimeout)
	}
	return ""
}

// idleFor is how long the member has had no job.
func (m *member) idleFor(now time.Duration) time.Duration {
	if len(m.runs) > 0 || !m.ready {
		return 0
	}
	return now - m.idle
}

// sampleMemory looks at the memory of all members, if there is a limit to it.
func (p *pool) sampleMemory() {
	if p.cfg.MaxMemory <= 0 {
		return
	}
	if p.now < p.memoryAt {
		p.alert(p.memoryAt)
		return
	}
	p.memoryAt = p.now + memoryPause
	p.alert(p.memoryAt)
	var members []*member
	var children []child
	for _, s := range p.slots {
		if s.member != nil && s.member.child != nil {
			members, children = append(members, s.member), append(children, s.member.child)
		}
	}
	go func() { // reports to the loop; reading /proc takes up to a millisecond each
		memory := make([]int64, len(children))
		for i, c := range children {
			memory[i] = c.Memory()
		}
		p.post(func() {
			for i, m := range members {
				m.memory = memory[i]
			}
		})
	}()
}

// worked reports whether a child that ended a run so is fit for others: the job, not
// the child, was at fault if anything.
func worked(kind runner.EndingKind) bool {
	switch kind {
	case runner.CouldNotStart, runner.BrokeProtocol, runner.LeftEarly, runner.Innocent:
		return false
	}
	return true
}

// misbirths is after how many children in a row that died before they worked a
// single job a pool counts as broken.
const misbirths = 5

// misbirth hears of a child that ended before it worked a job.
func (p *pool) misbirth(m *member, exit runner.Exit) {
	p.misborn++
	p.log.Warn("child ended before it worked a job", "slot", m.slot.n, "pid", m.pid(), "code", exit.Code,
		"signal", signalName(exit.Signal), "cause", exit.Cause.String(), "message", exit.Message, "next", (m.slot.after - p.now).Seconds())
	if exit.Cause == runner.CauseProtocol || p.misborn >= misbirths {
		if p.breaker.open("children do not start: "+exit.Message, p.now) {
			p.log.Error("breaker open: children do not start", "command", m.gen.spec.Command, "message", exit.Message)
		}
	}
	p.rollFailed(m, exit.Message)
}
