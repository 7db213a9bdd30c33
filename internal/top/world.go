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

// backlog is how many jobs could be taken in the queues of the pools; known is false if Redis does not tell.
func (w *world) backlog() (waiting int, known bool) {
	seen := map[string]bool{}
	for _, q := range w.status.Queues {
		if q.Ready != nil && !seen[q.Queue] {
			seen[q.Queue], known = true, true
			waiting += *q.Ready
		}
	}
	return waiting, known
}

// forecast says what becomes of the backlog, from how it changed over the last minutes; "" while that is not known.
func (w *world) forecast() string {
	s := w.waiting
	if len(s.n) < 10 {
		return ""
	}
	last := len(s.n) - 1
	span := s.at[last].Sub(s.at[0]).Minutes()
	if s.n[last] == 0 || span <= 0 {
		return ""
	}
	slope := (s.n[last] - s.n[0]) / span
	switch {
	case slope < 0:
		return "empties in " + screen.Span(time.Duration(min(s.n[last]/-slope, 1e6)*float64(time.Minute)).Round(time.Second))
	case slope >= 0.5:
		return "grows by " + number(slope) + "/min"
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
