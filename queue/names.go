package queue

import (
	"context"
	"errors"
	"fmt"
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
	Holders, Waiters int // those that wait in waitlists are among the latter
}

// countThrottles reads those of a few throttles that have a limit, or rules.
func (c *Client) countThrottles(ctx context.Context, ids []string) (found []ThrottleCounts, err error) {
	pipe := c.redis.Pipeline()
	for _, id := range ids {
		key := c.ns + "th:" + id
		pipe.HGet(ctx, key, "maximum")
		pipe.TTL(ctx, key)
		pipe.ZCard(ctx, key+"-locks")
		pipe.ZCard(ctx, key+"-pending")
		pipe.SIsMember(ctx, c.ns+"oarlock:waited", id)
		pipe.HExists(ctx, c.ns+"oarlock:rules", "t:"+id)
	}
	asked, _ := pipe.Exec(ctx) // each has its own error
	for _, of := range asked {
		if err := harmless(classify(of.Name(), of.Err())); err != nil && !isNull(err) && Class(err) != Refused {
			c.noteReach(err)
			return nil, err
		}
	}
	for i, id := range ids {
		told := asked[6*i : 6*i+6]
		maximum, _ := strconv.ParseFloat(told[0].(*redis.StringCmd).Val(), 64) // what is no number is no limit
		t := ThrottleCounts{Throttle: Throttle{ID: id, Maximum: wire.ClampInt(maximum), TTL: max(0, told[1].(*redis.DurationCmd).Val())}}
		t.Holders, t.Waiters = int(told[2].(*redis.IntCmd).Val()), int(told[3].(*redis.IntCmd).Val())
		waited, ruled := told[4].(*redis.BoolCmd).Val(), told[5].(*redis.BoolCmd).Val()
		if waited {
			lists, err := c.Waitlists(ctx, id)
			if err != nil && Class(err) != Refused {
				return nil, err
			}
			t.Waiters += JobsOf(lists)
		}
		if t.Maximum != 0 || waited || ruled { // a rate alone is a limit, too
			found = append(found, t)
		}
	}
	return found, nil
}
