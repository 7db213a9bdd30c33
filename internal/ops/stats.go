package ops

import (
	"cmp"
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
	when := today(q)
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

// Day is what happened in a queue on one day.
type Day struct {
	Day      string `json:"day"`    // of UTC, as 2026-01-31
	Waited   Spread `json:"waited"` // from put, or the pop before, to pop
	Ran      Spread `json:"ran"`    // from pop to completion
	Failed   int    `json:"failed"` // as in Stats, all three
	Failures int    `json:"failures"`
	Retries  int    `json:"retries"`
}

// Spread is a distribution of times in seconds.
type Spread struct {
	Count int     `json:"count"`
	Mean  float64 `json:"mean"`
	Std   float64 `json:"std"`
}

// Days reads what happened in a queue on the last days, today first; 0 is 30 of them, and queue.MaxDays are the most.
func Days(ctx context.Context, q *queue.Client, name string, count int) ([]Day, error) {
	if err := KnownQueues(ctx, q, name); err != nil {
		return nil, err
	}
	found, err := q.Days(ctx, name, today(q), cmp.Or(count, 30))
	if err != nil {
		return nil, err
	}
	days := make([]Day, len(found))
	for i, d := range found {
		days[i] = Day{
			Day: d.Day.Format(time.DateOnly), Waited: Spread{d.Wait.Count, d.Wait.Mean, d.Wait.Std}, Ran: Spread{d.Run.Count, d.Run.Mean, d.Run.Std},
			Failed: d.Failed, Failures: d.Failures, Retries: d.Retries,
		}
	}
	return days, nil
}

// today is the time of Redis.
func today(q *queue.Client) time.Time { return time.UnixMicro(int64(q.Now() * 1e6)).UTC() }

// Backlog is what is there of the jobs of a queue, or of all, as lowkiq counts: a worker of it is a queue of ours.
type Backlog struct {
	Length int     `json:"length"`        // waiting, scheduled, stalled, depending and throttled
	Morgue int     `json:"morgue_length"` // failed on one of the last 30 days, by the counters of these, and neither put again nor canceled
	Lag    float64 `json:"lag"`           // seconds; the largest, of all
}

// Backlogs are those of all queues, as lowkiq tells them.
type Backlogs struct {
	Total    Backlog            `json:"total"`
	ByWorker map[string]Backlog `json:"by_worker"`
}

// FailedOf counts, by queue, the jobs that failed on one of the last 30 days, by the counters of these. For a thousand queues
// that is a read of thirty thousand fields.
func FailedOf(ctx context.Context, q *queue.Client, census []queue.QueueCensus) (map[string]int, error) {
	names := make([]string, len(census))
	for i := range census {
		names[i] = census[i].Name
	}
	return q.FailedCounters(ctx, names, today(q), 30)
}

// BacklogsOf adds up what lowkiq's statistics count, of what there is in all queues at the server's time now, and of FailedOf.
func BacklogsOf(census []queue.QueueCensus, now float64, failed map[string]int) Backlogs {
	all := Backlogs{ByWorker: make(map[string]Backlog, len(census))}
	for _, n := range census {
		b := Backlog{n.Waiting + n.Scheduled + n.Stalled + n.Depends + n.Throttled, failed[n.Name], n.Lag(now)}
		all.ByWorker[n.Name] = b
		all.Total.Length += b.Length
		all.Total.Morgue += b.Morgue
		all.Total.Lag = max(all.Total.Lag, b.Lag)
	}
	return all
}
