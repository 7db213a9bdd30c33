package ops

import (
	"context"
	"time"

	"oarlock/internal/screen"
	"oarlock/queue"
)

// FailedJobs says which failed jobs are meant: those of Group, or JIDs, or all.
type FailedJobs struct {
	Group   string
	JIDs    []string // in place of Group: jobs by name, all of which are to have failed
	All     bool     // of all groups
	Queue   string   // a name or a glob; "" is any, as below
	Klass   string
	Key     string         // of the job in its queue
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
	if len(f.JIDs) > 0 {
		return f.named(ctx, q)
	}
	where := Filter{Group: f.Group, State: "failed", Queue: f.Queue, Klass: f.Klass, Key: f.Key, Message: f.Message, Since: f.ago(q, f.Since), Before: f.ago(q, f.Before)}
	if !f.All {
		return f.ofGroup(ctx, q, where)
	}
	shelves, total, err := failedShelves(ctx, q)
	if err == nil {
		err = f.tooMany(total)
	}
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

// named reads the jobs that are named. It is *Missing if one is not there, or has not failed.
func (f FailedJobs) named(ctx context.Context, q *queue.Client) ([]queue.Job, error) {
	jids := sorted(f.JIDs)
	jobs, err := q.GetMany(ctx, jids...)
	if err != nil {
		return nil, err
	}
	if err := allThere(ctx, q, jids, jobs); err != nil {
		return nil, err
	}
	for _, job := range jobs {
		if job.State != "failed" {
			return nil, otherwise("%s has not failed but is %s, so nothing was done", job.JID, job.State)
		}
	}
	return jobs, nil
}

// Chooses reports whether some only are meant of those that are named.
func (f FailedJobs) Chooses() bool {
	return f.Queue != "" || f.Klass != "" || f.Key != "" || f.Message != "" || f.Since != nil || f.Before != nil || f.Limit > 0
}

// Named tells whether words mean a group or jobs: a single one that is a group of failed jobs is that.
func (f FailedJobs) Named(ctx context.Context, q *queue.Client, words []string) (FailedJobs, error) {
	if len(words) == 0 {
		return f, nil
	}
	groups, err := q.FailedGroups(ctx)
	if err != nil {
		return f, err
	}
	if _, is := groups[words[0]]; is && len(words) == 1 {
		f.Group = words[0]
		return f, nil
	}
	if there, err := q.GetMany(ctx, words...); len(words) == 1 && len(there) == 0 {
		f.Group = words[0] // which is not there either, and is said so
		return f, err
	}
	f.JIDs = words
	return f, nil
}

// ago is the moment that was so long ago; nil is any.
func (f FailedJobs) ago(q *queue.Client, d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	at := q.Now() - d.Seconds()
	return &at
}

// mostForKey is through how many failed jobs a key is looked for: Redis has no list of the failed jobs of a key.
const mostForKey = 1_000_000

// tooMany refuses to look for a key among so many jobs.
func (f FailedJobs) tooMany(total int) error {
	if f.Key == "" || total <= mostForKey {
		return nil
	}
	return wrong("%s failed jobs are too many to look for a key among them; `oarlock search %s` looks page by page: name the jobs that it finds", screen.Count(total), screen.InShell(Term("key", f.Key)))
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
		if err == nil {
			err = f.tooMany(s.total)
		}
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
	if len(jobs) == 0 && f.Key != "" {
		return Amended{}, missing("no failed job like that has the key %s", screen.InShell(f.Key))
	}
	if len(jobs) == 0 && !f.All && len(f.JIDs) == 0 {
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
