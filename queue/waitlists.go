package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// waitlistsWindow is how many members of a set, or keys, are asked for at a time: calls of less than a millisecond.
const waitlistsWindow = 500

// Waitlist is some jobs of a ruled queue that need the same places, and wait for those of one throttle.
type Waitlist struct {
	Queue  string  `json:"queue"`
	Party  string  `json:"party"`  // as whom its turn comes: a value of the throttle, or, where that has none, its queue
	Places int     `json:"places"` // that each of its jobs needs of the throttle
	Jobs   int     `json:"jobs"`
	Since  float64 `json:"since"` // since when nothing of it started, in seconds since the epoch
	key    string
}

// Waitlists lists the waitlists whose jobs wait for a throttle, that of which nothing started for longest first. It changes
// nothing.
func (c *Client) Waitlists(ctx context.Context, id string) ([]Waitlist, error) {
	marks, err := c.waitlistMarks(ctx, id)
	if err != nil {
		return nil, harmless(classify("zrange", err))
	}
	var all []Waitlist
	for some := range slices.Chunk(marks, waitlistsWindow) {
		pipe := c.redis.Pipeline()
		counts, records := make([]*redis.IntCmd, len(some)), make([]*redis.StringCmd, len(some))
		for i, mark := range some {
			counts[i], records[i] = pipe.ZCard(ctx, mark.key), pipe.HGet(ctx, c.ns+"oarlock:waitlists:"+mark.Queue, mark.line)
		}
		if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
			return nil, harmless(classify("zcard", err))
		}
		for i, mark := range some {
			if mark.Jobs = int(counts[i].Val()); mark.Jobs == 0 {
				continue // it went between two calls
			}
			since, _, _ := strings.Cut(records[i].Val(), " ")
			mark.Since, _ = strconv.ParseFloat(since, 64) // of one that went: 0
			all = append(all, mark.Waitlist)
		}
	}
	slices.SortStableFunc(all, func(a, b Waitlist) int { return cmp.Compare(a.Since, b.Since) })
	return all, nil
}

// JobsOf is how many jobs stand in waitlists together.
func JobsOf(lists []Waitlist) (jobs int) {
	for i := range lists {
		jobs += lists[i].Jobs
	}
	return jobs
}

// Waitlisted names the first so many jobs of waitlists, those first that come first in theirs. It changes nothing.
func (c *Client) Waitlisted(ctx context.Context, lists []Waitlist, most int) (jids []string, err error) {
	for some := range slices.Chunk(lists, waitlistsWindow) {
		pipe, left := c.redis.Pipeline(), most-len(jids)
		for _, list := range some {
			if first := min(list.Jobs, left); first > 0 {
				left -= first
				pipe.ZRevRange(ctx, list.key, 0, int64(first)-1)
			}
		}
		heads, err := pipe.Exec(ctx) // of none nothing is asked
		if err != nil {
			return nil, harmless(classify("zrevrange", err))
		}
		for _, head := range heads {
			jids = append(jids, head.(*redis.StringSliceCmd).Val()...)
		}
	}
	return jids, nil
}

// waitlistMark is a waitlist as a throttle knows it.
type waitlistMark struct {
	Waitlist
	line string
}

// waitlistMarks are the waitlists that wait for a throttle, by its rota; see lua/lib/rota.lua.
func (c *Client) waitlistMarks(ctx context.Context, id string) ([]waitlistMark, error) {
	waiting, err := c.rangeAll(ctx, c.ns+"oarlock:rota:"+id, c.ns+"oarlock:over:"+id)
	if err != nil {
		return nil, err
	}
	parties := slices.Concat(waiting...)
	slices.Sort(parties) // between two calls one may go from one set to the other
	parties = slices.Compact(parties)
	keys := make([]string, len(parties))
	for i, party := range parties {
		keys[i] = fmt.Sprintf("%soarlock:wait:%d:%s%s", c.ns, len(id), id, party)
	}
	found, err := c.rangeAll(ctx, keys...)
	var marks []waitlistMark
	for i, texts := range found {
		for _, text := range texts {
			if mark, is := c.readWaitlistMark(text); is {
				mark.Party = parties[i]
				marks = append(marks, mark)
			}
		}
	}
	return marks, err
}

// readWaitlistMark reads places, ":", the length of the queue's name, ":", that name and the line.
func (c *Client) readWaitlistMark(text string) (waitlistMark, bool) {
	places, list, _ := strings.Cut(text, ":")
	length, name, _ := strings.Cut(list, ":")
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 || n > len(name) {
		return waitlistMark{}, false
	}
	mark := waitlistMark{Waitlist{Queue: name[:n], key: c.ns + "oarlock:waitlist:" + list}, name[n:]}
	mark.Places, err = strconv.Atoi(places)
	return mark, err == nil
}

// rangeAll are the members of each of some sorted sets, of any number and size, read by windows.
func (c *Client) rangeAll(ctx context.Context, keys ...string) ([][]string, error) {
	all, some := make([][]string, len(keys)), make([]int, len(keys)) // of some there is more
	for i := range keys {
		some[i] = i
	}
	for from := int64(0); len(some) > 0; from += waitlistsWindow {
		var longer []int
		for few := range slices.Chunk(some, waitlistsWindow) {
			pipe := c.redis.Pipeline()
			windows := make([]*redis.StringSliceCmd, len(few))
			for i, k := range few {
				windows[i] = pipe.ZRange(ctx, keys[k], from, from+waitlistsWindow-1)
			}
			if _, err := pipe.Exec(ctx); err != nil {
				return nil, err
			}
			for i, window := range windows {
				if all[few[i]] = append(all[few[i]], window.Val()...); len(window.Val()) == waitlistsWindow {
					longer = append(longer, few[i])
				}
			}
		}
		some = longer
	}
	return all, nil
}
