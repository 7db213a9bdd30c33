package ops

import (
	"context"
	"strconv"
	"time"

	"oarlock/queue"
)

// Durations are a distribution of times in seconds, with the counts of queue.HistogramBucket.
type Durations struct {
	Count     int     `json:"count"`
	Mean      float64 `json:"mean"`
	Std       float64 `json:"std"`
	Histogram []int   `json:"histogram"`
	Negative  int     `json:"negative"` // in none of the histogram's
}

// Stats are how long the jobs of a queue waited and ran on a day, and how many failed.
type Stats struct {
	Day      string    `json:"day"`      // of UTC, as 2026-01-31
	Failed   int       `json:"failed"`   // Failures less those that were put again or canceled, in whichever queue
	Failures int       `json:"failures"` // that there were
	Queue    string    `json:"queue"`
	Retries  int       `json:"retries"` // locks that ran out
	Run      Durations `json:"run"`
	Wait     Durations `json:"wait"`
}

// StatsOf reads the statistics of a queue of a day; "" is today.
func StatsOf(ctx context.Context, q *queue.Client, name, day string) (Stats, error) {
	when := time.UnixMicro(int64(q.Now() * 1e6)).UTC()
	if day != "" {
		var err error
		if when, err = time.Parse(time.DateOnly, day); err != nil {
			return Stats{}, &Wrong{"day", strconv.Quote(day) + " is not of the form 2026-01-31"}
		}
	}
	if err := KnownQueues(ctx, q, name); err != nil {
		return Stats{}, err
	}
	s, err := q.Stats(ctx, name, when)
	return Stats{
		Day: when.Format(time.DateOnly), Failed: s.Failed, Failures: s.Failures, Queue: name, Retries: s.Retries,
		Run: Durations(s.Run), Wait: Durations(s.Wait),
	}, err
}
