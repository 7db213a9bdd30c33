package queue

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ThrottleLoad is how a throttle of the rules is used, and waited for.
type ThrottleLoad struct {
	ID      string
	Maximum int            // 0 means no limit
	Used    int            // places that are taken
	Waiting int            // jobs that wait for it, or for the part of one of its values
	Rules   []byte         // as they were installed
	Parties map[string]int // of those waiting, how many by what they are counted by at the throttle: a value, or where it counts by none, a queue; nil: nobody waits
	Since   float64        // since when nothing started of the waitlist of which nothing started for longest, of queues that are not paused, in seconds since the epoch; 0 if there is none
}

// ThrottleLoads tells of the throttles of the rules, sorted by their names; of more than most, of the first. It changes nothing.
func (c *Client) ThrottleLoads(ctx context.Context, most int) ([]ThrottleLoad, error) {
	fields, err := c.redis.HKeys(ctx, c.ns+"oarlock:rules").Result()
	if err != nil {
		return nil, harmless(classify("hkeys", err))
	}
	var ids []string
	for _, field := range fields {
		if id, is := strings.CutPrefix(field, "t:"); is {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil // and of no rules nothing more is asked
	}
	slices.Sort(ids)
	ids = ids[:min(len(ids), most)]
	limits, err := c.RuledLimits(ctx, ids...)
	if err != nil {
		return nil, harmless(err)
	}
	raw, err := c.redis.HMGet(ctx, c.ns+"oarlock:rules", prefixed("t:", ids)...).Result()
	if err != nil {
		return nil, harmless(classify("hmget", err))
	}
	waited, err := c.membersOf(ctx, "oarlock:waited", "*")
	if err != nil {
		return nil, err
	}
	loads := make([]ThrottleLoad, len(ids))
	for i, limit := range limits {
		text, _ := raw[i].(string) // of one that went meanwhile there is none
		loads[i] = ThrottleLoad{ID: limit.ID, Maximum: limit.Maximum, Used: limit.Used, Rules: []byte(text)}
	}
	for _, tid := range waited[:min(len(waited), most)] {
		base, value, ofValue := strings.Cut(tid, "=") // that of a value; no name of a throttle has it
		i, is := slices.BinarySearch(ids, base)
		if !is {
			continue
		}
		lists, err := c.Waitlists(ctx, tid)
		if err != nil {
			return nil, err
		}
		load := &loads[i]
		load.wait(lists, value, ofValue)
		if lists, err = c.unpaused(ctx, lists); err != nil {
			return nil, err
		}
		if len(lists) > 0 && (load.Since == 0 || lists[0].Since < load.Since) {
			load.Since = lists[0].Since
		}
	}
	return loads, nil
}

// wait counts those in waitlists for the throttle; those that wait for the part of a value alone are of that.
func (l *ThrottleLoad) wait(lists []Waitlist, value string, ofValue bool) {
	if l.Parties == nil {
		l.Parties = map[string]int{}
	}
	for i := range lists {
		party := lists[i].Party
		if ofValue {
			party = value
		}
		l.Parties[party] += lists[i].Jobs
		l.Waiting += lists[i].Jobs
	}
}

// prefixed are names with a prefix.
func prefixed(prefix string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = prefix + name
	}
	return out
}

// unpaused are those waitlists whose queue is not paused, in the same order. It asks nothing of none.
func (c *Client) unpaused(ctx context.Context, lists []Waitlist) ([]Waitlist, error) {
	asked := map[string]*redis.BoolCmd{} // by queue
	for some := range slices.Chunk(lists, waitlistsWindow) {
		pipe := c.redis.Pipeline()
		for _, list := range some {
			if asked[list.Queue] == nil {
				asked[list.Queue] = pipe.SIsMember(ctx, c.ns+"paused_queues", list.Queue)
			}
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, harmless(classify("sismember", err))
		}
	}
	return slices.DeleteFunc(lists, func(l Waitlist) bool { return asked[l.Queue].Val() }), nil
}
