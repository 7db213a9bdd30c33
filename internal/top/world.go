package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"oarlock/internal/ops"
	"oarlock/internal/rollcall"
	"oarlock/internal/screen"
	"oarlock/internal/service"
	"oarlock/supervisor"
)

// world is what was told last, and how old that is. Only the model's goroutine touches it.
type world struct {
	status    *service.Status // nil before the first, and where there is no supervisor
	statusAt  time.Time
	statusErr error

	queues    []ops.Queue
	queuesAt  time.Time
	queuesErr error

	groups    []group
	groupsAt  time.Time
	groupsErr error

	jobs    []ops.Job // of jobsOf
	jobsOf  string
	jobsErr error

	roll    rollcall.Roll
	rollAt  time.Time
	rollErr error

	done, waiting series

	looks     []ops.Look // at the backlog of the pools here
	completed float64
	lookedAt  float64
}

// group is failed jobs of one kind of failure.
type group struct {
	name  string
	count int // −1 if it cannot be read
}

// seriesLength is how many looks are drawn and reckoned with: five minutes at one a second.
const seriesLength = 300

// series is a number at each of the last looks.
type series struct {
	at []time.Time
	n  []float64
}

func (s *series) add(at time.Time, n float64) {
	s.at, s.n = append(s.at, at), append(s.n, n)
	if over := len(s.n) - seriesLength; over > 0 {
		s.at, s.n = s.at[over:], s.n[over:]
	}
}

// heard takes in what a supervisor said of itself.
func (w *world) heard(status *service.Status, err error, now time.Time) {
	w.statusErr = err
	if err != nil {
		return
	}
	w.status, w.statusAt = status, now
	done, _ := w.rates("")
	w.done.add(now, done)
	if waiting, known := w.backlog(); known {
		w.waiting.add(now, float64(waiting))
		w.look(now, waiting, done)
	}
}

// rates is how many jobs a second end well and fail in a pool, or in all if it is "".
func (w *world) rates(pool string) (done, failed float64) {
	for _, q := range w.status.Queues {
		if pool == "" || q.Pool == pool {
			done += q.DonePerSecond
			failed += q.FailedPerMinute / 60
		}
	}
	return done, failed
}

// failing is the part of those that end which fail, in percent.
func failing(done, failed float64) string {
	if done+failed == 0 {
		return "-"
	}
	return number(100*failed/(done+failed)) + " %"
}

// backlog is how many jobs wait in the queues of the pools, for whatever they wait but their time; known is false if Redis does
// not tell.
func (w *world) backlog() (waiting int, known bool) {
	seen := map[string]bool{}
	for _, q := range w.status.Queues {
		if q.Waiting != nil && !seen[q.Queue] {
			seen[q.Queue], known = true, true
			waiting += *q.Waiting
		}
	}
	return waiting, known
}

// looksOver is over how long the backlog is looked at, and looksApart how far apart looks are kept, both in seconds.
const looksOver, looksApart = 300, 5

// look notes the backlog for the outlook: what waits, and how many were done, as the rates of the last minute have it.
func (w *world) look(at time.Time, waiting int, done float64) {
	now := float64(at.UnixMilli()) / 1e3
	if n := len(w.looks); n > 0 {
		w.completed += done * max(0, now-w.lookedAt)
		if n > 1 && w.looks[n-1].At-w.looks[n-2].At < looksApart {
			w.looks = w.looks[:n-1]
		}
	}
	w.lookedAt = now
	w.looks = append(w.looks, ops.Look{At: now, Waiting: waiting, Completed: int(w.completed)})
	for len(w.looks) > 0 && w.looks[0].At < now-looksOver {
		w.looks = w.looks[1:]
	}
}

// forecast says what becomes of the backlog, from how it changed over the last minutes; "" while that is not known.
func (w *world) forecast() string { return outlookWords(ops.Forecast(w.looks, "")) }

// outlookWords is an outlook in the words of one line; "" where there is nothing to say.
func outlookWords(o ops.Outlook) string {
	switch o.Word {
	case "empties":
		return "empties " + o.Says
	case "grows", "steady":
		return strings.TrimPrefix(o.Says, "never: ")
	}
	return ""
}

// slowest is the longest round trip to Redis, and the least that was left of a lease, over all pools; 0 if unknown.
func slowest(pools []supervisor.PoolSnapshot) (trip, margin float64) {
	for _, p := range pools {
		trip = max(trip, p.RoundTrip)
		if p.LeaseMargin > 0 && (margin == 0 || p.LeaseMargin < margin) {
			margin = p.LeaseMargin
		}
	}
	return trip, margin
}

// number is n with as many digits as tell something.
func number(n float64) string {
	switch {
	case n == 0:
		return "0"
	case n < 10:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
	}
	return screen.Count(int(n + 0.5))
}

// grouped are the groups of failed jobs, the largest first.
func grouped(counts map[string]int) []group {
	groups := make([]group, 0, len(counts))
	for name, count := range counts {
		groups = append(groups, group{name, count})
	}
	slices.SortFunc(groups, func(a, b group) int { return cmp.Or(b.count-a.count, strings.Compare(a.name, b.name)) })
	return groups
}
