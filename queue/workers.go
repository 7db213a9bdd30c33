package queue

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/bounds"
	"oarlock/queue/internal/wire"
)

// WorkerCounts is how many jobs a worker holds.
type WorkerCounts struct {
	Name    string
	Seen    float64 // when it last took or renewed, in seconds since the epoch
	Jobs    int     // with a lock that is good
	Stalled int     // with a lock that ran out
	Damage  string  // why its jobs cannot be counted; "" if they can
}

// workersChunk is how many workers are counted in one pipeline.
const workersChunk = 200

// Workers lists the workers that were seen within a day (setting max-worker-age), the last seen
// first. Where what one holds cannot be counted, it says so in Damage. It changes nothing.
func (c *Client) Workers(ctx context.Context) ([]WorkerCounts, error) {
	if err := c.clock.Fresh(ctx); err != nil {
		return nil, err
	}
	age, err := c.bounded(ctx, "max-worker-age", "max-worker-age")
	if err != nil {
		return nil, err
	}
	now := wire.Number(c.Now())
	seen, err := c.redis.ZRevRangeByScoreWithScores(ctx, c.ns+"workers", &redis.ZRangeBy{Min: wire.Number(c.Now() - age), Max: "+inf"}).Result()
	if err != nil {
		return nil, harmless(classify("zrevrangebyscore", err))
	}
	all := make([]WorkerCounts, 0, len(seen))
	for some := range slices.Chunk(seen, workersChunk) {
		pipe := c.redis.Pipeline()
		var good, out []*redis.IntCmd
		for _, z := range some {
			key := c.ns + "w:" + z.Member.(string) + ":jobs"
			out = append(out, pipe.ZCount(ctx, key, "-inf", now))
			good = append(good, pipe.ZCount(ctx, key, "("+now, "+inf"))
		}
		if _, err := pipe.Exec(ctx); err != nil && Class(classify("zcount", err)) != Refused {
			return nil, harmless(classify("zcount", err))
		}
		for i, z := range some {
			w := WorkerCounts{Name: z.Member.(string), Seen: wire.Finite(z.Score), Jobs: int(good[i].Val()), Stalled: int(out[i].Val())}
			if err := good[i].Err(); err != nil {
				w.Damage = c.ns + "w:" + w.Name + ":jobs: " + err.Error()
			}
			all = append(all, w)
		}
	}
	return all, nil
}

// WorkerSeen is when a worker last took or renewed, in seconds since the epoch; 0 if it is not
// known. Workers of reqless are seen when they take only.
func (c *Client) WorkerSeen(ctx context.Context, name string) (float64, error) {
	seen, err := c.redis.ZScore(ctx, c.ns+"workers", name).Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return wire.Finite(seen), harmless(classify("zscore", err))
}

// LockTime is how long a lock on a job of a queue lasts from when it was last renewed, as is set now.
func (c *Client) LockTime(ctx context.Context, queue string) (time.Duration, error) {
	seconds, err := c.bounded(ctx, "heartbeat", queue+"-heartbeat", "heartbeat")
	return time.Duration(seconds * float64(time.Second)), err
}

// LongestLock is how long a lock lasts at most, whatever is set.
func LongestLock() time.Duration {
	lock, _ := bounds.Of("heartbeat")
	return time.Duration(lock.Most * float64(time.Second))
}

// Worker lists the jids that a worker holds, and those whose lock ran out, in both the longest lock first. It changes
// nothing.
func (c *Client) Worker(ctx context.Context, name string) (jobs, stalled []string, err error) {
	if err := c.clock.Fresh(ctx); err != nil {
		return nil, nil, err
	}
	key, now := c.ns+"w:"+name+":jobs", wire.Number(c.Now())
	pipe := c.redis.Pipeline()
	good := pipe.ZRevRangeByScore(ctx, key, &redis.ZRangeBy{Min: "(" + now, Max: "+inf"})
	out := pipe.ZRevRangeByScore(ctx, key, &redis.ZRangeBy{Min: "-inf", Max: now})
	_, err = pipe.Exec(ctx)
	return good.Val(), out.Val(), harmless(classify("zrevrangebyscore", err))
}

// ForgetWorkers takes workers off the list. What they hold stays locked.
func (c *Client) ForgetWorkers(ctx context.Context, workers ...string) error {
	if len(workers) == 0 {
		return nil
	}
	_, err := c.call(ctx, Qless, "worker.deregister", wire.Args(workers)...)
	return err
}
