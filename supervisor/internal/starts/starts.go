// Package starts says when and where a child may be started, for all pools of a supervisor
// together: a few at a time, as the host has room for them, and one at a place where there is to be
// no other. It owns the waits for that, and who waits. It starts nothing, and knows neither pools
// nor children.
package starts

import (
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"oarlock/supervisor/internal/clock"
)

const (
	// Where the host has run out of what a start takes, the pause before the next grows from
	// shortFirst to shortLimit.
	shortFirst = time.Second
	shortLimit = 10 * time.Second
	// shortMemory is how long a shortage is believed in that nobody meets again.
	shortMemory = 30 * time.Second
	// shortProof is how many starts in a row, tried one after the other, prove that it is over.
	shortProof = 8
)

// AtATime is how many processes are started at a time: each start waits for the same
// thread, and then for a processor.
func AtATime() int { return max(8, 2*runtime.GOMAXPROCS(0)) }

// Waker is who waits for something to change, and is to ask again then. It must be comparable.
type Waker interface{ Wake() }

// Starts lets all pools together start a few children at a time, and none for a while where
// the host has run out of what that takes, such as processes. At the end of such a pause one
// start is tried, and others follow one by one; where a child of ours has ended, there is room
// for another at once. Neither a command nor a job is to blame for a shortage: no breaker and
// no backoff hears of it. Safe for concurrent use.
type Starts struct {
	limit int
	log   *slog.Logger

	mu      sync.Mutex
	under   int                // starts under way that count
	waiting map[Waker]struct{} // pools that want to be woken when something has changed
	short   string             // what the host has run out of; "" if of nothing
	until   time.Duration      // while it is short: no start before
	trying  bool               // one is under way to see whether it still is
	proof   int                // so many of these went well since the last that did not
	room    int                // children of ours that ended and were not replaced, while it is short
	waits   *backoff.ExponentialBackOff
}

// Permit is that to start a child. The zero value is none.
type Permit struct {
	Given   bool
	counted bool // among those that are made at a time
	tries   bool // whether the host is still short
}

// New lets limit children be started at a time.
func New(limit int, log *slog.Logger) *Starts {
	return &Starts{limit: limit, log: log, waiting: map[Waker]struct{}{}, waits: clock.Growing(shortFirst, shortLimit)}
}

// Begin asks for a permit to start a child for w, which Over takes back. The fork of a program
// that is preloaded does not count: it waits for that program, for as long as it loads. If
// there is no permit, w is woken when it is worth asking again, and should ask at the time at.
func (s *Starts) Begin(w Waker, fork bool, now time.Duration) (given Permit, at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lapse(now)
	given = Permit{Given: true, counted: !fork}
	switch {
	case given.counted && s.under >= s.limit:
		s.waiting[w] = struct{}{}
		return Permit{}, clock.Never
	case s.short == "":
	case s.room > 0:
		s.room--
	case s.trying || now < s.until:
		s.waiting[w] = struct{}{}
		if s.trying {
			return Permit{}, clock.Never
		}
		return Permit{}, s.until
	default:
		s.trying, given.tries = true, true
	}
	if given.counted {
		s.under++
	}
	return given, now
}

// Over hears that a start is over: its process runs, or the host was short of something, or
// it failed for another reason.
func (s *Starts) Over(was Permit, short string, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was.counted {
		s.under--
	}
	if was.tries {
		s.trying = false
	}
	switch {
	case short != "":
		s.lacks(short, was.tries, now)
	case was.tries:
		s.until = now
		if s.proof++; s.proof >= shortProof {
			s.enough()
		}
	}
	s.wake()
}

// RanOut hears of a shortage that a child met whose start was over.
func (s *Starts) RanOut(short string, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lacks(short, false, now)
}

// lacks begins a pause, or a longer one; not each of those that failed together makes it
// longer. The caller holds mu.
func (s *Starts) lacks(short string, tried bool, now time.Duration) {
	if s.short == "" {
		s.log.Error(short+": children are started one by one, as there is room for them; no job and no command is blamed", "pause", shortFirst.Seconds())
	}
	if s.short == "" || tried || now >= s.until {
		s.until = now + s.waits.NextBackOff()
	}
	s.short, s.proof, s.room = short, 0, 0
}

// enough ends the shortage. The caller holds mu.
func (s *Starts) enough() {
	s.log.Info("children are started again as they are needed", "after", s.short)
	s.short, s.proof, s.room = "", 0, 0
	s.waits.Reset()
}

// lapse forgets a shortage that nobody has met for long. The caller holds mu.
func (s *Starts) lapse(now time.Duration) {
	if s.short != "" && !s.trying && now >= s.until+shortMemory {
		s.enough()
	}
}

// Freed hears that a child of ours has ended: there is room for another.
func (s *Starts) Freed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.short != "" {
		s.room++
		s.wake()
	}
}

// wake wakes all pools that wait. The caller holds mu.
func (s *Starts) wake() {
	for w := range s.waiting {
		w.Wake()
	}
	clear(s.waiting)
}

// ShortOf returns what the host has run out of, "" if of nothing, and for how many children
// there is room all the same.
func (s *Starts) ShortOf(now time.Duration) (short string, room int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lapse(now)
	room = s.room
	if !s.trying && now >= s.until {
		room++
	}
	return s.short, room
}
