package queue

import (
	"context"
	"slices"

	"oarlock/queue/internal/wire"
)

// QueueCensus is what one queue holds, and how it goes.
type QueueCensus struct {
	QueueCounts
	Limit int // how many jobs may run at a time; 0 is any number

	// ReadySince is since when nothing but a free child has been missing to the job that is next in
	// turn, in seconds since the epoch: it came in, its delay was over, or its lock ran out. 0 if
	// none could be taken.
	ReadySince float64
	NextDue    float64 // when the next delayed job is due; 0 if there is none

	Today DayCounts
}

// DayCounts are counters of a queue that begin anew at midnight UTC.
type DayCounts struct {
	Completed   int
	Failures    int     // how often a job failed
	LocksRunOut int     // which costs their jobs a retry
	MeanRun     float64 // of the completed ones, in seconds
}

// Lag is for how long the job that is next in turn has been waiting for nothing but a free child, in seconds at the
// time now; 0 if none could be taken.
func (q *QueueCensus) Lag(now float64) float64 {
	if q.ReadySince == 0 {
		return 0
	}
	return max(0, now-q.ReadySince)
}

// CensusChunk is how many queues Census counts in one call of Redis, of which each costs some ten commands: who has
// time asks for so many at a time, and pauses between.
const CensusChunk = 50

// Census tells what queues hold, in their order; they need not be known. It changes nothing. now is the
// server's time of the first call.
func (c *Client) Census(ctx context.Context, names []string) (all []QueueCensus, now float64, err error) {
	all = make([]QueueCensus, 0, len(names))
	now = c.Now()
	for some := range slices.Chunk(names, CensusChunk) {
		raw, at, err := c.readAt(ctx, "census", wire.Args(some)...)
		if err != nil {
			return nil, 0, err
		}
		if len(all) == 0 {
			now = at
		}
		in := wire.Read(raw)
		for _, name := range some {
			q := QueueCensus{QueueCounts: QueueCounts{
				Name: name, Waiting: in.Int(), Running: in.Int(), Stalled: in.Int(), Scheduled: in.Int(),
				Depends: in.Int(), Recurring: in.Int(), Throttled: in.Int(), Paused: in.Int() == 1,
			}}
			q.Limit, q.ReadySince, q.NextDue = in.Int(), in.Float(), in.Float()
			q.Today = DayCounts{Completed: in.Int(), Failures: in.Int(), LocksRunOut: in.Int(), MeanRun: in.Float()}
			q.Damage = in.Text()
			all = append(all, q)
		}
		if in.Err != nil {
			return nil, 0, in.Err
		}
	}
	return all, now, nil
}
