package supervisor

import (
	"fmt"
	"time"

	"oarlock/queue"
	"oarlock/supervisor/outcome"
)

// New code proves itself by an acknowledged job; or by trialEndings, of trialJobs jobs,
// that are no worse than those of the old code; or, where no job ends well or badly, by being
// there for trialPatience.
const (
	trialEndings  = 20
	trialJobs     = 5
	trialPatience = time.Minute
	trialDelay    = time.Second // how long a job stays away that is forgiven
)

// standing is how far a new generation is believed.
type standing uint8

const (
	proven  standing = iota
	untried          // one slot is all it may have
	waited           // no job told: it may have all slots, and the old one may come back
)

// trial is what is known of a new generation. A job that ends badly on it is forgiven,
// once: it goes back uncounted, and to old code if there is any. The zero value is that of
// code that is trusted. It belongs to its pool's loop.
type trial struct {
	standing standing
	fitAt    time.Duration       // when the first of its children was fit; 0: none was
	endings  int                 // of its children, but for those that say nothing
	bad      int                 // that went badly
	jobs     map[string]struct{} // the jobs they were about, up to trialJobs
	forgiven map[string]struct{} // jobs that ended badly once
	oldNext  bool                // with one child: the next attempt is the old member's
}

func newTrial() trial {
	return trial{standing: untried, jobs: map[string]struct{}{}, forgiven: map[string]struct{}{}}
}

// onTrial reports whether a generation has yet to prove itself, or was given up.
func (g *generation) onTrial() bool { return g.standing != proven }

// tried hears how an attempt on trial ended, and decides if that is enough.
func (p *pool) tried(a *attempt, b outcome.Bearing) {
	g := a.member.gen
	if p.roll == nil || p.roll.to != g {
		return // it was given up
	}
	g.endings++
	if len(g.jobs) < trialJobs {
		g.jobs[a.job.JID] = struct{}{}
	}
	if b == outcome.Bad {
		g.bad++
		g.oldNext = true
	}
	switch {
	case b == outcome.Good:
		p.proved("a job was acknowledged")
	case g.endings < trialEndings || len(g.jobs) < trialJobs:
	case p.past.worse(g.bad, g.endings):
		p.rollFailed(a.member, fmt.Sprintf("%d of its first %d attempts ended badly, and none well; of the old one's last %d, %d did",
			g.bad, g.endings, p.past.n, p.past.bad))
	default:
		p.proved("its jobs end as they did before")
	}
}

// proved believes in the new generation from now on.
func (p *pool) proved(why string) {
	r := p.roll
	p.log.Debug("new generation proven", "generation", r.to.n, "why", why)
	r.to.standing, r.followAt, p.gen = proven, p.now, r.to
	p.dismissStaying(p.surplus())
	if r.over {
		p.roll = nil
	}
}

// awaitProof lets a new generation go on of which no job has told anything for long enough:
// because none came, or each was canceled, or the children decided otherwise on purpose.
func (p *pool) awaitProof() {
	g := p.roll.to
	if g.standing != untried || g.bad > 0 || g.fitAt == 0 {
		return
	}
	if at := g.fitAt + trialPatience; at > p.now {
		p.alert(at)
		return
	}
	there := p.once() // where children come with their jobs, none has to be there now
	for _, s := range p.slots {
		if m := s.member; m != nil && m.gen == g {
			if len(m.runs) > 0 {
				return // it may tell
			}
			there = there || m.fit()
		}
	}
	if !there {
		return
	}
	p.log.Info("no job has come to prove the new generation: it goes on, the old one is kept in mind until one is acknowledged", "generation", g.n)
	g.standing, p.roll.followAt, p.gen = waited, p.now, g
	p.dismissStaying(p.surplus())
}

// forgive spares a job the cost of an ending on code that is on trial, once a roll.
func forgive(a *attempt, o *outcome.Outcome) {
	s := &o.Settlement
	costs := s.Action == queue.Retry || s.Action == queue.Fail || s.Action == queue.Release && s.Counter == queue.CountCrash
	g := a.member.gen
	if o.Bearing != outcome.Bad || !costs || !g.onTrial() {
		return
	}
	if _, again := g.forgiven[a.job.JID]; again {
		return
	}
	g.forgiven[a.job.JID] = struct{}{}
	spared := queue.Settlement{
		JID: s.JID, Queue: s.Queue, Popped: s.Popped,
		Group: s.Group, Message: s.Message, MaxCrashes: s.MaxCrashes, Checkpoint: s.Checkpoint,
	}
	outcome.Release(&spared, queue.CountNothing, trialDelay)
	*s = spared
}

// wary reports whether an attempt is for old code: its job ended badly on what is on trial,
// or, with one child, whatever came before did.
func (p *pool) wary(a *attempt) bool {
	r := p.roll
	if r == nil || !r.to.onTrial() {
		return false
	}
	_, forgiven := r.to.forgiven[a.job.JID]
	return forgiven || r.to.oldNext && len(p.slots) == 1
}

// past is how the last endings of a pool's old code went.
type past struct {
	went   [100]bool // badly
	next   int
	n, bad int
}

func (h *past) note(bad bool) {
	if h.n == len(h.went) && h.went[h.next] {
		h.bad--
	}
	h.n = min(h.n+1, len(h.went))
	if bad {
		h.bad++
	}
	h.went[h.next] = bad
	h.next = (h.next + 1) % len(h.went)
}

// worse reports whether so many bad ones among n are a larger share than they were.
func (h *past) worse(bad, n int) bool { return bad*max(h.n, 1) > h.bad*n }
