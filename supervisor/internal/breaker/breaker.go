// Package breaker judges a pool by how its jobs end, and slows it down where none ends well. It owns
// what is remembered of the endings. It knows no job but by its id, and no pool.
package breaker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"oarlock/protocol"
	"oarlock/supervisor/outcome"
)

// A pool of which no job ends well is broken more likely than its jobs are. So many
// endings in a row, over at least minJobs different jobs, open its breaker:
// Fresh where nothing has ended well yet, else window, or rounds
// for each child if that is more.
const (
	Fresh   = 20
	window  = 100
	rounds  = 4
	minJobs = 5
)

// A pool whose breaker is open begins no more than a job in Pause, and none while
// another is younger than Hold.
const (
	Pause = 100 * time.Millisecond
	Hold  = 10 * time.Second
)

// Breaker slows a pool down of which nothing ends well, so that it does not burn its
// queue; it never stops it, for the jobs may be to blame after all. Good endings close
// it, and so do those that say nothing against the pool; these it does not count
// otherwise. The zero value is not usable; New makes one. It belongs to its
// pool's loop.
type Breaker struct {
	Open   bool
	Since  time.Duration       // on the pool's clock: when it opened, while it is open; the pool sets it
	proven bool                // something ended well since the pool's code was last changed
	row    int                 // Bad endings since the last good one
	jobs   map[string]struct{} // the jobs they were about, up to minJobs
	causes map[string]*cause   // what they were, up to mostCauses
	Next   time.Duration       // on the pool's clock: when the next job may begin, while it is open
	Anew   time.Duration       // jobs that began before hold up no other
}

// cause is one way to end badly.
type cause struct {
	count   int
	message string // of the last
}

// mostCauses bounds the causes that are told apart.
const mostCauses = 32

// New makes a closed breaker, of a pool of which nothing has ended well yet.
func New() Breaker {
	return Breaker{jobs: map[string]struct{}{}, causes: map[string]*cause{}}
}

// Changed records that the pool's code is another from now on. An open breaker stays open,
// for the reason it was opened for, until something ends otherwise.
func (b *Breaker) Changed() {
	b.proven = false
	if !b.Open {
		b.forget()
	}
}

// Probe lets the next job begin at once: something was mended.
func (b *Breaker) Probe(now time.Duration) { b.Next, b.Anew = now, now }

// Good records an ending that went well. It reports whether that closed the breaker.
func (b *Breaker) Good() (closed bool) {
	b.proven = true
	b.forget()
	return b.close()
}

// Neutral records an ending that says nothing against the pool. It reports whether that
// closed the breaker.
func (b *Breaker) Neutral() (closed bool) {
	if b.Open {
		b.forget()
	}
	return b.close()
}

func (b *Breaker) close() (closed bool) {
	closed, b.Open = b.Open, false
	return closed
}

func (b *Breaker) forget() {
	b.row = 0
	clear(b.jobs)
	clear(b.causes)
}

// bad records an ending of the job jid that went badly, in a pool of so many children:
// how is a few words for all like it, message what was said of this one. It reports
// whether that opened the breaker.
func (b *Breaker) Bad(jid, how, message string, children int) (opened bool) {
	b.row++
	if len(b.jobs) < minJobs {
		b.jobs[jid] = struct{}{}
	}
	if c := b.causes[how]; c != nil {
		c.count++
		c.message = message
	} else if len(b.causes) < mostCauses {
		b.causes[how] = &cause{1, message}
	}
	limit := Fresh
	if b.proven {
		limit = max(window, rounds*children)
	}
	opened = !b.Open && b.row >= limit && len(b.jobs) >= minJobs
	b.Open = b.Open || opened
	return opened
}

// Begun records that a job begins.
func (b *Breaker) Begun(now time.Duration) { b.Next = now + Pause }

// Why says why the breaker is open, "" if it is not.
func (b *Breaker) Why() string {
	if !b.Open {
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
	if message := LastLine(b.causes[how].message); message != "" {
		text += ": " + message
	}
	return text
}

// LastLine is the last line of a message that says something, cut to what fits on one.
func LastLine(message string) string { return outcome.Fit(protocol.Why(message), 200) }
