package queue

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"oarlock/queue/internal/wire"
)

// QueueCounts is how many jobs of a queue are in which state.
type QueueCounts struct {
	Name      string
	Waiting   int
	Running   int
	Stalled   int // locked by a worker that did not renew in time
	Scheduled int
	Depends   int
	Recurring int
	Throttled int
	Paused    bool
	Damage    string // why its jobs cannot be counted; "" if they can
}

// Queues counts the jobs of every known queue, the queue known longest first. Where a key of
// one is of another type, that queue says so in Damage. It changes nothing: a delayed job that is
// due counts as waiting, though it comes in with the next take only.
func (c *Client) Queues(ctx context.Context) ([]QueueCounts, error) {
	names, err := c.QueueNames(ctx)
	if err != nil {
		return nil, err
	}
	return c.CountQueues(ctx, names)
}

// Queue counts the jobs of one queue as Queues does; it need not be known. The error is a
// *ScriptError if one of its keys is of another type.
func (c *Client) Queue(ctx context.Context, name string) (QueueCounts, error) {
	counts, err := c.CountQueues(ctx, []string{name})
	if err != nil {
		return QueueCounts{}, err
	}
	if counts[0].Damage != "" {
		return counts[0], &ScriptError{Command: "counts", Message: counts[0].Damage}
	}
	return counts[0], nil
}

// countedQueues is how many queues are counted in one call, of which each costs eight commands.
const countedQueues = 60

// CountQueues counts the jobs of these queues as Queues does, in their order; they need not be known.
func (c *Client) CountQueues(ctx context.Context, names []string) ([]QueueCounts, error) {
	all := make([]QueueCounts, 0, len(names))
	for some := range slices.Chunk(names, countedQueues) {
		raw, err := c.call(ctx, Batch, "counts", wire.Args(some)...)
		if err != nil {
			return nil, harmless(err)
		}
		in := wire.Read(raw)
		for _, name := range some {
			all = append(all, QueueCounts{
				Name: name, Waiting: in.Int(), Running: in.Int(), Stalled: in.Int(), Scheduled: in.Int(),
				Depends: in.Int(), Recurring: in.Int(), Throttled: in.Int(), Paused: in.Int() == 1, Damage: in.Text(),
			})
		}
		if in.Err != nil {
			return nil, in.Err
		}
	}
	return all, nil
}

// QueueNames lists the known queues, the one known longest first. They are bytes as they
// were put, which need not be UTF-8.
func (c *Client) QueueNames(ctx context.Context) ([]string, error) {
	names, err := c.redis.ZRange(ctx, c.ns+"queues", 0, -1).Result()
	err = harmless(classify("zrange", err))
	c.noteReach(err)
	return names, err
}

// AreKnown tells which of these queues are known.
func (c *Client) AreKnown(ctx context.Context, names ...string) ([]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	pipe := c.redis.Pipeline()
	for _, name := range names {
		pipe.ZScore(ctx, c.ns+"queues", name)
	}
	asked, _ := pipe.Exec(ctx) // each has its own error
	known := make([]bool, len(names))
	for i, of := range asked {
		if err := harmless(classify("zscore", of.Err())); err != nil && !isNull(err) {
			c.noteReach(err)
			return nil, err
		}
		known[i] = of.Err() == nil
	}
	return known, nil
}

// Length is how many jobs of a queue wait, run, or are scheduled.
func (c *Client) Length(ctx context.Context, queue string) (int, error) {
	n, err := c.integer(ctx, Qless, "length", queue)
	return int(n), err
}

// Jobs lists the jids of a queue's jobs in a state: running, stalled, scheduled, depends,
// recurring or throttled; those that wait are shown by Peek, failed ones by Failed. For complete, queue is
// not used, and the newest come first.
func (c *Client) Jobs(ctx context.Context, state, queue string, offset, count int) ([]string, error) {
	var jids wire.List[string]
	if state == "scheduled" { // the protocol's command would bring in what is due
		return c.jidsOn(ctx, Shelf{ShelfScheduled, queue}, offset, count)
	}
	if state == "complete" {
		return jids, c.decode(ctx, &jids, Reqless, "jobs.completed", offset, count)
	}
	return jids, c.decode(ctx, &jids, Reqless, "queue.jobsByState", state, queue, offset, count)
}

// Pause makes queues hand out no more jobs. What runs goes on.
func (c *Client) Pause(ctx context.Context, queues ...string) error {
	_, err := c.call(ctx, Qless, "pause", wire.Args(queues)...)
	return err
}

// Resume ends Pause, and wakes supervisors.
func (c *Client) Resume(ctx context.Context, queues ...string) error {
	_, err := c.call(ctx, Qless, "unpause", wire.Args(queues)...)
	return err
}

// ForgetQueues takes queues off the list of known ones. Their jobs stay, and a put makes a
// queue known again.
func (c *Client) ForgetQueues(ctx context.Context, queues ...string) error {
	_, err := c.call(ctx, Qless, "queue.forget", wire.Args(queues)...)
	return err
}

// Stats is what happened in a queue on one day.
type Stats struct {
	Wait, Run Durations // from put (or the pop before) to pop; from pop to completion
	Failures  int       // how often a job failed
	// Failed is a counter: one more with each failure, one less when a job that failed on
	// that day is put again or cancelled, charged to the queue that it goes to then; so it may be
	// negative, and it is not the number of failed jobs.
	Failed  int
	Retries int // how often a lock ran out
}

// Durations is a distribution of times, in seconds.
type Durations struct {
	Count     int
	Mean      float64
	Std       float64 // standard deviation; 0 for fewer than two
	Histogram []int   // see HistogramBucket
	Negative  int     // below 0, by clocks that disagree: in none of the buckets
}

// HistogramBucket is the range of seconds [from, to) that Durations.Histogram[i] counts:
// 60 buckets of a second, 59 of a minute, 23 of an hour, 6 of a day. What took a week or longer
// is in none.
func HistogramBucket(i int) (from, to time.Duration) {
	switch {
	case i < 60:
		from, to = time.Duration(i)*time.Second, time.Second
	case i < 119:
		from, to = time.Duration(i-59)*time.Minute, time.Minute
	case i < 142:
		from, to = time.Duration(i-118)*time.Hour, time.Hour
	default:
		from, to = time.Duration(i-141)*24*time.Hour, 24*time.Hour
	}
	return from, from + to
}

// Stats reads the statistics of a queue for the day (of UTC) that a time is in.
func (c *Client) Stats(ctx context.Context, queue string, day time.Time) (Stats, error) {
	var stats Stats
	if err := c.decode(ctx, &stats, Qless, "stats", queue, day.Unix()); err != nil {
		return stats, err
	}
	midnight := day.UTC().Truncate(24 * time.Hour).Unix()
	for kind, into := range map[string]*Durations{"wait": &stats.Wait, "run": &stats.Run} {
		fields, err := c.redis.HGetAll(ctx, fmt.Sprintf("%ss:%s:%d:%s", c.ns, kind, midnight, queue)).Result()
		if err != nil {
			return stats, classify("hgetall", err)
		}
		for name, value := range fields {
			if strings.HasPrefix(name, "s-") {
				n, _ := strconv.Atoi(value)
				into.Negative += n
			}
		}
	}
	return stats, nil
}
