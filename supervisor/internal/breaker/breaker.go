// Package breaker judges a pool by how its jobs end, and slows it down where none ends well. It owns
// what is remembered of the endings. It knows no job but by its id, and no pool.
package breaker

import (
	"cmp"
	"fmt"
	"hash/maphash"
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

// A job that ended badly while the breaker is open stays away for Share times as long as it takes to try all jobs that did. So those
// that come back take one in Share of the probes, whatever their priorities, and the others go to jobs that were not tried yet.
// Share times as long as the breaker has been open is enough for that, too: all were tried in that time. It bounds waits longer than
// longestAway, which is enough where no other job waits.
const (
	Share       = 2
	longestAway = 5 * time.Minute
)

// mostJobs bounds the jobs that are told apart; more count each time they end badly.
const mostJobs = 100_000

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
	jobs   map[uint64]struct{} // hashes of the jobs they were about, up to mostJobs
	more   int                 // bad endings of jobs that are not in jobs
	causes map[string]*cause   // what they were, up to mostCauses
	Next   time.Duration       // on the pool's clock: when the next job may begin, while it is open
	Anew   time.Duration       // jobs that began before hold up no other
	empty  bool                // the last take left no job behind
	alone  bool                // the one before the last that brought jobs did
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
	return Breaker{jobs: map[uint64]struct{}{}, causes: map[string]*cause{}}
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
	b.row, b.more = 0, 0
	clear(b.jobs)
	clear(b.causes)
}

// bad records an ending of the job jid that went badly, in a pool of so many children:
// how is a few words for all like it, message what was said of this one. It reports
// whether that opened the breaker.
func (b *Breaker) Bad(jid, how, message string, children int) (opened bool) {
	b.row++
	if h := maphash.String(seed, jid); len(b.jobs) < mostJobs {
		b.jobs[h] = struct{}{}
	} else if _, known := b.jobs[h]; !known {
		b.more++
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

var seed = maphash.MakeSeed()

// Jobs is how many different jobs have ended badly since one last ended well; 0 while the breaker is closed.
func (b *Breaker) Jobs() int {
	if !b.Open {
		return 0
	}
	return len(b.jobs) + b.more
}

// Took records what a take brought, and whether there may be more to take.
func (b *Breaker) Took(jobs int, more bool) {
	if jobs > 0 {
		b.alone = b.empty
	}
	b.empty = !more
}

// Delay is by how much bad jobs, which run for so long each, delay the jobs behind them at most.
func Delay(bad int, ran time.Duration) time.Duration {
	return Share * time.Duration(bad) * max(Pause, min(ran, Hold))
}

// Away is how long a job that ends badly now, on the pool's clock, and ran for so long, stays away at least; 0 while the breaker is closed.
func (b *Breaker) Away(now, ran time.Duration) time.Duration {
	if !b.Open {
		return 0
	}
	away := min(Delay(b.Jobs()+1, ran), max(longestAway, Share*(now-b.Since)))
	if b.alone {
		return min(away, longestAway)
	}
	return away
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
