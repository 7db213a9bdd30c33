package queue

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// LockTimes are when the locks on the jobs of a queue run out, in seconds on Redis' clock: the
// first of them and the last. Both are 0 if no job of it is locked.
type LockTimes struct{ First, Last float64 }

// Underway tells of each of the queues when its locks run out, and whether dependents of
// complete jobs are yet to be freed, in any queue. It changes nothing. The error may be of the
// moment; a queue with a key of the wrong type is one, too.
func (c *Client) Underway(ctx context.Context, queues []string) (locks []LockTimes, freeing bool, err error) {
	first, last := make([]*redis.ZSliceCmd, len(queues)), make([]*redis.ZSliceCmd, len(queues))
	var waits *redis.IntCmd
	_, err = c.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, queue := range queues {
			key := c.ns + "q:" + queue + "-locks"
			first[i], last[i] = p.ZRangeWithScores(ctx, key, 0, 0), p.ZRangeWithScores(ctx, key, -1, -1)
		}
		waits = p.Exists(ctx, c.ns+"oarlock:unblock")
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, false, harmless(classify("zrange", err))
	}
	locks = make([]LockTimes, len(queues))
	for i := range queues {
		if head, tail := first[i].Val(), last[i].Val(); len(head) == 1 && len(tail) == 1 {
			locks[i] = LockTimes{head[0].Score, tail[0].Score}
		}
	}
	return locks, waits.Val() > 0, nil
}
