package queue

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/wire"
)

// A supervisor writes every ServedEvery which queues it works. A queue that no supervisor wrote for servedFor is
// no longer worked; after servedKept its entry is deleted.
const (
	ServedEvery = 2 * time.Minute
	servedFor   = 10 * time.Minute
	servedKept  = 24 * time.Hour
	servedChunk = 1000
)

// NoteServed writes that a supervisor works the queues of patterns, names or globs.
func (c *Client) NoteServed(ctx context.Context, patterns []string) error {
	if err := c.clock.Fresh(ctx); err != nil {
		return err
	}
	now, key := c.Now(), c.ns+"oarlock:served"
	pipe := c.redis.Pipeline()
	for some := range slices.Chunk(patterns, servedChunk) {
		all := make([]redis.Z, len(some))
		for i, pattern := range some {
			all[i] = redis.Z{Score: now, Member: pattern}
		}
		pipe.ZAdd(ctx, key, all...)
	}
	pipe.ZRemRangeByScore(ctx, key, "-inf", wire.Number(now-servedKept.Seconds()))
	_, err := pipe.Exec(ctx)
	return harmless(classify("zadd", err))
}

// Served is what is known of who works a queue.
type Served struct {
	Known  []string // names and globs that supervisors work
	Seen   float64  // when one that works the queue said so last, in seconds since the epoch; 0 if none did in the last ten minutes
	Popped bool     // a job was taken from it today or yesterday
}

// Nobody reports whether no supervisor works the queue, though some work others, and no other worker has taken from it.
func (s *Served) Nobody() bool { return len(s.Known) > 0 && s.Seen == 0 && !s.Popped }

// Served tells who works a queue, by one read.
func (c *Client) Served(ctx context.Context, name string) (Served, error) {
	if err := c.clock.Fresh(ctx); err != nil {
		return Served{}, err
	}
	now := c.Now()
	today := int64(now) / 86400 * 86400
	pipe := c.redis.Pipeline()
	all := pipe.ZRangeByScoreWithScores(ctx, c.ns+"oarlock:served", &redis.ZRangeBy{Min: wire.Number(now - servedFor.Seconds()), Max: "+inf"})
	popped := []*redis.IntCmd{}
	for _, day := range []int64{today, today - 86400} {
		popped = append(popped, pipe.Exists(ctx, c.ns+"s:wait:"+strconv.FormatInt(day, 10)+":"+name))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return Served{}, harmless(classify("zrangebyscore", err))
	}
	var s Served
	for _, z := range all.Val() {
		pattern := z.Member.(string)
		s.Known = append(s.Known, pattern)
		if MatchAny([]string{pattern}, name) {
			s.Seen = max(s.Seen, z.Score)
		}
	}
	for _, day := range popped {
		s.Popped = s.Popped || day.Val() > 0
	}
	return s, nil
}
