package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"oarlock/internal/screen"
	"oarlock/queue"
)

// Amended is what became of jobs that were to be changed.
type Amended struct {
	Deed    string // what was done to them: canceled, retried, dropped, taken back
	Done    []string
	Merged  map[string]string // of those, which are no more for another that waits has their payloads: the jid of that
	Changed []string          // left alone: they are no longer as they were seen, or are gone
	Refused []string          // in sentences
	Unfit   []string          // in sentences: left alone, for there is nothing about them to change so
}

// MarshalJSON gives the number of those done the name of the deed.
func (a Amended) MarshalJSON() ([]byte, error) {
	told := map[string]any{
		strings.ReplaceAll(a.Deed, " ", "_"): len(a.Done), "jids": list(a.Done), "changed": list(a.Changed), "refused": list(a.Refused),
	}
	if len(a.Merged) > 0 {
		told["merged"] = a.Merged
	}
	return json.Marshal(told)
}

// Refusal is what Redis refused; nil if it refused nothing.
func (a Amended) Refusal() error {
	if len(a.Refused) > 0 {
		return errors.New(strings.Join(a.Refused, "\n"))
	}
	return nil
}

// Err is why not all of the jobs that somebody named were changed: Refusal, else *Missing of those that were
// unfit, or are not as they were any more; nil if all were.
func (a Amended) Err() error {
	not := slices.Clone(a.Unfit)
	for _, jid := range a.Changed {
		not = append(not, fmt.Sprintf("%s has changed, or went, just now: look again", jid))
	}
	if err := a.Refusal(); err != nil || len(not) == 0 {
		return err
	}
	return missing("%s", strings.Join(not, "\n"))
}

// amend changes jobs, each only if it is still as it was seen.
func amend(ctx context.Context, q *queue.Client, jobs []queue.Job, deed string, change queue.Change) (Amended, error) {
	changes := make([]queue.Amendment, len(jobs))
	for i, job := range jobs {
		changes[i] = job.Amend(change)
	}
	return amendAll(ctx, q, changes, deed)
}

// amendAll is amend, each job in its own way.
func amendAll(ctx context.Context, q *queue.Client, changes []queue.Amendment, deed string) (Amended, error) {
	a := Amended{Deed: deed}
	results, err := q.Amend(ctx, changes)
	for _, r := range results {
		switch {
		case r.Err == nil:
			a.Done = append(a.Done, r.JID)
			if r.Into != "" {
				if a.Merged == nil {
					a.Merged = map[string]string{}
				}
				a.Merged[r.JID] = r.Into
			}
		case errors.Is(r.Err, queue.ErrChanged), errors.Is(r.Err, queue.ErrNoJob):
			a.Changed = append(a.Changed, r.JID)
		default:
			a.Refused = append(a.Refused, amendError(r.Err).Error())
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
func amendOne(ctx context.Context, q *queue.Client, change queue.Amendment) error {
	results, err := q.Amend(ctx, []queue.Amendment{change})
	if err != nil {
		return err
	}
	return amendError(results[0].Err)
}

// amendNamed changes jobs that somebody named: all of those that can be, or none if one is not there. unfit
// says why a job cannot be changed so; "" if it can.
func amendNamed(ctx context.Context, q *queue.Client, jids []string, deed string, change queue.Change, unfit func(queue.Job) string) (Amended, error) {
	jids = sorted(jids)
	jobs, err := q.GetMany(ctx, jids...)
	if err != nil {
		return Amended{}, err
	}
	if err := allThere(ctx, q, jids, jobs); err != nil {
		return Amended{}, err
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
	a, err := amend(ctx, q, fit, deed, change)
	a.Unfit = not
	return a, err
}

// allThere refuses jids of which one is not among the jobs that were found.
func allThere(ctx context.Context, q *queue.Client, jids []string, jobs []queue.Job) error {
	for _, jid := range jids {
		if slices.ContainsFunc(jobs, func(job queue.Job) bool { return job.JID == jid }) {
			continue
		}
		if _, err := q.Recurring(ctx, jid); err == nil {
			return missing("%s is no job but recurs: see `oarlock recur`; nothing was done", jid)
		}
		return missing("there is no job %s; nothing was done", jid)
	}
	return nil
}
