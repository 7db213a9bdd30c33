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
	switch {
	case v > 0 && v < 0.01:
		return "under 0.01 %"
	case v < 9.95:
		return fmt.Sprintf("%.2g %%", v)
	}
	return fmt.Sprintf("%.0f %%", v)
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
		{Key: "lag", Name: "Longest wait for a child", Value: pages.Span(lag), Note: "in all queues that are not paused",
			Line: line("Longest wait, as pools here saw, the last hour", func(p hub.Point) float64 { return p.Oldest }, pages.Span)},
		{Key: "waiting", Name: "Waiting", Value: screen.Count(waiting), Note: screen.Count(running) + " running",
			Line: line("To take, as pools here saw, the last hour", func(p hub.Point) float64 { return float64(p.Waiting) }, wholeWords)},
	}
	return append(figures, a.redisFigure()...)
}

// poolFigures are the numbers of one pool, and how they went; nil where nothing is remembered.
func (a *App) poolFigures(name string) []pages.Figure {
	if a.o.Hub == nil {
		return nil
	}
	history := a.o.Hub.PoolHistory(name)
	sum, seconds := lately(history)
	if seconds == 0 {
		return nil // nothing was sampled yet
	}
	last := history.Fine[len(history.Fine)-1]
	figure := func(key, name, value, note, what string, of func(hub.Point) float64, words func(float64) string) pages.Figure {
		return pages.Figure{Key: key, Name: name, Value: value, Note: note, Line: chart.Spark(what+", the last hour", points(history, of), stepWords, words)}
	}
	return []pages.Figure{
		figure("done", "Done, 5 min", pages.RateWords(float64(sum.Done)/seconds), screen.Some(sum.Done, "job"), "Done a second", func(p hub.Point) float64 { return float64(p.Done) / 10 }, pages.RateWords),
		figure("failing", "Ending badly, 5 min", percentWords(failing(sum)), screen.Some(sum.Bad, "attempt"), "Attempts that ended badly, of 100", failing, percentWords),
		figure("oldest", "Longest wait for a child", pages.Span(last.Oldest), "at the last look", "Longest wait", func(p hub.Point) float64 { return p.Oldest }, pages.Span),
		figure("waiting", "To take", wholeWords(float64(last.Waiting)), "in its queues", "Jobs that could be taken", func(p hub.Point) float64 { return float64(p.Waiting) }, wholeWords),
		figure("busy", "Busy", wholeWords(float64(last.Busy)), "of "+childrenWords(last.Children), "Children with a job", func(p hub.Point) float64 { return float64(p.Busy) }, wholeWords),
	}
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
