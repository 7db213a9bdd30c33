package web

import (
	"fmt"
	"math"

	"oarlock/internal/hub"
	"oarlock/internal/screen"
	"oarlock/internal/web/chart"
	"oarlock/internal/web/pages"
	"oarlock/queue"
)

// stepWords is how long ago so many steps of ten seconds were.
func stepWords(steps int) string {
	if steps == 0 {
		return "now"
	}
	return pages.Span(float64(steps)*10) + " ago"
}

// points are values of a history, one for each ten seconds of the last hour.
func points(h hub.History, value func(hub.Point) float64) []float64 {
	out := make([]float64, len(h.Fine))
	for i, p := range h.Fine {
		out[i] = value(p)
	}
	return out
}

// failing is which part of attempts ended badly, of 100; NaN where none ended.
func failing(p hub.Point) float64 {
	if p.Done+p.Bad == 0 {
		return math.NaN()
	}
	return 100 * float64(p.Bad) / float64(p.Done+p.Bad)
}

func percentWords(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf("%.2g %%", v)
}

// lately sums the points of the last five minutes.
func lately(h hub.History) (sum hub.Point, seconds float64) {
	const most = 30
	for _, p := range h.Fine[max(0, len(h.Fine)-most):] {
		sum.Done, sum.Failed, sum.Bad = sum.Done+p.Done, sum.Failed+p.Failed, sum.Bad+p.Bad
		seconds += 10
	}
	return sum, seconds
}

// figures are the numbers that are looked at first: how much gets done and how much of it badly here, how long jobs wait and
// how many do in all queues, and how Redis is.
func (a *App) figures(all []queue.QueueCensus, now float64) []pages.Figure {
	waiting, running, lag, today := 0, 0, 0.0, 0
	for i := range all {
		q := &all[i]
		waiting += q.Waiting + q.Throttled
		running += q.Running
		today += q.Today.Completed
		if !q.Paused {
			lag = max(lag, q.Lag(now))
		}
	}
	var history hub.History
	if a.o.Hub != nil {
		history = a.o.Hub.PoolHistory("")
	}
	sum, seconds := lately(history)
	rate, part := "–", "–"
	if seconds > 0 {
		rate, part = pages.RateWords(float64(sum.Done)/seconds), percentWords(failing(sum))
	}
	line := func(what string, value func(hub.Point) float64, words func(float64) string) chart.Line {
		return chart.Spark(what, points(history, value), stepWords, words)
	}
	figures := []pages.Figure{
		{Key: "done", Name: "Done here, 5 min", Value: rate, Note: screen.Count(today) + " today, everywhere",
			Line: line("Done a second, the last hour", func(p hub.Point) float64 { return float64(p.Done) / 10 }, pages.RateWords)},
		{Key: "failing", Name: "Ending badly here, 5 min", Value: part, Note: screen.Some(sum.Bad, "attempt"),
			Line: line("Attempts that ended badly, of 100, the last hour", failing, percentWords)},
		{Key: "lag", Name: "Longest wait for a child", Value: pages.Span(lag), Note: "in a queue that is not paused",
			Line: line("Longest wait, the last hour", func(p hub.Point) float64 { return p.Oldest }, pages.Span)},
		{Key: "waiting", Name: "Waiting", Value: screen.Count(waiting), Note: screen.Count(running) + " running",
			Line: line("Waiting, as pools here saw, the last hour", func(p hub.Point) float64 { return float64(p.Waiting) }, wholeWords)},
	}
	return append(figures, a.redisFigure()...)
}

// redisFigure is how quick Redis is, and how much was left of locks when they were renewed.
func (a *App) redisFigure() []pages.Figure {
	shot, is := a.shot()
	if !is {
		return nil
	}
	trip, margin, lock := 0.0, math.Inf(1), 0.0
	for _, pool := range shot.Pools {
		trip = max(trip, pool.RoundTrip)
		if pool.LeaseMargin > 0 && pool.LeaseMargin < margin {
			margin, lock = pool.LeaseMargin, pool.Lock
		}
	}
	f := pages.Figure{Key: "redis", Name: "Redis", Value: "–", Note: "no lock was renewed yet"}
	if trip > 0 {
		f.Value = pages.Span(trip)
	}
	if !math.IsInf(margin, 1) {
		f.Note = "lease margin " + pages.Span(margin)
		if lock > 0 {
			f.Note += " of " + pages.Span(lock)
		}
	}
	return []pages.Figure{f}
}
