package ops

import (
	"context"
	"fmt"
	"time"

	"oarlock/queue"
)

// If is the Tag of a job as somebody saw it: what is done to the job is done only if it is still so, and is
// queue.ErrChanged else. "" is as it may be at the moment.
type If string

// tagOf is what a job is seen as.
func tagOf(job queue.Job) string { return job.State + "-" + job.Mark }

// job reads a job, if it is as it was seen.
func (i If) job(ctx context.Context, q *queue.Client, jid string) (*queue.Job, error) {
	job, err := q.Get(ctx, jid)
	if err == nil && i != "" && tagOf(*job) != string(i) {
		err = fmt.Errorf("%s %w: it is %s now", jid, queue.ErrChanged, job.State)
	}
	return job, err
}

// Retry puts a job into its queue again, as Retry of the package does.
func (i If) Retry(ctx context.Context, q *queue.Client, jid string) error {
	job, err := i.job(ctx, q, jid)
	if err == nil {
		err = resting(job)
	}
	switch {
	case err != nil:
		return err
	case job.Queue == "":
		return otherwise("%s is %s and in no queue; move it into one", jid, job.State)
	}
	return amendOne(ctx, q, job.Amend(queue.AmendRetry))
}

// Move puts a job into another queue, where it may run after delay.
func (i If) Move(ctx context.Context, q *queue.Client, jid, to string, delay time.Duration, sure Sure) error {
	if err := NewName("queue", to, sure); err != nil {
		return err
	}
	if delay < 0 {
		return &Wrong{"delay", "is negative; without it the job may run at once"}
	}
	job, err := i.job(ctx, q, jid)
	if err == nil {
		err = resting(job)
	}
	if err != nil {
		return err
	}
	move := job.Amend(queue.AmendMove)
	move.Queue, move.Delay = to, delay
	return amendOne(ctx, q, move)
}

// resting refuses a job that runs.
func resting(job *queue.Job) error {
	if job.State == "running" {
		return fmt.Errorf("%s %w: it is running; take it from its worker first (timeout)", job.JID, queue.ErrChanged)
	}
	return nil
}

// Cancel removes a job for good, a running one too.
func (i If) Cancel(ctx context.Context, q *queue.Client, jid string) error {
	job, err := i.job(ctx, q, jid)
	if err != nil {
		return err
	}
	if job.State == "complete" {
		return fmt.Errorf("%s %w: it is complete, and there is nothing to cancel", jid, queue.ErrChanged)
	}
	return amendOne(ctx, q, job.Amend(queue.AmendCancel))
}

// TakeBack takes a running job from its worker and puts it in front of its queue.
func (i If) TakeBack(ctx context.Context, q *queue.Client, jid string) error {
	job, err := i.job(ctx, q, jid)
	if err != nil {
		return err
	}
	if job.State != "running" {
		return fmt.Errorf("%s %w: it is not running but %s, and nobody has it", jid, queue.ErrChanged, job.State)
	}
	return amendOne(ctx, q, job.Amend(queue.AmendTimeout))
}

// SetPriority changes the priority of a job; higher comes first.
func (i If) SetPriority(ctx context.Context, q *queue.Client, jid string, priority float64) error {
	if err := soundPriority(priority); err != nil {
		return err
	}
	job, err := i.job(ctx, q, jid)
	if err != nil {
		return err
	}
	change := job.Amend(queue.AmendPriority)
	change.Priority = priority
	return amendOne(ctx, q, change)
}
