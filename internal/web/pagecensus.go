package web

import (
	"context"
	"sync"
	"time"

	"oarlock/internal/ops"
	"oarlock/queue"
)

// census counts all queues for whoever looks: at most every few seconds, once for all of them, and never more than a
// hundred queues in one call of Redis, with a pause between the calls.
type census struct {
	redis *queue.Client
	looks ops.Looks

	turn chan struct{} // of size 1: whoever counts

	mu     sync.Mutex // for memory only
	queues []queue.QueueCensus
	now    float64 // the server's time of it
	at     time.Time
}

// How old a census may be that is shown, and how long the pause between two calls is.
const (
	censusAge   = 5 * time.Second
	censusPause = 20 * time.Millisecond
)

func newCensus(redis *queue.Client) *census {
	return &census{redis: redis, turn: make(chan struct{}, 1)}
}

// last is what was counted last, and whether it is good enough.
func (c *census) last() (queues []queue.QueueCensus, now float64, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queues, c.now, c.queues != nil && time.Since(c.at) < censusAge
}

// forget lets the next one be taken anew.
func (c *census) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = time.Time{}
}

// Take gives a census that is no older than five seconds, or takes one.
func (c *census) Take(ctx context.Context) ([]queue.QueueCensus, float64, error) {
	if queues, now, fresh := c.last(); fresh {
		return queues, now, nil
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	if queues, now, fresh := c.last(); fresh { // somebody else just took it
		return queues, now, nil
	}
	return c.count(ctx)
}

// count counts; the caller has the turn.
func (c *census) count(ctx context.Context) ([]queue.QueueCensus, float64, error) {
	names, err := c.redis.QueueNames(ctx)
	if err != nil {
		return nil, 0, err
	}
	all := make([]queue.QueueCensus, 0, len(names))
	began := c.redis.Now()
	for begin := 0; begin < len(names); begin += queue.CensusChunk {
		if begin > 0 {
			select {
			case <-time.After(censusPause):
			case <-ctx.Done():
				return nil, 0, ctx.Err()
			}
		}
		some, now, err := c.redis.Census(ctx, names[begin:min(begin+queue.CensusChunk, len(names))])
		if err != nil {
			return nil, 0, err
		}
		c.looks.Add(some, now)
		all = append(all, some...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queues, c.now, c.at = all, began, time.Now()
	return all, began, nil
}
