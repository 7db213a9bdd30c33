package queue

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/wire"
)

// DayStats is Stats of one day, its Durations without histogram.
type DayStats struct {
	Day time.Time // the midnight, UTC, with which it begins
	Stats
}

// MaxDays is how many days Days reads at most; older statistics are deleted after as many, unless set otherwise.
const MaxDays = 31

// Days reads the statistics of a queue for count days (1 to MaxDays) up to the one that last is in, the last first. It
// changes nothing.
func (c *Client) Days(ctx context.Context, queue string, last time.Time, count int) ([]DayStats, error) {
	midnight := last.UTC().Truncate(24 * time.Hour)
	count = min(max(count, 1), MaxDays)
	raw, err := c.read(ctx, "days", queue, midnight.Unix(), count)
	if err != nil {
		return nil, err
	}
	in := wire.Read(raw)
	days := make([]DayStats, count)
	for i := range days {
		d := &days[i]
		d.Day = midnight.AddDate(0, 0, -i)
		d.Wait, d.Run = readDurations(&in), readDurations(&in)
		d.Failures, d.Retries, d.Failed = in.Int(), in.Int(), in.Int()
	}
	return days, in.Err
}

// readDurations reads how many, their mean, and the sum of squares from which their spread follows.
func readDurations(in *wire.Reader) Durations {
	d := Durations{Count: in.Int(), Mean: in.Float()}
	if squares := in.Float(); d.Count > 1 {
		d.Std = math.Sqrt(max(0, squares) / float64(d.Count-1))
	}
	return d
}

// counterQueues is of how many queues the counters are read in one pipeline.
const counterQueues = 40

// FailedCounters adds up, by queue, the counters Stats.Failed of count days up to the one that last is in, each as 0 if
// it is less. A queue without any is left out. It changes nothing.
func (c *Client) FailedCounters(ctx context.Context, queues []string, last time.Time, count int) (map[string]int, error) {
	midnight := last.UTC().Truncate(24 * time.Hour)
	sums := make(map[string]int)
	for some := range slices.Chunk(queues, counterQueues) {
		pipe := c.redis.Pipeline()
		var values []*redis.StringCmd
		for _, name := range some {
			for day := range count {
				values = append(values, pipe.HGet(ctx, fmt.Sprintf("%ss:stats:%d:%s", c.ns, midnight.AddDate(0, 0, -day).Unix(), name), "failed"))
			}
		}
		_, _ = pipe.Exec(ctx) // each tells its own error
		for i, value := range values {
			err := harmless(classify("hget", value.Err()))
			if err != nil && !isNull(err) && Class(err) != Refused {
				c.noteReach(err)
				return nil, err
			}
			if n, err := value.Int(); err == nil && n > 0 { // what is no number, or another type, counts nothing
				sums[some[i/count]] += n
			}
		}
	}
	return sums, nil
}
