package queue

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/wire"
)

const (
	// keptFor is how long what is kept with an entry stays that nobody of ours settles, in seconds.
	keptFor = 7 * 24 * 3600
	// skewed is how far ahead of our clock a start time may be and still count as one, in seconds.
	skewed = 24 * 3600
	// nobodyTag is that of entries whose start time could not be read: it is that of no session.
	nobodyTag = "999999990"
	// monitorPage is how many entries in work are looked at in one call.
	monitorPage = 100
)

// listMove is what is to be done about an entry in work whose value is what was seen; see list.monitor.
type listMove struct{ entry, value, action string }

// moveListed does so, and counts what was done.
func (c *Client) moveListed(ctx context.Context, jobs, progress string, moves []listMove) (done int, err error) {
	if len(moves) == 0 {
		return 0, nil
	}
	args := make([]any, 0, 2+3*len(moves))
	args = append(args, jobs, progress)
	for _, m := range moves {
		args = append(args, m.entry, m.value, m.action)
	}
	raw, err := c.call(ctx, Batch, "list.monitor", args...)
	if err != nil {
		return 0, harmless(err) // a second time it finds another value
	}
	in := wire.Read(raw)
	for range moves {
		switch answer := in.Text(); answer {
		case "1":
			done++
		case "0":
		default:
			err = refusal("list.monitor", answer)
		}
	}
	if in.Err != nil {
		err = in.Err
	}
	return done, err
}

// MonitorList looks at all entries of a list that are in work, and puts those back that have been there for longer
// than l.Timeout: to the front, for they were taken first. It returns how many. Of many monitors, hworker's too, one
// puts each back. A time that is none, of whoever wrote it, begins now.
func (c *Client) MonitorList(ctx context.Context, l List) (moved int, err error) {
	if err := c.clock.Precise(ctx); err != nil || c.clock.Settling() {
		return 0, err // workers renew their entries first
	}
	keys, now := c.listKeys(l.Name), c.clock.Now()
	err = c.eachField(ctx, keys.progress, func(page []string) error {
		var moves, others []listMove
		for i := 0; i+1 < len(page); i += 2 {
			action := l.judge(page[i], page[i+1], now)
			switch move := (listMove{page[i], page[i+1], action}); action {
			case "":
			case "front", "back":
				moves = append(moves, move)
			default:
				others = append(others, move)
			}
		}
		n, err := c.moveListed(ctx, keys.jobs, keys.progress, moves)
		moved += n
		if err == nil {
			_, err = c.moveListed(ctx, keys.jobs, keys.progress, others)
		}
		return err
	})
	if err != nil {
		return moved, err
	}
	return moved, c.eachField(ctx, keys.tries, func(page []string) error {
		var old []listMove
		for i := 0; i+1 < len(page); i += 2 {
			if now-readListKept(page[i+1]).At > keptFor {
				old = append(old, listMove{page[i], page[i+1], "drop"})
			}
		}
		_, err := c.moveListed(ctx, keys.jobs, keys.tries, old)
		return err
	})
}

// judge says what is to be done about an entry in work; "" is nothing.
func (l *List) judge(entry, value string, now float64) string {
	if hworkerOf(l.Name) != "" && entry == "false" { // as hworker leaves it where it finds nothing
		return "drop"
	}
	since, tag, ok := readStamp(value)
	switch {
	case !ok, tag != laterTag && since > now+skewed:
		return stampOf(now, nobodyTag)
	case now-since <= l.Timeout.Seconds():
		return ""
	case tag == laterTag:
		return "back"
	}
	return "front"
}

// eachField reads a hash in pages of fields and values.
func (c *Client) eachField(ctx context.Context, key string, each func(page []string) error) error {
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		page, next, err := c.redis.HScan(ctx, key, cursor, "", monitorPage).Result()
		if err = harmless(classify("hscan", err)); err != nil {
			return err
		}
		if err := each(page); err != nil {
			return err
		}
		cursor = next
	}
	return nil
}

// ListCounts are the numbers of entries of a list.
type ListCounts struct {
	Waiting  int    `json:"waiting"`
	Progress int    `json:"progress"`
	Failed   int    `json:"failed"`
	Broken   int    `json:"broken"`
	Damage   string `json:"damage,omitempty"` // why they cannot be counted; "" if they can
}

// CountLists counts the entries of lists, by their names, in one round trip. Where a key of one is of another type,
// that list says so.
func (c *Client) CountLists(ctx context.Context, names []string) ([]ListCounts, error) {
	pipe := c.redis.Pipeline()
	for _, name := range names {
		k := c.listKeys(name)
		pipe.LLen(ctx, k.jobs)
		pipe.HLen(ctx, k.progress)
		pipe.HExists(ctx, k.progress, noEntry)
		pipe.LLen(ctx, k.failed)
		pipe.HLen(ctx, k.broken)
	}
	replies, err := pipe.Exec(ctx)
	if err = harmless(classify("llen", err)); err != nil && Class(err) != Refused {
		return nil, err
	}
	counts := make([]ListCounts, len(names))
	for i, reply := range replies {
		n, err := countOf(reply)
		if err = harmless(classify(reply.Name(), err)); err != nil && Class(err) != Refused {
			return nil, err
		}
		of := &counts[i/5]
		if err != nil && of.Damage == "" {
			of.Damage = strings.TrimSpace(wire.Words(err.Error()))
		}
		switch part := []*int{&of.Waiting, &of.Progress, nil, &of.Failed, &of.Broken}[i%5]; {
		case part != nil:
			*part = int(n)
		case n == 1 && isHworker(names[i/5]):
			of.Progress-- // it is no entry
		}
	}
	return counts, nil
}

// noEntry is what an hworker leaves among what is in work when it looks into an empty list.
const noEntry = "false"

// isHworker reports whether a list is an hworker's.
func isHworker(list string) bool { return ListKey(list) != list }

// countOf is the number that a reply is; a truth counts as 1.
func countOf(reply redis.Cmder) (int64, error) {
	if is, ok := reply.(*redis.BoolCmd); ok {
		yes, err := is.Result()
		if yes {
			return 1, err
		}
		return 0, err
	}
	return reply.(*redis.IntCmd).Result()
}
