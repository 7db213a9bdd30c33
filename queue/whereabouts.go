package queue

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// Whereabouts is where a job waits, which its state alone does not tell.
type Whereabouts struct {
	Place  string  // ready (for a worker), scheduled, throttled, behind (others of its key); "" is in none from which it could be taken
	Before int     // of one that is ready: how many jobs of the queue come before it
	Due    float64 // of one that is scheduled: for when, in seconds since the epoch
	Window bool    // of one that is scheduled: a window holds it until then
}

// Whereabouts looks for a job in the places of a queue. It changes nothing.
func (c *Client) Whereabouts(ctx context.Context, queue, jid string) (Whereabouts, error) {
	places := c.ns + "q:" + queue + "-"
	pipe := c.redis.Pipeline()
	ready := pipe.ZRevRank(ctx, places+"work", jid)
	due := pipe.ZScore(ctx, places+"scheduled", jid)
	throttled := pipe.ZScore(ctx, places+"throttled", jid)
	mark := pipe.HGet(ctx, c.ns+"j:"+jid, "oarlock-lane")
	window := pipe.HGet(ctx, c.ns+"j:"+jid, "oarlock-window")
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return Whereabouts{}, harmless(classify("zscore", err))
	}
	switch {
	case ready.Err() == nil:
		return Whereabouts{Place: "ready", Before: int(ready.Val())}, nil
	case due.Err() == nil:
		held, err := window.Float64()
		return Whereabouts{Place: "scheduled", Due: dueOf(due.Val(), mark.Val(), queue), Window: err == nil && held == due.Val()}, nil
	case throttled.Err() == nil:
		return Whereabouts{Place: "throttled"}, nil
	}
	if sign, _ := readMark(mark.Val(), queue); sign == "-" {
		return Whereabouts{Place: "behind"}, nil
	}
	return Whereabouts{}, nil
}

// Freeing reports whether the dependents of a complete job are yet to be freed: where there are very
// many, that is done in slices. It changes nothing.
func (c *Client) Freeing(ctx context.Context, jid string) (bool, error) {
	err := c.redis.ZScore(ctx, c.ns+"oarlock:unblock", jid).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, harmless(classify("zscore", err))
}
