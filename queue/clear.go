package queue

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"oarlock/queue/internal/wire"
)

// Clearing says which jobs of a queue are to be canceled, or moved to another.
type Clearing struct {
	Queue  string
	To     string   // where they go; "" cancels them
	States []string // of ClearStates; none means all of these
	// Progress is told of each call how many jobs it canceled or moved; may be nil.
	Progress func(done int)
}

// ClearStates are the states in which jobs are at rest, in the order in which they are
// cleared: what waits for others goes before these.
var ClearStates = []string{"depends", "scheduled", "throttled", "waiting"}

// clearParts are the sets in which the jobs of a state are.
var clearParts = map[string]string{"depends": "depends", "scheduled": "scheduled", "throttled": "throttled", "waiting": "work"}

// Cleared is what became of a queue's jobs.
type Cleared struct {
	Done  int
	Newer int    // left, for they were put after Clear began
	Left  []Left // left for another reason; at most maxLeft
	Kept  int    // how many were, in all
}

// Left is a job that was left where it is, and why.
type Left struct {
	JID string `json:"jid"`
	Why string `json:"why"`
}

// maxLeft is how many jobs that were left are named.
const maxLeft = 1000

// read adds jobs that a call left: pairs of a jid and why.
func (all *Cleared) read(items []any) error {
	left := wire.Reader{Items: items}
	for len(left.Items) > 0 && left.Err == nil {
		each := Left{left.Text(), left.Text()}
		if all.Kept++; len(all.Left) < maxLeft {
			all.Left = append(all.Left, each)
		}
	}
	return left.Err
}

// Clear cancels or moves the jobs of a queue that are at rest, in many small calls, none of which
// keeps Redis for longer than some 450 commands take. Jobs that run, or whose lock ran out, failed
// and recurring ones, and what is put meanwhile, are left, as is a job that another waits for, unless
// it moves. What moves keeps its priority, place, due time and retries.
//
// On an error the result tells how far it came. To call it again goes on where it stopped.
func (c *Client) Clear(ctx context.Context, what Clearing) (Cleared, error) {
	var all Cleared
	states := what.States
	if len(states) == 0 {
		states = ClearStates
	}
	for _, state := range states {
		if clearParts[state] == "" {
			return all, fmt.Errorf("jobs in state %s are not at rest in a queue; there is %v", state, ClearStates)
		}
	}
	if what.To == what.Queue {
		return all, fmt.Errorf("queue %s cannot be moved to itself", what.Queue)
	}
	if err := c.clock.Fresh(ctx); err != nil {
		return all, err
	}
	before := c.Now()
	// What is popped meanwhile shifts the others, and who waits may come after what it waits for:
	// again, from the other end, until there is nothing more to do.
	from, other := "top", "bottom"
	for again := true; again; from, other = other, from {
		again = false
		all.Left, all.Kept, all.Newer = nil, 0, 0
		for _, state := range ClearStates {
			if !slices.Contains(states, state) {
				continue
			}
			done, err := c.clearPart(ctx, what, clearParts[state], from, before, &all)
			if err != nil {
				return all, err
			}
			again = again || done > 0
		}
		again = again && all.Kept+all.Newer > 0
	}
	return all, nil
}

// clearPart goes once over a part of the queue.
func (c *Client) clearPart(ctx context.Context, what Clearing, part, from string, before float64, all *Cleared) (done int, err error) {
	for at, rest := 0, 1; rest == 1; {
		raw, err := c.call(ctx, Batch, "clear", what.Queue, part, what.To, wire.Number(before), from, at)
		if err != nil {
			return done, err
		}
		in := wire.Read(raw)
		n := in.Int()
		at, rest = in.Int(), in.Int()
		all.Newer += in.Int()
		left := in.List()
		if err := cmp.Or(in.Err, all.read(left)); err != nil {
			return done, err
		}
		done += n
		all.Done += n
		if what.Progress != nil {
			what.Progress(n)
		}
	}
	return done, nil
}
