package supervisor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"oarlock/supervisor/outcome"
)

// A pool of which no job ends well is broken more likely than its jobs are. So many
// endings in a row, over at least breakerJobs different jobs, open its breaker:
// breakerFresh where nothing has ended well yet, else breakerWindow, or breakerRounds
// for each child if that is more.
const (
	breakerFresh  = 20
	breakerWindow = 100
	breakerRounds = 4
	breakerJobs   = 5
)

// A pool whose breaker is open begins no more than a job in breakerPause, and none while
// another is younger than breakerHold.
const (
	breakerPause = 100 * time.Millisecond
	breakerHold  = 10 * time.Second
)

// breaker slows a pool down of which nothing ends well, so that it does not burn its
// queue; it never stops it, for the jobs may be to blame after all. Good endings close
// it, and so do those that say nothing against the pool; these it does not count
// otherwise. The zero value is not usable; newBreaker makes one. It belongs to its
// pool's loop.
type breaker struct {
	open   bool
	proven bool                // something ended well since the pool's code was last changed
	row    int                 // bad endings since the last good one
	jobs   map[string]struct{} // the jobs they were about, up to breakerJobs
	causes map[string]*cause   // what they were, up to breakerCauses
	next   time.Duration       // on the pool's clock: when the next job may begin, while it is open
	anew   time.Duration       // jobs that began before hold up no other
}

// cause is one way to end badly.
type cause struct {
	count   int
	message string // of the last
}

// breakerCauses bounds the causes that are told apart.
const breakerCauses = 32

func newBreaker() breaker {
	return breaker{jobs: map[string]struct{}{}, causes: map[string]*cause{}}
}

// changed records that the pool's code is another from now on. An open breaker stays open,
// for the reason it was opened for, until something ends otherwise.
func (b *breaker) changed() {
	b.proven = false
	if !b.open {
		b.forget()
	}
}

// probe lets the next job begin at once: something was mended.
func (b *breaker) probe(now time.Duration) { b.next, b.anew = now, now }

// good records an ending that went well. It reports whether that closed the breaker.
func (b *breaker) good() (closed bool) {
	b.proven = true
	b.forget()
	return b.close()
}

// neutral records an ending that says nothing against the pool. It reports whether that
// closed the breaker.
func (b *breaker) neutral() (closed bool) {
	if b.open {
		b.forget()
	}
	return b.close()
}

func (b *breaker) close() (closed bool) {
	closed, b.open = b.open, false
	return closed
}

func (b *breaker) forget() {
	b.row = 0
	clear(b.jobs)
	clear(b.causes)
}

// bad records an ending of the job jid that went badly, in a pool of so many children:
// how is a few words for all like it, message what was said of this one. It reports
// whether that opened the breaker.
func (b *breaker) bad(jid, how, message string, children int) (opened bool) {
	b.row++
	if len(b.jobs) < breakerJobs {
		b.jobs[jid] = struct{}{}
	}
	if c := b.causes[how]; c != nil {
		c.count++
		c.message = message
	} else if len(b.causes) < breakerCauses {
		b.causes[how] = &cause{1, message}
	}
	limit := breakerFresh
	if b.proven {
		limit = max(breakerWindow, breakerRounds*children)
	}
	opened = !b.open && b.row >= limit && len(b.jobs) >= breakerJobs
	b.open = b.open || opened
	return opened
}

// begun records that a job begins.
func (b *breaker) begun(now time.Duration) { b.next = now + breakerPause }

// why says why the breaker is open, "" if it is not.
func (b *breaker) why() string {
	if !b.open {
		return ""
	}
	how := slices.MaxFunc(slices.Sorted(maps.Keys(b.causes)), func(x, y string) int {
		return cmp.Compare(b.causes[x].count, b.causes[y].count)
	})
	most := "most by"
	if 2*b.causes[how].count <= b.row {
		most = "most often by"
	}
	text := fmt.Sprintf("the last %d attempts ended badly, %s %s", b.row, most, how)
	if message := lastLine(b.causes[how].message); message != "" {
		text += ": " + message
	}
	return text
}

// lastLine is the last line of a message that says something, cut to what fits on one.
func lastLine(message string) string {
	message = strings.TrimSpace(message)
	return outcome.Fit(strings.TrimSpace(message[strings.LastIndexByte(message, '\n')+1:]), 200)
}

// mayBegin reports whether the pool may begin another job now: always, unless its
// breaker is open. If it may not, there is a turn when it may.
func (p *pool) mayBegin() bool {
	b := &p.breaker
	if !b.open {
		return true
	}
	if p.now < b.next {
		p.alert(b.next)
		return false
	}
	for _, a := range p.flight {
		if old := a.began + breakerHold; a.atWork() && p.now < old && a.began >= b.anew {
			p.alert(old)
			return false
		}
	}
	return true
}

// atWork reports whether a child has the attempt.
func (a *attempt) atWork() bool { return a.stage == running || a.stage == stopping }
