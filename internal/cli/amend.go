package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/queue"
)

// amended is what became of jobs that were to be changed.
type amended struct {
	done    []string
	changed []string // left alone: they are no longer as they were seen, or are gone
	refused []string // in sentences
}

// amend changes jobs, each only if it is still as it was seen.
func amend(c *cli.Context, q *queue.Client, changes []queue.Amendment) (amended, error) {
	var a amended
	results, err := q.Amend(c.Context, changes)
	for _, r := range results {
		switch {
		case r.Err == nil:
			a.done = append(a.done, r.JID)
		case errors.Is(r.Err, queue.ErrChanged), errors.Is(r.Err, queue.ErrNoJob):
			a.changed = append(a.changed, r.JID)
		default:
			a.refused = append(a.refused, amendError(r.Err).Error())
		}
	}
	if err != nil && len(results) > 0 {
		err = fmt.Errorf("after %s of %s jobs: %w", count(len(results)), count(len(changes)), err)
	}
	return a, err
}

// amendError is a refusal in the words of the job alone.
func amendError(err error) error {
	var refusal *queue.ScriptError
	if errors.As(err, &refusal) {
		return errors.New(refusal.Message)
	}
	return err
}

// amendOne changes one job.
func amendOne(c *cli.Context, q *queue.Client, change queue.Amendment) error {
	results, err := q.Amend(c.Context, []queue.Amendment{change})
	if err != nil {
		return err
	}
	return amendError(results[0].Err)
}

// jobsAmend changes the jobs that are named on the command line.
func jobsAmend(c *cli.Context, q *queue.Client, jids []string, done string, change func(queue.Job) queue.Amendment) error {
	jobs, err := q.GetMany(c.Context, jids...)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, job := range jobs {
		there[job.JID] = true
	}
	for _, jid := range jids {
		if !there[jid] {
			return fmt.Errorf("there is no job %s; nothing was done", jid)
		}
	}
	return amendJobs(c, q, jobs, done, change)
}

// amendJobs changes jobs as they were listed and says what became of them. It is an error
// if one could not be changed; one that somebody else changed meanwhile is only told of.
func amendJobs(c *cli.Context, q *queue.Client, jobs []queue.Job, done string, change func(queue.Job) queue.Amendment) error {
	changes := make([]queue.Amendment, len(jobs))
	for i, job := range jobs {
		changes[i] = change(job)
	}
	a, err := amend(c, q, changes)
	if err != nil {
		return err
	}
	value := map[string]any{strings.ReplaceAll(done, " ", "_"): len(a.done), "jids": list(a.done), "changed": list(a.changed), "refused": list(a.refused)}
	err = show(c, value, func(w io.Writer) {
		printf(w, "%s %s\n", some(len(a.done), "job"), done)
		if len(a.changed) > 0 {
			printf(w, "%s left alone, changed by somebody else since listed: %s\n", some(len(a.changed), "job"), strings.Join(a.changed, " "))
		}
	})
	if err == nil && len(a.refused) > 0 {
		return errors.New(strings.Join(a.refused, "\n"))
	}
	return err
}
