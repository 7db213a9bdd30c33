package ops

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"oarlock/queue"
)

// Glance is a job with no more of its data than a page has room for: 64 KiB, and nothing of what is larger than a MiB;
// Job.Size tells. It is *Missing if there is none.
func Glance(ctx context.Context, q *queue.Client, jid string) (Job, error) {
	found, err := q.Glances(ctx, queue.Whole, jid)
	if err != nil {
		return Job{}, err
	}
	if found[0].Row == queue.RowGone {
		if _, err := q.Recurring(ctx, jid); err == nil {
			return Job{}, missing("%s is no job but recurs: see `oarlock recur`", jid)
		}
		return Job{}, missing("there is no job %s", jid)
	}
	v := ViewGlance(found[0])
	return v, v.findTurn(ctx, q)
}

// ShowJob is all that is known of a job. The error is queue.ErrNoJob if there is none.
func ShowJob(ctx context.Context, q *queue.Client, jid string) (Job, error) {
	job, err := q.Get(ctx, jid)
	if err != nil {
		return Job{}, err
	}
	v := View(*job)
	return v, v.findTurn(ctx, q)
}

// findTurn tells how a job stands to the others of its key, if it has one. Where the keys of that are not what they should be, nothing is told.
func (j *Job) findTurn(ctx context.Context, q *queue.Client) error {
	if j.Key == "" {
		return nil
	}
	at, err := q.InLane(ctx, j.JID)
	switch {
	case queue.Class(err) == queue.Refused:
	case err != nil:
		return err
	case at.Key != "":
		j.Turn = &Turn{Holder: at.Holder, Until: at.Until, Behind: at.Behind, Place: at.Place}
	}
	return nil
}

// ViewGlance is what is told of a job that was glanced at.
func ViewGlance(g queue.Glance) Job {
	v := View(g.Job)
	if g.Cut {
		v.Size = g.Size
		v.Data, _ = json.Marshal(strings.ToValidUTF8(string(g.Data), "")) // of a string: cannot fail
	}
	return v
}

// Window is which part of a long list is asked for.
type Window struct {
	Cursor string // Part.Next of the part before; "" is the beginning
	Limit  int    // how many at most; 0 is 25, and more than queue.MaxListed are that many
}

func (w Window) limit() int {
	if w.Limit <= 0 {
		return 25
	}
	return min(w.Limit, queue.MaxListed)
}

// A Part is a part of a long list.
type Part[T any] struct {
	Items []T     `json:"items"`
	Next  string  `json:"next,omitempty"` // the cursor of what comes behind; "" if nothing does
	Total int     `json:"total"`          // how long the whole list is
	AsOf  float64 `json:"as_of"`          // when it was so, in seconds since the epoch
}

// JobsOn lists the jobs that stand on a shelf, with 160 bytes of the data of each. What is tracked, tagged or limited and is
// gone has the state "gone".
func JobsOn(ctx context.Context, q *queue.Client, shelf queue.Shelf, w Window) (Part[Job], error) {
	l, err := q.List(ctx, shelf, w.Cursor, w.limit(), queue.Brief, queue.Words{})
	if err != nil {
		return Part[Job]{}, cursorError(err)
	}
	part := Part[Job]{make([]Job, len(l.Jobs)), l.Next, l.Total, l.Now}
	for i, job := range l.Jobs {
		part.Items[i] = ViewGlance(job.Glance)
	}
	return part, nil
}

// QueueStates are the states of the jobs of a queue that JobsIn lists.
var QueueStates = []string{"waiting", "running", "stalled", "scheduled", "depends", "throttled"}

// JobsIn lists the jobs of a queue that are in one of QueueStates. It is *Missing if there is no such queue.
func JobsIn(ctx context.Context, q *queue.Client, name, state string, w Window) (Part[Job], error) {
	if err := knownState(state, QueueStates); err != nil {
		return Part[Job]{}, err
	}
	if err := KnownQueues(ctx, q, name); err != nil {
		return Part[Job]{}, err
	}
	return JobsOn(ctx, q, queue.Shelf{Kind: queue.ShelfKind(state), Name: name}, w)
}

// JobStates are the states by which jobs can be searched and filtered.
var JobStates = append(slices.Clone(QueueStates), "parked", "failed", "complete")

// knownState refuses a state that is not among those given.
func knownState(state string, among []string) error {
	if slices.Contains(among, state) {
		return nil
	}
	return &Wrong{"state", state + " is none; there are " + strings.Join(among, ", ") + Nearest(state, among)}
}
