package queue

import (
	"context"
	"slices"

	"oarlock/queue/internal/wire"
)

// QueueCensus is what one queue holds, and how it goes.
type QueueCensus struct {
	QueueCounts
	Limit  int // how many jobs may run at a time; 0 is any number
	Behind int // of those Waiting, how many stand behind others of their key: they cannot be taken now

	// ReadySince is since when nothing but a free child has been missing to the job that is next in
	// turn, in seconds since the epoch: it came in, its delay was over, or its lock ran out. 0 if
	// none could be taken.
	ReadySince float64
	NextDue    float64 // when the next delayed job is due; 0 if there is none

	Today DayCounts

	Keys KeysCensus
}

// KeysCensus is how it stands with the keys of a queue; see KeyCounts.
type KeysCensus struct {
	Ordered bool // the queue has, or had, jobs with keys, and nobody gave its order up
	All     int  // keys that have a job with the turn, or that of one whose end is not known yet
	Blocked int  // of those, for which another job waits
	// Since is since when one waits for the same holder of a turn that does not wait for an answer, of the key for which that is
	// longest, in seconds since the epoch; 0 if none does.
	Since float64
}

// BlockedFor is for how many seconds, at the time now, a job has waited at most until the turn of its key went on; 0 if none waits.
func (k *KeysCensus) BlockedFor(now float64) float64 { return lag(k.Since, now) }

// DayCounts are counters of a queue that begin anew at midnight UTC.
type DayCounts struct {
	Completed   int
	Failures    int     // how often a job failed
	LocksRunOut int     // which costs their jobs a retry
	MeanRun     float64 // of the completed ones, in seconds
}

// Lag is for how long the job that is next in turn has been waiting for nothing but a free child, in seconds at the
// time now; 0 if none could be taken.
func (q *QueueCensus) Lag(now float64) float64 { return lag(q.ReadySince, now) }

func lag(since, now float64) float64 {
	if since == 0 {
		return 0
	}
	return max(0, now-since)
}

// CensusChunk is how many queues Census counts in one call of Redis, of which each costs some ten commands: who has
// time asks for so many at a time, and pauses between.
const CensusChunk = 25

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
			q.Behind = in.Int()
			keys := in.Int()
			q.Keys = KeysCensus{Ordered: keys >= 0, All: max(keys, 0), Blocked: in.Int(), Since: in.Float()}
			q.Damage = in.Text()
			all = append(all, q)
		}
		if in.Err != nil {
			return nil, 0, in.Err
		}
	}
	return all, now, nil
}
