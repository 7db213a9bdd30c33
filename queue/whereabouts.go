package queue

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// Whereabouts is where a job waits, which its state alone does not tell.
type Whereabouts struct {
	Place  string  // ready (for a worker), scheduled, throttled; "" is in none from which it could be taken
	Before int     // of one that is ready: how many jobs of the queue come before it
	Due    float64 // of one that is scheduled: for when, in seconds since the epoch
}

// Whereabouts looks for a job in the places of a queue. It changes nothing.
func (c *Client) Whereabouts(ctx context.Context, queue, jid string) (Whereabouts, error) {
	places := c.ns + "q:" + queue + "-"
	pipe := c.redis.Pipeline()
	ready := pipe.ZRevRank(ctx, places+"work", jid)
	due := pipe.ZScore(ctx, places+"scheduled", jid)
	throttled := pipe.ZScore(ctx, places+"throttled", jid)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return Whereabouts{}, harmless(classify("zscore", err))
	}
	switch {
	case ready.Err() == nil:
		return Whereabouts{Place: "ready", Before: int(ready.Val())}, nil
	case due.Err() == nil:
		return Whereabouts{Place: "scheduled", Due: due.Val()}, nil
	case throttled.Err() == nil:
		return Whereabouts{Place: "throttled"}, nil
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
