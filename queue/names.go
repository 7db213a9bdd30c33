package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/wire"
)

// What is here finds names for people: it reads parts of long lists, by keys, and changes nothing.

// SomeQueueNames are the names of known queues, most of them at most, the queue known longest first.
func (c *Client) SomeQueueNames(ctx context.Context, most int) ([]string, error) {
	names, err := c.redis.ZRange(ctx, c.ns+"queues", 0, int64(most)-1).Result()
	return names, harmless(classify("zrange", err))
}

// SomeFailedGroups are the names of groups of failed jobs, most of them at most, in no order.
func (c *Client) SomeFailedGroups(ctx context.Context, most int) ([]string, error) {
	groups, _, err := c.redis.SScan(ctx, c.ns+"failures", 0, "", int64(most)).Result() // SMEMBERS would bring all
	return groups[:min(len(groups), most)], harmless(classify("sscan", err))
}

// SomeFailed are the ids of jobs that failed in groups, most of each group at most. With the error of
// one group come the jobs of the others.
func (c *Client) SomeFailed(ctx context.Context, groups []string, most int) ([]string, error) {
	pipe := c.redis.Pipeline()
	var lists []*redis.StringSliceCmd
	for _, group := range groups {
		lists = append(lists, pipe.LRange(ctx, c.ns+"f:"+group, 0, int64(most)-1))
	}
	_, err := pipe.Exec(ctx)
	var jids []string
	for _, list := range lists {
		jids = append(jids, list.Val()...)
	}
	return jids, harmless(classify("lrange", err))
}

// FailedGroupDamage says what to do about a group that FailedGroups counts -1.
func (c *Client) FailedGroupDamage(group string) string {
	return fmt.Sprintf("%sf:%s is no list: rename or delete it", c.ns, group)
}

// ThrottleIDs lists what may be throttles, with or without a limit, by their keys: the protocol keeps
// no list of them. They are sorted.
func (c *Client) ThrottleIDs(ctx context.Context) ([]string, error) {
	node, err := c.nodeOfKeys(ctx)
	if err != nil {
		return nil, harmless(classify("scan", err))
	}
	prefix := c.ns + "th:"
	var ids []string
	keys := node.Scan(ctx, 0, wire.Literal(prefix)+"*", 1000).Iterator()
	for keys.Next(ctx) {
		id := strings.TrimPrefix(keys.Val(), prefix)
		ids = append(ids, strings.TrimSuffix(strings.TrimSuffix(id, "-locks"), "-pending"))
	}
	slices.Sort(ids)
	return slices.Compact(ids), harmless(classify("scan", keys.Err()))
}

// ThrottleDamage names the keys of a throttle that are of another type than they should be, and
// what to do about them; "" if none is, or Redis does not tell.
func (c *Client) ThrottleDamage(ctx context.Context, id string) string {
	key := c.ns + "th:" + id
	pipe := c.redis.Pipeline()
	pipe.HGet(ctx, key, "maximum")
	pipe.ZCard(ctx, key+"-locks")
	pipe.ZCard(ctx, key+"-pending")
	asked, _ := pipe.Exec(ctx) // each has its own error
	var wrong []string
	for _, of := range asked {
		if err := of.Err(); err != nil && !errors.Is(err, redis.Nil) && Class(classify(of.Name(), err)) == Refused {
			wrong = append(wrong, fmt.Sprintf("%v: %v", of.Args()[1], err))
		}
	}
	if len(wrong) == 0 {
		return ""
	}
	return strings.Join(wrong, "; ") + ": rename or delete it"
}

// Named tells of what there is something with a name.
type Named struct {
	Job, Recurring, Queue, Group, Tag, Worker, Throttle bool
}

