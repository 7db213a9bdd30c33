package queue

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/wire"
)

// The protocol keeps statistics by day and queue, and has a setting stats-history for how many
// days; nobody ever deleted any. Ours do, slowly.

const (
	// oldStatsPage is how many keys of Redis, of whatever kind, one page of the search covers.
	oldStatsPage = 1000
	// OldStatsPause lies between two pages, of whichever supervisor.
	OldStatsPause = 10 * time.Second
	// oldStatsRest is how long it is until all keys are looked at once more.
	oldStatsRest = 6 * time.Hour
	// oldStatsChunk is how many statistics are looked at in one call.
	oldStatsChunk = 100
)

// SweepStats looks at the next page of all keys, if nobody did within OldStatsPause, and deletes the
// statistics among them that are older than the setting stats-history says. It returns how many,
// and when it is to be called again. Any number of supervisors may.
func (c *Client) SweepStats(ctx context.Context) (deleted int, again time.Duration, err error) {
	raw, err := c.call(ctx, Batch, "stats.turn", wire.Number(OldStatsPause.Seconds()))
	if err != nil {
		return 0, OldStatsPause, err
	}
	in := wire.Read(raw)
	cursor, at := in.Text(), in.Float()
	if in.Err != nil || cursor == "" {
		return 0, max(time.Second, Duration(at-c.Now())), in.Err
	}
	from, err := strconv.ParseUint(cursor, 10, 64)
	if err != nil {
		from = 0 // somebody wrote something else there
	}
	node, err := c.nodeOfKeys(ctx)
	if err != nil {
		return 0, OldStatsPause, err
	}
	prefix := c.ns + "s:"
	keys, next, err := node.Scan(ctx, from, wire.Literal(prefix)+"*", oldStatsPage).Result()
	if err = classify("scan", err); err != nil {
		return 0, OldStatsPause, err
	}
	for i, key := range keys {
		keys[i] = strings.TrimPrefix(key, prefix)
	}
	if deleted, err = c.ExpireStats(ctx, keys, false); err != nil {
		return deleted, OldStatsPause, err
	}
	again = OldStatsPause
	fields := []any{"cursor", strconv.FormatUint(next, 10)}
	if next == 0 {
		again = oldStatsRest
		fields = append(fields, "at", wire.Number(c.Now()+oldStatsRest.Seconds()))
	}
	return deleted, again, classify("hset", c.redis.HSet(ctx, c.ns+"oarlock:stats-sweep", fields...).Err())
}

// ExpireStats deletes those of the statistics that are older than the setting stats-history says,
// and returns how many; dry only counts. They are named as their keys are behind <namespace>s:.
func (c *Client) ExpireStats(ctx context.Context, keys []string, dry bool) (gone int, err error) {
	word := "0"
	if dry {
		word = "1"
	}
	for some := range slices.Chunk(keys, oldStatsChunk) {
		raw, err := c.call(ctx, Batch, "stats.expire", wire.Args(some, word)...)
		if err != nil {
			return gone, err
		}
		n, _ := raw.(int64)
		gone += int(n)
	}
	return gone, nil
}

// nodeOfKeys is the server that holds our keys, all of which are in one slot of a cluster.
func (c *Client) nodeOfKeys(ctx context.Context) (redis.Cmdable, error) {
	if cluster, ok := c.redis.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, c.ns)
	}
	return c.redis, nil
}
