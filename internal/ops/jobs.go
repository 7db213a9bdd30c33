package ops

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"oarlock/internal/screen"
	"oarlock/queue"
)

// Cancel removes jobs for good, running ones too. One that is complete is left alone and told of as unfit.
func Cancel(ctx context.Context, q *queue.Client, jids []string) (Amended, error) {
	return amendNamed(ctx, q, jids, "canceled", queue.AmendCancel, func(job queue.Job) string {
		if job.State == "complete" {
			return fmt.Sprintf("%s is complete: there is nothing to cancel", job.JID)
		}
		return ""
	})
}

// TakeBack takes running jobs from their workers and puts them in front of their queues. One that does not run
// is told of as unfit.
func TakeBack(ctx context.Context, q *queue.Client, jids []string) (Amended, error) {
	return amendNamed(ctx, q, jids, "taken back", queue.AmendTimeout, func(job queue.Job) string {
		if job.State != "running" {
			return fmt.Sprintf("%s is not running but %s: nobody has it", job.JID, job.Row)
		}
		return ""
	})
}

// Retry puts a job into its queue again, with all its retries, and returns the queue.
func Retry(ctx context.Context, q *queue.Client, jid string) (in string, err error) {
	job, err := atRest(ctx, q, jid)
	if err != nil {
		return "", err
	}
	if job.Queue == "" {
		return "", otherwise("%s is %s and in no queue; name one: oarlock job move %s QUEUE", jid, job.State, screen.InShell(jid))
	}
	return job.Queue, amendOne(ctx, q, job.Amend(queue.AmendRetry))
}

// Move puts a job into another queue, where it may run after delay.
func Move(ctx context.Context, q *queue.Client, jid, to string, delay time.Duration, sure Sure) error {
	if err := NewName("queue", to, sure); err != nil {
		return err
	}
	if delay < 0 {
		return &Wrong{"delay", "is negative; without it the job may run at once"}
	}
	job, err := atRest(ctx, q, jid)
	if err != nil {
		return err
	}
	move := job.Amend(queue.AmendMove)
	move.Queue, move.Delay = to, delay
	return amendOne(ctx, q, move)
}

// atRest reads a job that neither runs nor waits for an answer.
func atRest(ctx context.Context, q *queue.Client, jid string) (*queue.Job, error) {
	job, err := q.Get(ctx, jid)
	switch {
	case err != nil:
		return nil, err
	case job.State == "running":
		return nil, otherwise("%s is running; `oarlock job timeout %s` takes it from its worker", jid, screen.InShell(jid))
	case job.Row == "parked":
		return nil, otherwise("%s is parked until its answer comes; answer it (oarlock respond), or cancel it", jid)
	}
	return job, nil
}

// SetPriority changes the priority of a job; higher comes first.
func SetPriority(ctx context.Context, q *queue.Client, jid string, priority float64) error {
	if err := soundPriority(priority); err != nil {
		return err
	}
	job, err := q.Get(ctx, jid)
	if err != nil {
		return err
	}
	change := job.Amend(queue.AmendPriority)
	change.Priority = priority
	return amendOne(ctx, q, change)
}

func soundPriority(priority float64) error {
	if math.IsNaN(priority) || math.IsInf(priority, 0) {
		return &Wrong{"priority", "must be a number, higher comes first"}
	}
	return nil
}

// Tags are those that a job has.
type Tags struct {
	Tags []string `json:"tags"`
}

// Tag gives a job tags.
func Tag(ctx context.Context, q *queue.Client, jid string, tags []string, sure Sure) (Tags, error) {
	if err := newNames("tag", tags, sure); err != nil {
		return Tags{}, err
	}
	has, err := q.AddTags(ctx, jid, tags...)
	return Tags{list(has)}, err
}

// Untag takes tags away from a job.
func Untag(ctx context.Context, q *queue.Client, jid string, tags []string) (Tags, error) {
	has, err := q.RemoveTags(ctx, jid, tags...)
	return Tags{list(has)}, err
}

// Untrack ends that what happens to a job is published.
func Untrack(ctx context.Context, q *queue.Client, jid string) error {
	was, err := q.Untrack(ctx, jid)
	if err == nil && !was {
		err = missing("%s was not tracked", jid)
	}
	return err
}

