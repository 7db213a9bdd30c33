package ops

import (
	"context"
	"maps"
	"slices"
	"strings"
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

// failedPage is how many failed jobs are read at a time.
const failedPage = 200

// Find reads the jobs that are meant.
func (f FailedJobs) Find(ctx context.Context, q *queue.Client) ([]queue.Job, error) {
	if !f.All {
		return f.ofGroup(ctx, q, f.Group)
	}
	groups, err := q.FailedGroups(ctx)
	if err != nil {
		return nil, err
	}
	var all []queue.Job
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if groups[group] < 0 {
			continue // of another type
		}
		jobs, err := f.ofGroup(ctx, q, group)
		if err != nil {
			return nil, err
		}
		all = append(all, jobs...)
	}
	return all, nil
}

func (f FailedJobs) ofGroup(ctx context.Context, q *queue.Client, group string) ([]queue.Job, error) {
	var out []queue.Job
	now := q.Now()
	for offset := 0; ; offset += failedPage {
		jids, _, err := q.Failed(ctx, group, offset, failedPage)
		if err != nil || len(jids) == 0 {
			return out, err
		}
		jobs, err := q.GetMany(ctx, jids...)
		if err != nil {
			return nil, err
		}
		for _, job := range jobs {
			if !f.means(job, now) {
				continue
			}
			if f.Limit > 0 && len(out) == f.Limit {
				return out, nil
			}
			out = append(out, job)
		}
	}
}

// means reports whether a job that failed is meant.
func (f FailedJobs) means(job queue.Job, now float64) bool {
	age := time.Duration((now - job.Failure.When) * float64(time.Second))
	return (f.Queue == "" || queue.Match(f.Queue, job.Queue)) &&
		(f.Klass == "" || queue.Match(f.Klass, job.Klass)) &&
		strings.Contains(job.Failure.Message, f.Message) &&
		(f.Since == nil || age <= *f.Since) &&
		(f.Before == nil || age >= *f.Before)
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
	jobs, err := f.Find(ctx, q)
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
