package ops

import (
	"context"

	"oarlock/queue"
)

// ScheduledDeed is what is done at once to all that is scheduled in a queue.
type ScheduledDeed struct {
	Queue  string `json:"queue"`
	Action string `json:"action"` // now, kill or drop

	DryRun  bool     `json:"dry_run"`
	Count   int      `json:"count"`   // so many would be, or were to be
	Done    int      `json:"done"`    // so many are
	Changed int      `json:"changed"` // left alone, for they changed, or went, in the moment between look and deed
	Refused []string `json:"refused"` // in sentences, the first hundred

	bulk Bulk
}

// PlanNow plans to let all scheduled jobs of a queue wait no longer; parked ones are not meant. It is *Missing if there is no such queue.
func PlanNow(ctx context.Context, q *queue.Client, name string) (*ScheduledDeed, error) {
	return planScheduled(ctx, q, "now", Bulk{Action: "now", Where: Filter{Queue: name, State: "scheduled"}})
}

// PlanKill plans to fail all jobs of a queue that wait to be tried again, in the group killed; or, with drop, to remove them for good.
// Those that were not tried yet are not meant. It is *Missing if there is no such queue.
func PlanKill(ctx context.Context, q *queue.Client, name string, drop bool) (*ScheduledDeed, error) {
	b := Bulk{Action: "kill", Where: Filter{Queue: name, State: "scheduled", Tried: true}}
	if drop {
		b.Action = "drop"
	}
	return planScheduled(ctx, q, b.Action, b)
}

func planScheduled(ctx context.Context, q *queue.Client, action string, b Bulk) (*ScheduledDeed, error) {
	if err := KnownQueues(ctx, q, b.Where.Queue); err != nil {
		return nil, err
	}
	plan, err := b.DryRun(ctx, q)
	if err != nil {
		return nil, err
	}
	b.Plan, b.Typed = &plan.Plan, &plan.Count
	return &ScheduledDeed{Queue: b.Where.Queue, Action: action, DryRun: true, Count: plan.Count, Refused: []string{}, bulk: b}, nil
}

// Do does what was planned, to what is as it was seen. After an error it may be done again, and goes on with the others.
func (d *ScheduledDeed) Do(ctx context.Context, q *queue.Client) error {
	d.DryRun = false
	for before := -1; d.Done > before && d.Done < d.Count; { // what went makes places for others that the walk then misses
		before = d.Done
		b := d.bulk
		left := d.Count - d.Done
		d.Changed, d.Refused = 0, d.Refused[:0]
		for more := true; more; {
			b.Plan, b.Typed = &Plan{Until: b.Plan.Until, Count: left}, &left
			some, err := b.Do(ctx, q)
			d.Done, d.Changed = d.Done+some.Done, d.Changed+some.Changed
			d.Refused = append(d.Refused, some.Refused...)
			if err != nil {
				return err
			}
			b.Cursor, left, more = some.Next, some.Left, some.Next != ""
		}
	}
	return nil
}