// DependMore lets a job that depends on others wait for more of them, and returns it as it is then.
func DependMore(ctx context.Context, q *queue.Client, jid string, on []string) (Job, error) {
	return changeDepends(ctx, q, jid, func() error {
		if len(on) == 0 {
			return wrong("name the jobs that %s waits for", jid)
		}
		return q.Depend(ctx, jid, on...)
	})
}

// DependLess lets a job wait no longer for some of those that it depends on, and returns it as it is then.
func DependLess(ctx context.Context, q *queue.Client, jid string, on []string) (Job, error) {
	return changeDepends(ctx, q, jid, func() error {
		if len(on) == 0 {
			return wrong("name the jobs that %s waits for", jid)
		}
		return q.Undepend(ctx, jid, on...)
	})
}

// DependOnNone lets a job wait for no other any more, and returns it as it is then.
func DependOnNone(ctx context.Context, q *queue.Client, jid string) (Job, error) {
	return changeDepends(ctx, q, jid, func() error { return q.UndependAll(ctx, jid) })
}

func changeDepends(ctx context.Context, q *queue.Client, jid string, change func() error) (Job, error) {
	before, err := q.Get(ctx, jid)
	if err != nil {
		return Job{}, err
	}
	if before.State != "depends" {
		return Job{}, missing("%s is %s and waits for no other job: what it depends on cannot be changed any more", jid, before.State)
	}
	if err := change(); err != nil {
		return Job{}, err
	}
	after, err := q.Get(ctx, jid)
	if err != nil {
		return Job{}, err
	}
	return View(*after), nil
}

// A List is a part of a long list of jobs.
type List struct {
	Gone []string `json:"gone,omitzero"` // tracked, and not there any more; nil of other lists
	Jobs []Job    `json:"jobs"`
	More bool     `json:"more"` // there are some behind it
}

// listPage is how many jobs are read at a time, where a glob chooses among them.
const listPage = 200

// Tracked lists the tracked jobs whose jid or class glob matches; "" matches all.
func Tracked(ctx context.Context, q *queue.Client, glob string, page Page) (List, error) {
	all, expired, err := q.Tracked(ctx) // there are few
	if err != nil {
		return List{}, err
	}
	w := window[queue.Job]{Page: page}
	for _, job := range all {
		if chosenBy(glob, job) {
			w.add(job)
		}
	}
	gone := []string{}
	for _, jid := range expired {
		if queue.Match(cmp.Or(glob, "*"), jid) {
			gone = append(gone, jid)
		}
	}
	return List{gone, Views(w.items), w.more}, nil
}

// Complete lists the jobs that are complete and whose jid or class glob matches, newest first; "" matches all.
func Complete(ctx context.Context, q *queue.Client, glob string, page Page) (List, error) {
	w := window[queue.Job]{Page: page}
	for at := 0; !w.more; at += listPage { // no further than the page goes
		jids, err := q.Jobs(ctx, "complete", "", at, listPage)
		if err != nil {
			return List{}, err
		}
		if len(jids) == 0 {
			break
		}
		found, err := q.GetMany(ctx, jids...)
		if err != nil {
			return List{}, err
		}
		for _, job := range found {
			if chosenBy(glob, job) {
				w.add(job)
			}
		}
	}
	return List{nil, Views(w.items), w.more}, nil
}

// chosenBy reports whether a glob means a job; "" means all.
func chosenBy(glob string, job queue.Job) bool {
	return glob == "" || queue.Match(glob, job.JID) || queue.Match(glob, job.Klass)
}

// TopTags lists the tags that are used more than once, most used first.
func TopTags(ctx context.Context, q *queue.Client, page Page) ([]string, error) {
	tags, err := q.TopTags(ctx, page.Offset, page.Limit)
	return list(tags), err
}

// Tagged is a part of the jobs that have a tag.
type Tagged struct {
	Jobs  []Job `json:"jobs"`
	Total int   `json:"total"`
}

// JobsTagged lists the jobs that have a tag.
func JobsTagged(ctx context.Context, q *queue.Client, tag string, page Page) (Tagged, error) {
	jids, total, err := q.Tagged(ctx, tag, page.Offset, page.Limit)
	if err != nil {
		return Tagged{}, err
	}
	jobs, err := q.GetMany(ctx, jids...)
	return Tagged{Views(jobs), total}, err
}
