package ops

import (
	"context"
	"time"

	"oarlock/queue"
)

// FailedJobs says which failed jobs are meant.
type FailedJobs struct {
	Group   string
	All     bool   // of all groups, and not of Group
	Queue   string // a name or a glob; "" is any, as below
	Klass   string
	Message string         // is contained in that of the failure
	Since   *time.Duration // failed so long ago at most; nil is any time, as below
	Before  *time.Duration // failed so long ago at least
	Limit   int            // so many of a group at most; 0 is any number
}

// Find reads the jobs that are meant, as whole as they are.
func (f FailedJobs) Find(ctx context.Context, q *queue.Client) ([]queue.Job, error) {
	seen, err := f.look(ctx, q)
	if err != nil {
		return nil, err
	}
	jids := make([]string, len(seen))
	for i, job := range seen {
		jids[i] = job.JID
	}
	return q.GetMany(ctx, jids...)
}

// look finds the jobs that are meant, and reads of them what tells that.
func (f FailedJobs) look(ctx context.Context, q *queue.Client) ([]queue.Job, error) {
	where := Filter{Group: f.Group, State: "failed", Queue: f.Queue, Klass: f.Klass, Message: f.Message, Since: f.ago(q, f.Since), Before: f.ago(q, f.Before)}
	if !f.All {
		return f.ofGroup(ctx, q, where)
	}
	shelves, _, err := failedShelves(ctx, q)
	if err != nil {
		return nil, err
	}
	var all []queue.Job
	for _, shelf := range shelves {
		where.Group = shelf.Name
		jobs, err := f.ofGroup(ctx, q, where)
		if err != nil {
			return nil, err
		}
		all = append(all, jobs...)
	}
	return all, nil
}

// ago is the moment that was so long ago; nil is any.
func (f FailedJobs) ago(q *queue.Client, d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	at := q.Now() - d.Seconds()
	return &at
}

func (f FailedJobs) ofGroup(ctx context.Context, q *queue.Client, where Filter) ([]queue.Job, error) {
	s := scan{q: q, filter: where, shelves: []queue.Shelf{{Kind: queue.ShelfFailed, Name: where.Group}}, more: true, met: map[string]bool{}}
	var jobs []queue.Job
	for s.more && (f.Limit == 0 || len(jobs) < f.Limit) {
		most := queue.MaxListed
		if f.Limit > 0 {
			most = min(most, f.Limit-len(jobs))
		}
		found, err := s.next(ctx, most)
		if err != nil {
			return nil, err
		}
		for _, g := range found {
			jobs = append(jobs, g.Job)
		}
	}
	return jobs, nil
}

// Retry puts the jobs that are meant into their queues again, with all their retries.
func (f FailedJobs) Retry(ctx context.Context, q *queue.Client) (Amended, error) {
	return f.change(ctx, q, "retried", queue.AmendRetry)
}

// Drop removes the jobs that are meant for good.
func (f FailedJobs) Drop(ctx context.Context, q *queue.Client) (Amended, error) {
	return f.change(ctx, q, "dropped", queue.AmendCancel)
}

func (f FailedJobs) change(ctx context.Context, q *queue.Client, deed string, change queue.Change) (Amended, error) {
	jobs, err := f.look(ctx, q)
	if err != nil {
		return Amended{}, err
	}
	if len(jobs) == 0 && !f.All {
		groups, err := q.FailedGroups(ctx)
		if err != nil {
			return Amended{}, err
		}
		if _, is := groups[f.Group]; !is {
			return Amended{}, missing("no job has failed in group %s; `oarlock failed ls` lists the groups", f.Group)
		}
	}
	return amend(ctx, q, jobs, deed, change)
}
