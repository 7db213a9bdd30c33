package queue

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// valueScans is how many times, by a thousand names, is looked through a set.
const valueScans = 100

// ThrottleValues are the values of a throttle of the rules of which somebody has places, or waits for some; sorted. Of a hundred thousand
// throttles that are used some may be missing. It changes nothing.
func (c *Client) ThrottleValues(ctx context.Context, id string) ([]string, error) {
	prefix := id + "="
	var values []string
	for _, set := range []string{"oarlock:held", "oarlock:waited"} {
		some, err := c.membersOf(ctx, set, globEscaper.Replace(prefix)+"*")
		if err != nil {
			return nil, err
		}
		for _, tid := range some {
			values = append(values, strings.TrimPrefix(tid, prefix))
		}
	}
	slices.Sort(values)
	return slices.Compact(values), nil
}

// membersOf are the members of a set of ours that a pattern stands for, sorted; of a hundred thousand some may be missing.
func (c *Client) membersOf(ctx context.Context, set, pattern string) (members []string, err error) {
	for cursor, scans := uint64(0), 0; scans == 0 || cursor != 0 && scans < valueScans; scans++ {
		some, next, err := c.redis.SScan(ctx, c.ns+set, cursor, pattern, 1000).Result()
		if err != nil {
			return nil, harmless(classify("sscan", err))
		}
		members, cursor = append(members, some...), next
	}
	slices.Sort(members)
	return slices.Compact(members), nil
}

// globEscaper makes a pattern of Redis that stands for a text alone.
var globEscaper = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`)

// NextStart is when a throttle with a sliding rate lets a place be taken the next time; 0 if it does now.
//
//	starts, period   so many begin in so many seconds at most
func (c *Client) NextStart(ctx context.Context, id string, starts int, period float64) (float64, error) {
	now := c.Now()
	key, since, until := c.ns+"oarlock:starts:"+id, "("+strconv.FormatFloat(now-period, 'f', -1, 64), strconv.FormatFloat(now+period, 'f', -1, 64)
	lately, err := c.redis.ZCount(ctx, key, since, until).Result()
	if err != nil || int(lately) < starts {
		return 0, harmless(classify("zcount", err))
	}
	first, err := c.redis.ZRangeByScoreWithScores(ctx, key, &redis.ZRangeBy{Min: since, Max: until, Offset: lately - int64(starts), Count: 1}).Result()
	if err != nil || len(first) == 0 {
		return 0, harmless(classify("zrangebyscore", err))
	}
	return cmp.Or(first[0].Score, now) + period, nil
}
