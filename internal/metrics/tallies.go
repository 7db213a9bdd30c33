package metrics

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// tallies are what is counted of a pool by its events.
type tallies struct {
	living   int // pools of that name that were begun and did not end; under the lock of Metrics
	duration *observations
	wait     *observations
	lines    atomic.Int64
	dropped  atomic.Int64

	mu       sync.Mutex // of a loop and a scrape
	starts   int
	exits    map[string]int
	comeUps  int // children that became ready,
	comingUp time.Duration
	started  int
	endings  [maxEndings]int
	actions  map[string]int
	busy     time.Duration // of attempts that ended
	told     float64       // what was last told of all, so that it never becomes less
	cpu      time.Duration
	rolls    map[string]int
	opens    int
	locks    map[string]int
	renewed  map[string]int
	began    time.Time
	margins  [marginSpans]span
}

// maxEndings is above every runner.EndingKind.
const maxEndings = int(runner.BadArguments) + 1

// marginSpans of marginSpan each are the last minute, and what of the minute before is in the span that has begun.
const (
	marginSpan  = 10 * time.Second
	marginSpans = 6
)

// span is the least margin of a while.
type span struct {
	n     int64 // which, counted from marginSpans where the tallies began; 0: none yet
	least time.Duration
}

// What is alerted on by its increase is told from the beginning, as 0: what comes into being as 1 has no increase.
var (
	badExits    = []string{supervisor.LeftCrash, supervisor.LeftOOM, supervisor.LeftStart}
	rollResults = []string{supervisor.RollDone, supervisor.RollGivenUp, supervisor.RollOvertaken, supervisor.RollAbandoned}
	lockCauses  = []string{"canceled", "lost"}
)

func newTallies(pool string) *tallies {
	labels := prometheus.Labels{"pool": label(pool)}
	t := &tallies{
		duration: newObservations(duration, slow, labels),
		wait:     newObservations(wait, slow, labels),
		began:    time.Now(),
		exits:    map[string]int{}, actions: map[string]int{}, rolls: map[string]int{}, locks: map[string]int{}, renewed: map[string]int{},
	}
	for m, words := range map[*map[string]int][]string{&t.exits: badExits, &t.rolls: rollResults, &t.locks: lockCauses} {
		for _, word := range words {
			(*m)[word] = 0
		}
	}
	return t
}

// note hears an event of the pool.
func (t *tallies) note(e *supervisor.Event) {
	switch e.Kind {
	case supervisor.AttemptStarted:
		if e.Waited > 0 {
			t.wait.observe(e.Waited.Seconds(), e.Job)
		}
	case supervisor.AttemptEnded:
		if counts(e) {
			t.duration.observe(e.Ending.Wall.Seconds(), e.Job)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Kind {
	case supervisor.AttemptStarted:
		t.started++
	case supervisor.AttemptEnded:
		t.attemptEnded(e)
	case supervisor.SetAside:
		t.actions[actionWord(e.Action)]++
	case supervisor.ChildStarted:
		t.starts++
	case supervisor.ChildReady:
		t.comeUps++
		t.comingUp += e.Took
	case supervisor.ChildExited:
		t.exits[e.Reason]++
	case supervisor.RollEnded:
		t.rolls[e.Reason]++
	case supervisor.BreakerOpened:
		t.opens++
	case supervisor.LockLost:
		cause := "lost"
		if e.Cause == runner.CauseCanceled {
			cause = "canceled"
		}
		t.locks[cause]++
	case supervisor.Renewed:
		t.renew(e, time.Now())
	}
}

// attemptEnded counts an attempt. The caller holds mu.
func (t *tallies) attemptEnded(e *supervisor.Event) {
	if !counts(e) {
		return
	}
	t.endings[e.Ending.Kind]++
	t.busy += e.Ending.Wall
	t.cpu += e.Ending.CPU
	t.actions[actionWord(e.Action)]++
}

// actionWord is an action as a label.
func actionWord(a queue.Action) string {
	if a == "" {
		return "none"
	}
	return string(a)
}

// renew counts a call that renewed locks, or failed. The caller holds mu.
func (t *tallies) renew(e *supervisor.Event, now time.Time) {
	if e.Reason != "" {
		t.renewed["failed"]++
		return
	}
	t.renewed["ok"]++
	n := t.span(now)
	s := &t.margins[n%marginSpans]
	if s.n != n {
		*s = span{n, e.Margin}
	}
	s.least = min(s.least, e.Margin)
}

// span is the number of the span at a moment. It does not follow steps of the wall clock.
func (t *tallies) span(now time.Time) int64 { return int64(now.Sub(t.began)/marginSpan) + marginSpans }

// margin is the least that was left of a lease in the last minute; known says whether any was renewed. The caller holds mu.
func (t *tallies) margin(now time.Time) (least time.Duration, known bool) {
	n := t.span(now)
	for _, s := range t.margins {
		if s.n > n-marginSpans && s.n <= n && (!known || s.least < least) {
			least, known = s.least, true
		}
	}
	return least, known
}
