package ops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"oarlock/internal/screen"
	"oarlock/queue"
)

// Clearing is a queue that is purged or moved: what would be done, and then what was.
type Clearing struct {
	Queue     string         `json:"queue"`
	To        string         `json:"to,omitempty"`
	DryRun    bool           `json:"dry_run,omitempty"`
	Would     map[string]int `json:"would,omitempty"` // in a dry run: by state
	Done      int            `json:"done"`
	Newer     int            `json:"newer"` // left: put after it began
	Kept      int            `json:"kept"`  // left: for the reasons in Left, which names the first thousand
	Left      []queue.Left   `json:"left"`
	Running   int            `json:"running"` // left alone, as all below
	Stalled   int            `json:"stalled"`
	Recurring int            `json:"recurring"`

	All    int      `json:"-"` // how many jobs are meant, as counted before
	states []string // none is all
}

// PlanClearing counts what would be removed from a queue for good, or moved to another, if to is not "". It is the jobs in
// these states of queue.ClearStates, or all of those. What it returns is a dry run, until it is done.
func PlanClearing(ctx context.Context, q *queue.Client, name, to string, states []string) (*Clearing, error) {
	for _, state := range states {
		if !slices.Contains(queue.ClearStates, state) {
			return nil, &Wrong{"state", fmt.Sprintf("%s: there is %s; for failed ones see `oarlock failed drop` and `oarlock failed retry`",
				state, strings.Join(queue.ClearStates, ", "))}
		}
	}
	if to == name && name != "" {
		return nil, wrong("the jobs of %s are in %s already", name, to)
	}
	if err := KnownQueues(ctx, q, name); err != nil {
		return nil, err
	}
	counts, err := q.Queue(ctx, name)
	if err != nil {
		return nil, err
	}
	c := &Clearing{Queue: name, To: to, DryRun: true, Would: map[string]int{}, Left: []queue.Left{}, states: states}
	for state, n := range map[string]int{"waiting": counts.Waiting, "scheduled": counts.Scheduled, "depends": counts.Depends, "throttled": counts.Throttled} {
		if len(states) == 0 || slices.Contains(states, state) {
			c.Would[state] = n
			c.All += n
		}
	}
	c.leftAlone(counts)
	return c, nil
}

// Question asks whether all of the jobs are meant.
func (c *Clearing) Question() string {
	if c.To == "" {
		return fmt.Sprintf("Remove %s of the queue %s for good?", screen.Some(c.All, "job"), c.Queue)
	}
	return fmt.Sprintf("Move %s of the queue %s to %s?", screen.Some(c.All, "job"), c.Queue, c.To)
}

// Do does what was planned. progress hears how many jobs more were done; it may be nil. After an error the same may
// be planned and done again, and goes on with the others.
func (c *Clearing) Do(ctx context.Context, q *queue.Client, progress func(done int)) error {
	cleared, err := q.Clear(ctx, queue.Clearing{Queue: c.Queue, To: c.To, States: c.states, Progress: progress})
	if err != nil {
		return fmt.Errorf("after %s: %w\n(the same command again goes on with the others)", screen.Some(cleared.Done, "job"), err)
	}
	counts, err := q.Queue(ctx, c.Queue)
	if err != nil {
		return err
	}
	c.DryRun, c.Would = false, nil
	c.Done, c.Newer, c.Kept, c.Left = cleared.Done, cleared.Newer, cleared.Kept, list(cleared.Left)
	c.leftAlone(counts)
	return nil
}

func (c *Clearing) leftAlone(n queue.QueueCounts) {
	c.Running, c.Stalled, c.Recurring = n.Running, n.Stalled, n.Recurring
}
