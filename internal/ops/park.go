package ops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"oarlock/queue"
)

// Extended is a park that was given another end.
type Extended struct {
	JID   string  `json:"jid"`
	Until float64 `json:"until"` // in seconds since the epoch
}

// parkedBy is the parked job that somebody names, by its jid, or by class and correlation.
func parkedBy(ctx context.Context, q *queue.Client, names []string) (*queue.Job, error) {
	job, err := correlatedBy(ctx, q, names)
	if err == nil && job.Row != "parked" {
		return nil, otherwise("%s is not parked but %s", job.JID, job.Row)
	}
	return job, err
}

// correlatedBy is the job that somebody names likewise, parked or not.
func correlatedBy(ctx context.Context, q *queue.Client, names []string) (*queue.Job, error) {
	var job *queue.Job
	var err error
	if len(names) == 1 {
		job, err = q.Get(ctx, names[0])
	} else {
		job, err = q.Correlated(ctx, names[0], names[1])
	}
	switch {
	case errors.Is(err, queue.ErrNoJob) && len(names) > 1:
		return nil, missing("no job of class %s waits for an answer to %s", names[0], names[1])
	case errors.Is(err, queue.ErrNoJob):
		return nil, missing("there is no job %s", names[0])
	}
	return job, err
}

// mayWait tells whether a job waits for an answer, or did, and that it was in vain was found by nobody yet: its queue is paused, say.
// Of one whose delay is over besides, Redis says that it is not parked.
func mayWait(job *queue.Job) bool {
	return job.Row == "parked" || job.Row == "waiting" && job.State == "scheduled"
}

// ShowParked tells of a parked job, named by its jid, or by class and correlation.
func ShowParked(ctx context.Context, q *queue.Client, names []string) (Job, error) {
	job, err := parkedBy(ctx, q, names)
	if err != nil {
		return Job{}, err
	}
	return Glance(ctx, q, job.JID)
}

// ExtendParked lets a parked job, named likewise, wait for so long from now.
func ExtendParked(ctx context.Context, q *queue.Client, names []string, wait time.Duration) (Extended, error) {
	if err := soundPark(wait); err != nil {
		return Extended{}, err
	}
	job, err := correlatedBy(ctx, q, names)
	if err == nil && !mayWait(job) {
		err = otherwise("%s is not parked but %s", job.JID, job.Row)
	}
	if err != nil {
		return Extended{}, err
	}
	return extend(ctx, q, job, wait)
}

// ExtendPark lets a parked job wait for so long from now.
func (i If) ExtendPark(ctx context.Context, q *queue.Client, jid string, wait time.Duration) error {
	if err := soundPark(wait); err != nil {
		return err
	}
	job, err := i.job(ctx, q, jid)
	if err == nil && !mayWait(job) {
		err = fmt.Errorf("%s %w: it is not parked but %s", jid, queue.ErrChanged, job.Row)
	}
	if err == nil {
		_, err = extend(ctx, q, job, wait)
	}
	return err
}

// longestPark is how far ahead a park may end: beyond it nobody meant it.
const longestPark = 10 * 366 * 24 * time.Hour

func soundPark(wait time.Duration) error {
	if wait < time.Second || wait > longestPark {
		return &Wrong{"timeout", "is for how long it waits from now: a second at least, and ten years at most"}
	}
	return nil
}

func extend(ctx context.Context, q *queue.Client, job *queue.Job, wait time.Duration) (Extended, error) {
	change := job.Amend(queue.AmendExtend)
	change.Delay = wait
	until := q.Now() + wait.Seconds()
	results, err := q.Amend(ctx, []queue.Amendment{change})
	if err == nil {
		err = results[0].Err
	}
	var refusal *queue.ScriptError
	if errors.As(err, &refusal) {
		err = otherwise("%s", scriptMark.ReplaceAllString(refusal.Message, ""))
	}
	return Extended{job.JID, until}, err
}

// FailParked fails a parked job, named likewise, as an answer that says why does.
func FailParked(ctx context.Context, q *queue.Client, names []string, why string) (Answered, error) {
	job, err := parkedBy(ctx, q, names)
	if err != nil {
		return Answered{}, err
	}
	if why == "" {
		why = "failed by hand while it waited for an answer to " + job.Kept.Correlation
	}
	a, err := Respond(ctx, q, queue.Response{Klass: job.Klass, Correlation: job.Kept.Correlation, JID: job.JID, Error: why, End: queue.EndsFailed})
	if err == nil && a.Word != queue.Resumed && a.Word != queue.KeptFor {
		err = otherwise("%s was answered, or ended, just now: nothing was done", job.JID)
	}
	return a, err
}
