package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/screen"
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
		err = fmt.Errorf("after %s of %s jobs: %w", screen.Count(len(results)), screen.Count(len(changes)), err)
	}
	return a, err
}

// amendError is a refusal in the words of the job alone.
func amendError(err error) error {
	var refusal *queue.ScriptError
	if errors.As(err, &refusal) {
		return errors.New(scriptMark.ReplaceAllString(refusal.Message, ""))
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

// jobsAmend changes the jobs that are named on the command line: all of those that can be, or
// none if one is not there. unfit says why a job cannot be changed so; "" if it can. That one was
// not, for want of a reason to, has an exit code of its own.
func jobsAmend(c *cli.Context, q *queue.Client, done string, unfit func(queue.Job) string, change func(queue.Job) queue.Amendment) error {
	jids := slices.Compact(slices.Sorted(slices.Values(c.Args().Slice())))
	jobs, err := q.GetMany(c.Context, jids...)
	if err != nil {
		return err
	}
	if err := allThere(c, q, jids, jobs); err != nil {
		return err
	}
	var fit []queue.Job
	var not []string
	for _, job := range jobs {
		if why := unfit(job); why != "" {
			not = append(not, why)
		} else {
			fit = append(fit, job)
		}
	}
	a, err := amendJobs(c, q, fit, done, change)
	for _, jid := range a.changed {
		not = append(not, fmt.Sprintf("%s has changed, or went, just now: look again", jid))
	}
	if err == nil && len(not) > 0 {
		return notThere("%s", strings.Join(not, "\n"))
	}
	return err
}

// allThere refuses jids of which one is not among the jobs that were found.
func allThere(c *cli.Context, q *queue.Client, jids []string, jobs []queue.Job) error {
	for _, jid := range jids {
		if slices.ContainsFunc(jobs, func(job queue.Job) bool { return job.JID == jid }) {
			continue
		}
		if _, err := q.Recurring(c.Context, jid); err == nil {
			return notThere("%s is no job but recurs: see `oarlock recur`; nothing was done", jid)
		}
		return notThere("there is no job %s; nothing was done", jid)
	}
	return nil
}

// amendJobs changes jobs as they were listed and says what became of them. It is an error
// if one could not be changed; one that somebody else changed meanwhile is only told of.
func amendJobs(c *cli.Context, q *queue.Client, jobs []queue.Job, done string, change func(queue.Job) queue.Amendment) (amended, error) {
	changes := make([]queue.Amendment, len(jobs))
	for i, job := range jobs {
		changes[i] = change(job)
	}
	a, err := amend(c, q, changes)
	if err != nil {
		return a, err
	}
	value := map[string]any{strings.ReplaceAll(done, " ", "_"): len(a.done), "jids": list(a.done), "changed": list(a.changed), "refused": list(a.refused)}
	err = show(c, value, func(w io.Writer) {
		screen.Printf(w, "%s %s\n", screen.Some(len(a.done), "job"), done)
		if len(a.changed) > 0 {
			screen.Printf(w, "%s left alone, changed by somebody else since listed: %s\n", screen.Some(len(a.changed), "job"), strings.Join(a.changed, " "))
		}
	})
	if err == nil && len(a.refused) > 0 {
		return a, errors.New(strings.Join(a.refused, "\n"))
	}
	return a, err
}
