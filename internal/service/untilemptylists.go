package service

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"oarlock/internal/screen"
	"oarlock/queue"
)

// lists are those of the pools that have something to take, as queues; and what of them is in work: for somebody else,
// who ends it or is found to be dead, or until a delay is over.
func (e *untilEmpty) lists(ctx context.Context) (ready []queue.QueueOutlook, inWork string, err error) {
	named := map[string]bool{}
	for _, pool := range e.pools() {
		if pool.List != "" {
			named[pool.List] = true
		}
	}
	names := slices.Sorted(maps.Keys(named))
	if len(names) == 0 {
		return nil, "", nil
	}
	counts, err := e.asks.CountLists(ctx, names)
	if err != nil {
		return nil, "", err
	}
	for i, c := range counts {
		if c.Waiting > 0 && c.Damage == "" {
			ready = append(ready, queue.QueueOutlook{Queue: names[i], Ready: c.Waiting})
		}
		if c.Progress > 0 && inWork == "" {
			inWork = fmt.Sprintf("what is in work elsewhere, or put off, of the list %s: %s", names[i], screen.Count(c.Progress))
		}
	}
	return ready, inWork, nil
}
