package pool

import (
	"cmp"
	"slices"

	"oarlock/supervisor/report"
)

// memberState is how far a member has come between the decision to start it and its end;
// memberMoves says what may follow what. From memberLeaving on, it has no slot.
type memberState uint8

const (
	memberStarting memberState = iota // its process, or what that loads, is being started
	memberReady                       // can be given jobs
	memberClosed                      // takes no further job, but has its slot yet
	memberTold                        // likewise, and its jobs were told that a replacement waits
	memberLeaving                     // has given up its slot, and finishes what it has
	memberTired                       // likewise, because it said that it wants to leave
	memberAsked                       // was asked to leave
	memberGone                        // its process is gone, or was not started
)

var memberNames = [...]string{"starting", "ready", "closed", "told", "leaving", "tired", "asked", "gone"}

func (s memberState) String() string { return memberNames[s] }

// memberMoves are the states that may follow each state.
var memberMoves = [...][]memberState{
	memberStarting: {memberReady, memberClosed, memberLeaving, memberTired, memberGone},
	memberReady:    {memberClosed, memberLeaving, memberTired, memberGone},
	memberClosed:   {memberReady, memberTold, memberLeaving, memberTired, memberGone},
	memberTold:     {memberReady, memberLeaving, memberTired, memberGone},
	memberLeaving:  {memberTired, memberAsked, memberGone},
	memberTired:    {memberGone},
	memberAsked:    {memberGone},
	memberGone:     {},
}

// to brings the member to its next state. Nothing else writes the state.
func (m *member) to(next memberState) {
	if !slices.Contains(memberMoves[m.state], next) {
		m.pool.misstep("member", m.state, next)
	}
	m.state = next
}

// fit reports whether the member is ready, or was before it was closed.
func (m *member) fit() bool {
	return m.state == memberReady || m.state == memberClosed || m.state == memberTold
}

// closed reports whether the member takes no further job.
func (m *member) closed() bool { return m.state >= memberClosed }

// leaves reports whether the member has given up its slot for good.
func (m *member) leaves() bool { return m.state >= memberLeaving }

// becameReady hears that the member can be given jobs.
func (m *member) becameReady() {
	p := m.pool
	if m.state == memberStarting {
		m.to(memberReady)
		if !p.once() {
			p.event(report.Event{Kind: report.ChildReady, Slot: m.slot.n, PID: m.pid(), Took: p.now - m.born})
		}
	}
	m.idle, m.fitSince = p.now, p.now
	m.present()
	p.boot = max(p.now-m.born, p.boot-p.boot/8)
}

// present notes in its generation when the first of its children was there that had a slot to work in.
func (m *member) present() {
	if m.fit() && m.slot.member == m {
		m.gen.fitAt = cmp.Or(m.gen.fitAt, max(m.pool.now, 1))
	}
}

// close lets the member take no further job.
func (m *member) close() {
	if !m.closed() {
		m.to(memberClosed)
	}
}

// reopen takes back that the member was closed.
func (m *member) reopen() {
	if m.closed() && !m.leaves() {
		m.to(memberReady)
	}
}

// tell tells the jobs of a closed member, once, that a replacement waits for their end.
func (m *member) tell() {
	if m.state == memberTold {
		return
	}
	m.to(memberTold)
	for _, a := range m.runs {
		if a.stage == running && a.run != nil {
			a.run.Drain(0)
		}
	}
}

// retire takes the member out of its slot. It finishes what it has, and leaves.
func (m *member) retire(why string) {
	p := m.pool
	p.dislodge(m)
	p.leavers[m] = struct{}{}
	m.wentFor = cmp.Or(m.wentFor, retiredFor(why))
	if !m.leaves() {
		m.to(memberLeaving)
	}
	if why == whyMaxMemory {
		p.log.Info("child is replaced: it uses more memory than max_memory", "slot", m.slot.n, "pid", m.pid(), "jobs", m.jobs, "memory", m.memory, "max_memory", m.maxMemory)
	}
	p.log.Debug("child leaves", "slot", m.slot.n, "pid", m.pid(), "jobs", m.jobs, "why", why)
	if len(m.runs) == 0 {
		m.leave()
	}
}

// tires hears that the member wants to leave.
func (m *member) tires(reason string) {
	if m.state < memberTired {
		m.to(memberTired)
	}
	m.retire(reason)
}

// leave asks a member without jobs to go.
func (m *member) leave() {
	if m.child == nil || m.state == memberAsked || m.pool.once() {
		return // one that is being started is asked then; one of mode once goes by itself
	}
	if m.state == memberLeaving {
		m.to(memberAsked)
	}
	m.child.Shutdown(m.gen.spec.KillGrace)
}
