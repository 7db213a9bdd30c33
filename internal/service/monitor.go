package service

import (
	"cmp"
	"context"
	"slices"

	"oarlock/internal/census"
	"oarlock/internal/config"
	"oarlock/internal/health"
	"oarlock/internal/hub"
	"oarlock/internal/metrics"
	"oarlock/internal/plan"
	"oarlock/internal/web"
	"oarlock/queue"
	"oarlock/supervisor"
)

// newMetrics makes what counts for scrapes.
func (s *Service) newMetrics(cfg config.Metrics) *metrics.Metrics {
	return metrics.New(metrics.Options{
		Snapshot: func(ctx context.Context) (supervisor.Snapshot, error) { return s.hub.Snapshot(ctx) },
		Queues:   func() ([]queue.QueueOutlook, float64) { return s.sup.Queues() },
		Most:     cfg.Queues,
		Told:     func(pool, queue string) bool { return plan.Told(s.config(), pool, queue) },
		Version:  s.options.Version,
		Klasses:  cfg.Klasses,
	})
}

// monitor is what answers those who watch this process from outside.
func (s *Service) monitor(cfg config.Metrics) web.Monitor {
	return web.Monitor{
		Metrics: s.metrics.Handler(),
		Queues:  metrics.Queues(s.census.Get, cfg.Queues),
		Health:  health.New(s.alive, s.hub.Snapshot),
		Counts:  s.metrics,
	}
}

// windows are those of the rules, for scrapes.
func (s *Service) windows() []metrics.Window {
	var all []metrics.Window
	for _, w := range s.rules.Windows() {
		all = append(all, metrics.Window{Name: w.Name, Open: w.Open, Opens: w.Opens})
	}
	return all
}

// noteCensus tells the hub of queues, those with most to do first, for it remembers only so many.
func (s *Service) noteCensus(c census.Census) {
	sorted := slices.Clone(c.Queues)
	slices.SortStableFunc(sorted, func(a, b queue.QueueCensus) int { return cmp.Compare(toDo(b), toDo(a)) })
	points := make([]hub.QueuePoint, len(sorted))
	for i := range sorted {
		q := &sorted[i]
		points[i] = hub.QueuePoint{
			Queue: q.Name, At: c.At, Waiting: q.Waiting + q.Throttled, Oldest: q.Lag(c.Now), Done: q.Today.Completed, Failed: q.Today.Failures,
		}
	}
	s.hub.NoteQueues(points)
}

// toDo is how many jobs of a queue run or could.
func toDo(q queue.QueueCensus) int { return q.Waiting + q.Stalled + q.Running + q.Throttled }
