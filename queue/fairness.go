package queue

import (
	"context"
	"slices"
	"strings"

	"oarlock/queue/internal/wire"
)

const (
	// fairLists is how many waitlists of a queue Fairness reads, about; fairQueues of how many queues it tells in one call.
	fairLists  = 250
	fairQueues = 2
)

// Fairness is how the turns of a fair queue go on.
type Fairness struct {
	Queue    string
	Values   int     // that wait
	More     bool    // more values may wait: only about 250 waitlists were read
	Next     string  // the value with the next turn; "" if that is not known
	Longest  string  // the value that has waited longest for a start; "" if none waits
	Since    float64 // since when, in seconds since the epoch
	Unsorted int     // jobs that wait and are not sorted by their values yet
	Damage   string  // what is wrong with a key; then the others are not known
}

// WaitedFor is for how many seconds the value that has waited longest has had no start.
func (f *Fairness) WaitedFor(now float64) float64 {
	if f.Longest == "" {
		return 0
	}
	return max(0, now-f.Since)
}

// Fairness describes those of the queues that are fair, in their order. It also returns the server's time. It changes nothing.
func (c *Client) Fairness(ctx context.Context, queues ...string) (fair []Fairness, now float64, err error) {
	for some := range slices.Chunk(queues, fairQueues) {
		raw, at, err := c.readAt(ctx, "fairness", append([]any{fairLists}, wire.Args(some)...)...)
		if err != nil {
			return nil, 0, err
		}
		in := wire.Read(raw)
		for _, name := range some {
			is := in.Text() != ""
			f := Fairness{Queue: name, Values: in.Int(), More: in.Int() == 1, Next: in.Text(), Longest: in.Text(), Since: in.Float(), Unsorted: in.Int(), Damage: in.Text()}
			if is || f.Damage != "" {
				fair = append(fair, f)
			}
		}
		if in.Err != nil {
			return nil, 0, in.Err
		}
		now = at
	}
	return fair, now, nil
}

// FairQueues is Fairness of all queues with rules, sorted by their names; of more than most, of the first.
func (c *Client) FairQueues(ctx context.Context, most int) ([]Fairness, error) {
	fields, err := c.redis.HKeys(ctx, c.ns+"oarlock:rules").Result()
	if err != nil {
		return nil, harmless(classify("hkeys", err))
	}
	var names []string
	for _, field := range fields {
		if name, is := strings.CutPrefix(field, "q:"); is {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	fair, _, err := c.Fairness(ctx, names[:min(len(names), most)]...)
	return fair, err
}
