package queue

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"
)

// ListCheck is what is odd about what a list has in work, and about what is kept with entries.
type ListCheck struct {
	Nothing   bool     // there is hworker's field false, which is no entry
	Odd       int      // entries whose start time is none, or is to come
	Abandoned int      // entries in work for longer than the timeout and a half: nobody puts them back
	Lost      []string // entries with which something is kept, and that are neither in the list nor in work
}

// CheckList looks at all that is in work of a list and kept with its entries, and changes nothing. With a Timeout of 0 nothing counts as
// abandoned. It reads the whole list only where something is kept with entries that are not in work.
func (c *Client) CheckList(ctx context.Context, l List) (check ListCheck, err error) {
	if err := c.clock.Fresh(ctx); err != nil {
		return check, err
	}
	patient := l.patient()
	keys, now := c.listKeys(l.Name), c.clock.Now()
	lost, odd, abandoned := map[string]bool{}, map[string]bool{}, map[string]bool{} // entries
	err = c.eachField(ctx, keys.tries, func(page []string) error {
		for i := 0; i+1 < len(page); i += 2 {
			lost[page[i]] = true
		}
		return nil
	})
	if err != nil {
		return check, err
	}
	inWork := func(page []string) error {
		for i := 0; i+1 < len(page); i += 2 {
			delete(lost, page[i])
			switch patient.judge(page[i], page[i+1], now) {
			case "":
			case "drop":
				check.Nothing = true
			case "front", "back":
				abandoned[page[i]] = true
			default:
				odd[page[i]] = true
			}
		}
		return nil
	}
	// What is on its way from the list into work, or back, is met in one of the three.
	for _, look := range []func() error{
		func() error { return c.eachField(ctx, keys.progress, inWork) },
		func() error {
			return c.eachEntry(ctx, keys.jobs, len(lost) > 0, func(entry string) { delete(lost, entry) })
		},
		func() error { return c.eachField(ctx, keys.progress, inWork) },
	} {
		if err := look(); err != nil {
			return check, err
		}
	}
	check.Odd, check.Abandoned, check.Lost = len(odd), len(abandoned), slices.Sorted(maps.Keys(lost))
	return check, nil
}

// patient is the list as a monitor takes it that waits half a timeout longer; without a timeout it waits for ever.
func (l List) patient() *List {
	if l.Timeout <= 0 {
		l.Timeout = math.MaxInt64
	} else {
		l.Timeout += l.Timeout/2 + time.Second
	}
	return &l
}

// eachEntry tells all entries of a list, a page at a time, if they are wanted.
func (c *Client) eachEntry(ctx context.Context, key string, wanted bool, each func(entry string)) error {
	for at := int64(0); wanted; at += monitorPage {
		page, err := c.redis.LRange(ctx, key, at, at+monitorPage-1).Result()
		if err = harmless(classify("lrange", err)); err != nil {
			return err
		}
		for _, entry := range page {
			each(entry)
		}
		wanted = len(page) > 0
	}
	return nil
}

// MendList does what a monitor would about what CheckList finds, and deletes what is kept with entries that are lost.
func (c *Client) MendList(ctx context.Context, l List, lost []string) error {
	if _, err := c.MonitorList(ctx, *l.patient()); err != nil || len(lost) == 0 {
		return err
	}
	return harmless(classify("hdel", c.redis.HDel(ctx, c.listKeys(l.Name).tries, lost...).Err()))
}
