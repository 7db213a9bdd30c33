package ops

import (
	"context"
	"slices"

	"oarlock/queue"
)

// Worker is how many jobs somebody holds, by the name that Redis knows.
type Worker struct {
	Name    string  `json:"name"`
	Seen    float64 `json:"seen"` // seconds since the epoch
	Jobs    int     `json:"jobs"`
	Stalled int     `json:"stalled"`
	Damage  string  `json:"damage,omitempty"`
}

// Workers lists the workers that were seen lately, the last seen first.
func Workers(ctx context.Context, q *queue.Client) ([]Worker, error) {
	workers, err := q.Workers(ctx)
	if err != nil {
		return nil, err
	}
	views := make([]Worker, len(workers))
	for i, n := range workers {
		views[i] = Worker(n)
	}
	return views, nil
}

// JobsOf lists the jobs of a worker, then those whose locks ran out. One that is off the list may hold some. It is *Missing if
// Redis knows neither.
func JobsOf(ctx context.Context, q *queue.Client, worker string) ([]Job, error) {
	jids, stalled, err := q.Worker(ctx, worker)
	if err == nil && len(jids)+len(stalled) == 0 {
		err = knownWorkers(ctx, q, worker)
	}
	if err != nil {
		return nil, err
	}
	jobs, err := q.GetMany(ctx, slices.Concat(jids, stalled)...)
	return Views(jobs), err
}

// HeldBy is JobsOf a part at a time, with 160 bytes of the data of each.
func HeldBy(ctx context.Context, q *queue.Client, worker string, w Window) (Part[Job], error) {
	part, err := JobsOn(ctx, q, queue.Shelf{Kind: queue.ShelfWorker, Name: worker}, w)
	if err == nil && part.Total == 0 {
		err = knownWorkers(ctx, q, worker)
	}
	return part, err
}

// ForgetWorkers takes workers off the list; what they hold stays locked.
func ForgetWorkers(ctx context.Context, q *queue.Client, names []string) error {
	if err := knownWorkers(ctx, q, names...); err != nil {
		return err
	}
	return q.ForgetWorkers(ctx, names...)
}

// knownWorkers refuses workers that Redis does not know.
func knownWorkers(ctx context.Context, q *queue.Client, names ...string) error {
	for _, name := range names {
		seen, err := q.WorkerSeen(ctx, name)
		if err != nil {
			return err
		}
		if seen == 0 {
			return missing("there is no worker %s; `oarlock worker ls` lists them", name)
		}
	}
	return nil
}
