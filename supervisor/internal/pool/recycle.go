package pool

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/runner"
)

const (
	// memoryPause is how often the memory of children is looked at that have a limit.
	memoryPause = time.Second
	// curiousPause is how often it is that of others, for whoever looks on, and curiousMost of how many at most: reading
	// /proc takes up to a millisecond for each.
	curiousPause = 10 * time.Second
	curiousMost  = 100
)

// limit draws the member's own limits from the last part of those of the pool, so that
// children which started together do not leave together, and none stays for longer.
func (m *member) limit(c *Config) {
	draw := func(v int64) int64 {
		if v <= 0 {
			return 0
		}
		return max(v-int64(float64(v)*c.Jitter*rand.Float64()), 1)
	}
	m.maxJobs = int(draw(int64(c.MaxJobs)))
	m.maxAge = time.Duration(draw(int64(c.MaxAge)))
	m.maxMemory = c.MaxMemory // what a machine has is not spread
}

// left is how many more jobs the member may be given, those that it has included. An
// old child is better than none: where children do not start, it goes on.
func (m *member) left() int {
	if m.shunned() {
		return 0
	}
	if m.maxJobs == 0 || m.pool.births.Barred(m.slot) {
		return math.MaxInt
	}
	return m.maxJobs - m.jobs
}

// shunned reports whether the member went bad, and another is to have its slot. Where children do not start it goes on: its next job may
// end well.
func (m *member) shunned() bool { return m.sick && !m.pool.births.Barred(m.slot) }

// spent reports whether the member has all the jobs that it may be given.
func (m *member) spent() bool { return m.maxJobs > 0 && m.jobs+len(m.runs) >= m.maxJobs }

// bootsAhead is how many times the time that children take to start a replacement has for
// it: on a busy machine that varies.
const bootsAhead = 4

// nearlySpent reports whether it is time to start the replacement of a member that has almost
// worked all the jobs it may: the replacement should be ready when the last one ends.
func (m *member) nearlySpent(p *Pool) bool {
	switch {
	case m.maxJobs == 0 || m.gen.spec.Mode != runner.Reuse:
		return false
	case m.jobs == 0:
		return m.maxJobs == 1
	}
	left := float64(m.maxJobs - m.jobs)
	return left*float64(m.busy)/float64(m.jobs) <= bootsAhead*float64(p.boot)
}

// due returns why a member is to be replaced, or "". Until its replacement is ready it goes
// on working, but for the one limit that it never passes, max_jobs.
func (m *member) due(p *Pool) string {
	switch {
	case m.gen.spec.Mode == runner.Preload && (m.jobs > 0 || len(m.runs) > 0):
		return whyJobDone
	case m.gen != m.slot.gen:
		return whyGeneration
	case m.asked:
		return whyAsked
	case m.sick:
		return whySick
	case m.spent():
		return whyMaxJobs
	case m.maxAge > 0 && m.fit() && p.now-m.fitSince >= m.maxAge: // however long its start took
		return whyMaxAge
	case m.heavy():
		return whyMaxMemory
	case m.jobs > 0 && p.cfg.MaxChildren == 0 && m.idleFor(p.now) >= p.cfg.IdleTimeout && p.cfg.IdleTimeout > 0:
		// One that never worked is as good as its replacement would be.
		return whyIdle
	}
	if m.maxAge > 0 && m.fit() {
		p.alert(m.fitSince + m.maxAge)
	}
	if m.jobs > 0 && p.cfg.IdleTimeout > 0 && p.cfg.MaxChildren == 0 && len(m.runs) == 0 && m.fit() {
		p.alert(m.idle + p.cfg.IdleTimeout)
	}
	return ""
}

// heavy reports whether the member needs more memory than it may.
func (m *member) heavy() bool { return m.maxMemory > 0 && m.memory > m.maxMemory }

// idleFor is how long the member has had no job.
func (m *member) idleFor(now time.Duration) time.Duration {
	if len(m.runs) > 0 || !m.fit() {
		return 0
	}
	return now - m.idle
}

// sampleMemory looks at the memory of all members now and then, and lets old ones leave that stay and are above their
// limit.
func (p *Pool) sampleMemory() {
	pause := memoryPause
	if p.cfg.MaxMemory <= 0 {
		if p.OnEvent == nil || len(p.slots) > curiousMost {
			return
		}
		pause = curiousPause
	}
	if p.now < p.memoryAt {
		p.alert(p.memoryAt)
		return
	}
	p.memoryAt = p.now + pause
	p.alert(p.memoryAt)
	p.eachMember(func(m *member) {
		if m.child != nil {
			p.weigh(m)
		}
	})
	if p.roll == nil {
		return
	}
	for _, m := range slices.Clone(p.roll.staying) {
		if m.heavy() {
			m.retire(whyMaxMemory)
		}
	}
}

// weighShare is how much longer than a look at a child's memory the pause after it is.
const weighShare = 100

// weighAfterJob looks at the memory of a member that has just worked a job, if there is
// a limit to it, as often as costs a hundredth of the time.
func (p *Pool) weighAfterJob(m *member) {
	if p.cfg.MaxMemory > 0 && p.now >= m.weighAt && m.child != nil {
		p.weigh(m)
	}
}

// weigh looks at the memory of a member whose process runs.
func (p *Pool) weigh(m *member) {
	if m.weighAt == never {
		return // somebody does
	}
	m.weighAt = never
	go func() { // reports to the loop; reading /proc takes up to a millisecond for each process
		began := p.Clock()
		memory := m.child.Memory()
		took := p.Clock() - began
		p.post(func() { m.memory, m.weighAt = memory, p.now+weighShare*took })
	}()
}

// manned reports whether a child is there that can work, even if others do not start.
func (p *Pool) manned() bool {
	return slices.ContainsFunc(p.slots, func(s *slot) bool { return s.member != nil && s.member.fit() })
}

// barrenAfter is after how many starts in a row whose children died before they read a
// job a pool counts as barren.
const barrenAfter = 5

// barren reports whether the pool has no child that could take a job, because they do
// not start.
func (p *Pool) barren() bool { return p.failedStarts >= barrenAfter && !p.manned() }

// startFailed hears of a child that ended before it read a job.
func (p *Pool) startFailed(m *member, exit runner.Exit) {
	if p.births.Failed(m.slot, m, m.born, p.now) {
		p.failedStarts++
	}
	p.lastFailure = lastWords(exit)
	p.log.Warn("child ended before it read a job", "slot", m.slot.n, "pid", m.pid(), "code", exit.Code,
		"signal", unix.SignalName(exit.Signal), "cause", exit.Cause.String(), "message", exit.Message, "next", (p.births.After() - p.now).Seconds())
	if p.failedStarts == barrenAfter && p.barren() {
		p.log.Error("children do not start: the pool takes nothing until one does", "command", m.gen.spec.Command, "message", exit.Message)
	}
	p.rollFailed(m, lastWords(exit))
}

// lastWords is why a child ended that had not read a job.
func lastWords(exit runner.Exit) string {
	switch {
	case exit.Message != "":
		return exit.Message
	case exit.Signal != 0:
		return "a child was ended by " + unix.SignalName(exit.Signal) + " before it read a job"
	}
	return fmt.Sprintf("a child exited with %d before it read a job", exit.Code)
}
