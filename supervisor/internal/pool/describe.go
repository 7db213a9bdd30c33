package pool

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"oarlock/supervisor/internal/breaker"
	"oarlock/supervisor/report"
)

// snapshot describes the pool. It belongs to the loop.
func (p *Pool) snapshot() report.PoolSnapshot {
	now := p.Clock()
	least, most := p.cfg.bounds()
	s := report.PoolSnapshot{
		Name:       p.name,
		Worker:     p.worker,
		Mode:       p.gen.spec.Mode.String(),
		Queues:     p.queues,
		List:       p.listSnapshot(),
		Children:   p.target,
		Least:      least,
		Most:       most,
		Exclusive:  p.cfg.Exclusive,
		Generation: p.gen.n,
		Rolling:    p.roll != nil && !p.roll.over,
		Quiet:      p.life.quiet || p.life.alone,
		QuietAlone: p.life.alone,
		Draining:   p.life.draining,
		Abstains:   p.abstains(),
		Breaker:    p.breaker.Why(),
		BadJobs:    p.breaker.Jobs(),
		Delays:     breaker.Delay(p.breaker.Jobs(), 0).Seconds(),
		Damaged:    p.view.Damaged,
		Ready:      p.view.Ready,
		Oldest:     p.view.Oldest.Seconds(),
		Waiting:    len(p.waiting) + len(p.held),
		Unsettled:  len(p.endings) + len(p.asking.of),
		Counters:   p.count,
		InDoubt:    p.exchanges.doubt != nil,
	}
	if p.breaker.Open {
		s.BreakerFor = max((now - p.breaker.Since).Seconds(), 0.001)
		s.NextProbe = max((p.nextProbe() - now).Seconds(), 0)
	}
	s.Roll, s.LastRolls = p.rollSnapshot(now), p.pastRolls.snapshots(now)
	if g := p.givenUp; g != nil {
		s.GivenUp = &report.GivenUp{Generation: g.generation, Message: breaker.LastLine(g.message), Ago: (now - g.at).Seconds()}
	}
	s.Counters.Unheard = p.unheard.Count()
	if s.List != nil {
		s.Queues = []string{}
	}
	if p.barren() {
		s.Barren = "children do not start"
		if message := breaker.LastLine(p.lastFailure); message != "" {
			s.Barren += ": " + message
		}
	}
	for _, a := range p.flight {
		if a.stage == settling {
			s.Unsettled++
		}
	}
	if p.renewals.margin != never {
		s.LeaseMargin, s.LastMargin, s.Lock = p.renewals.margin.Seconds(), p.renewals.last.Seconds(), p.renewals.lock.Seconds()
	}
	if took, at, known := p.exchanges.pace.RoundTrip(); known {
		s.RoundTrip, s.LastTake = took.Seconds(), (now - at).Seconds()
	}
	s.Slots = p.slotSnapshots(now)
	return s
}

// slotSnapshots describes all children, and the slots that have none.
func (p *Pool) slotSnapshots(now time.Duration) (shots []report.SlotSnapshot) {
	for _, sl := range p.slots {
		if p.life.draining && sl.member == nil {
			continue // its member is among the leavers, if it has one
		}
		shots = append(shots, p.slotSnapshot(sl, now))
		if sl.next != nil {
			shots = append(shots, sl.next.snapshot(now))
		}
	}
	if p.roll != nil {
		for _, m := range p.roll.staying {
			shot := m.snapshot(now)
			if shot.State == "ready" {
				shot.State = "staying"
			}
			shots = append(shots, shot)
		}
	}
	for m := range p.leavers {
		shots = append(shots, m.snapshot(now))
	}
	return shots
}

// rollSnapshot describes a roll under way; nil if there is none.
func (p *Pool) rollSnapshot(now time.Duration) *report.RollSnapshot {
	r := p.roll
	if r == nil || r.over {
		return nil
	}
	shot := &report.RollSnapshot{
		From: r.from.n, To: r.to.n, Of: len(p.slots), OnTrial: r.to.OnTrial(), BackStarts: p.cfg.Exclusive,
		Back: r.back, Since: (now - r.began).Seconds(),
	}
	shot.Ended, shot.Bad = r.to.Endings()
	for _, s := range p.slots {
		if _, changed := r.changed[s]; changed && s.gen == r.to {
			shot.Changed++
			continue
		}
		if s.gen != r.to && shot.OnTrial || s.member == nil || len(s.member.runs) == 0 {
			continue // it is not its turn, or it waits for no job
		}
		if s.gen == r.to && s.next != nil && !s.next.fit() {
			continue // it waits for its new child, whatever becomes of the job
		}
		if a := s.member.runs[0]; shot.JID == "" || (now-a.began).Seconds() > shot.Waits {
			shot.Slot, shot.JID, shot.Waits = s.n, a.job.JID, (now - a.began).Seconds()
		}
	}
	return shot
}

func (p *Pool) slotSnapshot(s *slot, now time.Duration) report.SlotSnapshot {
	if s.member != nil {
		return s.member.snapshot(now)
	}
	shot := report.SlotSnapshot{Slot: s.n, State: "empty", Generation: s.gen.n}
	if p.births.Barred(s) {
		shot.State, shot.Next = "backoff", max(p.births.After()-now, 0).Seconds()
	} else if !p.mayOccupy(s) {
		shot.State = "blocked"
	}
	return shot
}

func (m *member) snapshot(now time.Duration) report.SlotSnapshot {
	s := report.SlotSnapshot{
		Slot:       m.slot.n,
		State:      "ready",
		PID:        m.pid(),
		Generation: m.gen.n,
		Age:        (now - m.born).Seconds(),
		Jobs:       m.jobs,
		Memory:     m.memory,
	}
	if m.child != nil {
		s.LastOutput = m.child.Silence().Seconds()
	}
	switch {
	case m.closed():
		s.State = "leaving"
	case len(m.runs) > 0:
		s.State = "busy"
	case !m.fit():
		s.State = "starting"
	}
	s.Batch = m.messageOf()
	wall := time.Now()
	for _, a := range m.runs {
		age := now - a.began
		r := report.RunSnapshot{
			JID:     a.job.JID,
			Klass:   a.job.Klass,
			Queue:   a.job.Queue,
			Run:     handle(a.wire.Run),
			Attempt: a.wire.Attempt,
			Began:   float64(wall.Add(-age).UnixMilli()) / 1e3,
			Age:     age.Seconds(),
			Lease:   (a.lease.End() - now).Seconds(),
			Kept:    m.keeps(a),
		}
		if limit := a.wire.Timeout; limit > 0 {
			if !r.Kept {
				limit -= age
			}
			r.TimeoutLeft = max(limit.Seconds(), 0.001)
		}
		if a.stage == stopping {
			r.Stopping = a.cause.String()
		}
		if a.progress != nil {
			r.Percent, r.Progress = a.progress.Percent, a.progress.Message
		}
		s.Runs = append(s.Runs, r)
	}
	return s
}

// handle is a name for a run that may be told to anybody: whoever knows the run itself can speak for its child.
func handle(run string) string {
	sum := sha256.Sum256([]byte(run))
	return hex.EncodeToString(sum[:8])
}
