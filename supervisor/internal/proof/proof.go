// Package proof judges new code by how the jobs end that it is given, beside how they ended before. It
// owns the rules of that: what is proof, what is too bad, and which job is spared the cost. It
// knows no child, no slot and no roll, which is what follows from its verdicts.
package proof

import (
	"fmt"
	"time"

	"oarlock/queue"
	"oarlock/supervisor/outcome"
)

// New code proves itself by an acknowledged job; or by enough endings, of enough jobs, that are no
// worse than those of the old code.
const (
	enoughEndings = 20
	enoughJobs    = 5
	spareDelay    = time.Second // how long a job stays away that is forgiven
)

// Standing is how far new code is believed.
type Standing uint8

const (
	Proven  Standing = iota
	Untried          // one slot is all it may have
	Waited           // no job told: it may have all slots, and the old one may come back
)

// Trial is what is known of new code. A job that ends badly on it is forgiven, once: it goes
// back uncounted, and to old code if there is any. The zero value is that of code that is
// trusted. It belongs to its pool's loop.
type Trial struct {
	Standing Standing
	OldNext  bool // with one child: the next attempt is the old member's

	endings  int                 // of its children, but for those that say nothing
	bad      int                 // that went badly
	jobs     map[string]struct{} // the jobs they were about, up to enoughJobs
	forgiven map[string]struct{} // jobs that ended badly once
}

// New is the trial of code that is not trusted.
func New() Trial {
	return Trial{Standing: Untried, jobs: map[string]struct{}{}, forgiven: map[string]struct{}{}}
}

// OnTrial reports whether the code has yet to prove itself, or was given up.
func (t *Trial) OnTrial() bool { return t.Standing != Proven }

// Endings returns how many attempts ended on the code, and how many of them badly.
func (t *Trial) Endings() (n, bad int) { return t.endings, t.bad }

// Ended hears how an attempt of a job ended on the code, and says if that is enough: good that it is
// proven, bad that it is to be given up, neutral that more is to be seen. why says on what grounds.
func (t *Trial) Ended(jid string, b outcome.Bearing, before *Past) (verdict outcome.Bearing, why string) {
	t.endings++
	if len(t.jobs) < enoughJobs {
		t.jobs[jid] = struct{}{}
	}
	if b == outcome.Bad {
		t.bad++
		t.OldNext = true
	}
	switch {
	case b == outcome.Good:
		return outcome.Good, "a job was acknowledged"
	case t.endings < enoughEndings || len(t.jobs) < enoughJobs:
		return outcome.Neutral, ""
	case before.worse(t.bad, t.endings):
		return outcome.Bad, fmt.Sprintf("%d of its first %d attempts ended badly, and none well; of the old one's last %d, %d did",
			t.bad, t.endings, before.n, before.bad)
	}
	return outcome.Good, "its jobs end as they did before"
}

// Forgive spares a job the cost of an ending on code that is on trial, once.
func (t *Trial) Forgive(jid string, o *outcome.Outcome) {
	s := &o.Settlement
	costs := s.Action == queue.Retry || s.Action == queue.Fail || s.Action == queue.Release && s.Counter == queue.CountCrash
	if o.Bearing != outcome.Bad || !costs || !t.OnTrial() {
		return
	}
	if _, again := t.forgiven[jid]; again {
		return
	}
	t.forgiven[jid] = struct{}{}
	spared := queue.Settlement{
		JID: s.JID, Queue: s.Queue, Popped: s.Popped,
		Group: s.Group, Message: s.Message, MaxCrashes: s.MaxCrashes, Checkpoint: s.Checkpoint,
	}
	outcome.Release(&spared, queue.CountNothing, spareDelay)
	*s = spared
	o.Open = false
}

// Forgave reports whether a job ended badly on the code, and was spared the cost.
func (t *Trial) Forgave(jid string) bool {
	_, is := t.forgiven[jid]
	return is
}

// Past is how the last endings of a pool's old code went. The zero value is ready. It belongs to
// the pool's loop.
type Past struct {
	went   [100]bool // badly
	next   int
	n, bad int
}

// Note adds an ending.
func (h *Past) Note(bad bool) {
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
func (h *Past) worse(bad, n int) bool { return bad*max(h.n, 1) > h.bad*n }
