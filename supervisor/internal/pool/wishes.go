package pool

import (
	"errors"
	"slices"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/supervisor/internal/gate"
	"oarlock/supervisor/internal/wire"
)

const (
	// wishPause is how often a pool tells Redis what its jobs want done, at most, as long as
	// none of them waits for it in order to be settled.
	wishPause = 100 * time.Millisecond
	// wishBusy is the wait where Redis is at work on a script.
	wishBusy = 250 * time.Millisecond
	// wishMost is how much of what is wished goes in one call of the pool.
	wishMost = 500
)

// wishing is what a pool's jobs want done, themselves or others: one call at a time, for all
// that has gathered meanwhile. An attempt that has ended is settled after its wishes.
type wishing struct {
	out  bool // a call is on its way
	of   []*attempt
	hold time.Duration // no call before
}

// wishes notes that an attempt wants something done.
func (p *Pool) wishes(a *attempt) {
	if !a.wishing {
		a.wishing = true
		p.wishing.of = append(p.wishing.of, a)
	}
}

// grant sends what is wished for.
func (p *Pool) grant() {
	w := &p.wishing
	if w.out || len(w.of) == 0 || !p.Gate.IsOpen() {
		return
	}
	urgent := slices.ContainsFunc(w.of, func(a *attempt) bool { return a.stage == ended })
	if p.now < w.hold && !urgent {
		p.alert(w.hold)
		return
	}
	var from []*attempt // one for each of sent
	var sent []queue.Wish
	asking := w.of
	w.of = nil
	for _, a := range asking {
		a.wishing = false
		p.collect(a)
		if len(sent) == wishMost && len(a.wishes) > 0 {
			p.wishes(a)
		}
		for _, wish := range a.wishes[:min(len(a.wishes), wishMost-len(sent))] {
			from, sent = append(from, a), append(sent, wire.Wish(a.job, wish))
		}
	}
	if len(sent) == 0 {
		return
	}
	w.out, w.hold = true, p.now+wishPause
	go func() { // reports to the loop
		answers, err := p.store.Wish(p.ctx, sent)
		p.post(func() { p.granted(from, sent, answers, err) })
	}()
}

// collect takes over from the runner what the attempt wishes, as far as it may have it.
func (p *Pool) collect(a *attempt) {
	if a.run != nil && (a.stage == running || a.stage == stopping) {
		a.wishes = append(a.wishes, a.run.Wishes()...)
	}
	refused, why := 0, ""
	a.wishes = slices.DeleteFunc(a.wishes, func(w protocol.Wish) bool {
		no := p.cfg.Policy.Refuses(w, a.job)
		if no != "" {
			refused++
			why = no
		}
		return no != ""
	})
	if refused > 0 {
		p.count.Refused += refused
		p.log.Warn("wish of a child refused", "jid", a.job.JID, "queue", a.job.Queue, "why", why, "times", refused)
	}
	if (a.lost || a.stage == over) && len(a.wishes) > 0 {
		p.log.Warn("wishes of a child dropped: the lock is lost", "jid", a.job.JID, "queue", a.job.Queue, "wishes", len(a.wishes))
		a.wishes = nil
	}
}

// granted hears the reply. from are the attempts that the wishes sent are of.
func (p *Pool) granted(from []*attempt, sent []queue.Wish, answers []error, err error) {
	w := &p.wishing
	w.out = false
	for i, answer := range answers {
		p.wishAnswered(from[i], &sent[i], answer)
	}
	if err != nil {
		p.wishesFailed(from[len(answers):], err)
	} else {
		p.Gate.Worked()
	}
	for _, a := range from {
		if len(a.wishes) > 0 {
			p.wishes(a)
		}
	}
}

// wishAnswered hears what became of the oldest wish of an attempt.
func (p *Pool) wishAnswered(a *attempt, w *queue.Wish, answer error) {
	if len(a.wishes) > 0 {
		a.wishes = a.wishes[1:]
	}
	switch {
	case answer == nil:
		p.count.Wishes++
	case errors.Is(answer, queue.ErrLockLost):
		p.log.Warn("wish of a child dropped: the lock is lost", "jid", a.job.JID, "wish", w.Verb, "about", w.Target)
		p.renewals.now()
	default:
		p.count.Refused++
		p.log.Warn("wish of a child refused", "jid", a.job.JID, "queue", a.job.Queue, "wish", w.Verb, "about", w.Target, "why", answer)
	}
}

// wishesFailed hears that a call failed. What may yet be done is kept; otherwise it must not
// keep jobs from being settled.
func (p *Pool) wishesFailed(from []*attempt, err error) {
	switch p.Gate.SortHarmless(err) {
	case gate.Busy:
		p.wishing.hold = p.now + wishBusy
	case gate.Away:
	default:
		p.log.Error("what children wished is not done", "wishes", len(from), "err", err)
		for _, a := range from {
			a.wishes = nil
		}
	}
}