// Named looks for everything of exactly that name, in one round trip.
func (c *Client) Named(ctx context.Context, name string) (Named, error) {
	pipe := c.redis.Pipeline()
	job, recurring := pipe.Exists(ctx, c.ns+"j:"+name), pipe.Exists(ctx, c.ns+"r:"+name, c.ns+"oarlock:cron:"+name)
	known := pipe.ZScore(ctx, c.ns+"queues", name)
	there := pipe.Exists(ctx, c.ns+"q:"+name+"-work", c.ns+"q:"+name+"-locks", c.ns+"q:"+name+"-scheduled", c.ns+"q:"+name+"-depends", c.ns+"q:"+name+"-recur")
	group, tag, worker := pipe.Exists(ctx, c.ns+"f:"+name), pipe.Exists(ctx, c.ns+"t:"+name), pipe.ZScore(ctx, c.ns+"workers", name)
	throttle := pipe.Exists(ctx, c.ns+"th:"+name, c.ns+"th:"+name+"-locks", c.ns+"th:"+name+"-pending")
	asked, _ := pipe.Exec(ctx) // each has its own error
	for _, of := range asked {
		if err := harmless(classify(of.Name(), of.Err())); err != nil && !isNull(err) && Class(err) != Refused {
			c.noteReach(err)
			return Named{}, err
		}
	}
	return Named{
		Job: job.Val() > 0, Recurring: recurring.Val() > 0, Queue: known.Err() == nil || there.Val() > 0, Group: group.Val() > 0,
		Tag: tag.Val() > 0, Worker: worker.Err() == nil, Throttle: throttle.Val() > 0,
	}, nil
}

// ThrottleCounts are a throttle, and how many jobs have to do with it.
type ThrottleCounts struct {
	Throttle
	Holders, Waiters int
}

// SomeThrottles looks at the next keys of Redis, some ten thousand of them, and tells of the throttles with a limit that are among them, in
// no order; the protocol keeps no list of them. It begins with the cursor "", and goes on with what it returns until that
// is "". One that is there all the while is met once, or more often. It changes nothing.
func (c *Client) SomeThrottles(ctx context.Context, cursor string) (found []ThrottleCounts, next string, err error) {
	at := uint64(0)
	if cursor != "" {
		if at, err = strconv.ParseUint(cursor, 10, 64); err != nil {
			return nil, "", ErrCursor
		}
	}
	node, err := c.nodeOfKeys(ctx)
	if err != nil {
		return nil, "", harmless(classify("scan", err))
	}
	prefix := c.ns + "th:"
	var ids []string
	for range 10 {
		keys, then, err := node.ScanType(ctx, at, wire.Literal(prefix)+"*", 1000, "hash").Result()
		if err != nil {
			return nil, "", harmless(classify("scan", err))
		}
		for _, key := range keys {
			ids = append(ids, strings.TrimPrefix(key, prefix))
		}
		if at = then; at == 0 {
			break
		}
	}
	if at != 0 {
		next = strconv.FormatUint(at, 10)
	}
	slices.Sort(ids)
	found, err = c.countThrottles(ctx, slices.Compact(ids))
	return found, next, err
}

// countThrottles reads those of the ids that have a limit.
func (c *Client) countThrottles(ctx context.Context, ids []string) (found []ThrottleCounts, err error) {
	for some := range slices.Chunk(ids, groupsChunk) {
		pipe := c.redis.Pipeline()
		for _, id := range some {
			key := c.ns + "th:" + id
			pipe.HGet(ctx, key, "maximum")
			pipe.TTL(ctx, key)
			pipe.ZCard(ctx, key+"-locks")
			pipe.ZCard(ctx, key+"-pending")
		}
		asked, _ := pipe.Exec(ctx) // each has its own error
		for _, of := range asked {
			if err := harmless(classify(of.Name(), of.Err())); err != nil && !isNull(err) && Class(err) != Refused {
				c.noteReach(err)
				return nil, err
			}
		}
		for i, id := range some {
			maximum, _ := strconv.ParseFloat(asked[4*i].(*redis.StringCmd).Val(), 64) // what is no number is no limit
			t := ThrottleCounts{Throttle: Throttle{ID: id, Maximum: wire.ClampInt(maximum), TTL: max(0, asked[4*i+1].(*redis.DurationCmd).Val())}}
			t.Holders, t.Waiters = int(asked[4*i+2].(*redis.IntCmd).Val()), int(asked[4*i+3].(*redis.IntCmd).Val())
			if t.Maximum != 0 {
				found = append(found, t)
			}
		}
	}
	return found, nil
}
