package queue

import (
	"cmp"
	"context"
	"slices"

	"oarlock/queue/internal/script"
	"oarlock/queue/internal/wire"
)

// Swept is what a Sweep did.
type Swept struct {
	Back   int // how many jobs went back
	Broken []Broken
}

// Sweep looks after locks that have run out, at most limit of each queue, as a pop would:
// the worker is warned first; when its grace period is over, the job goes back in front of
// its queue at the cost of one retry, or fails if none is left.
//
// It goes on with what calls of Exchange left to be done, see Reply.Rest, until that is done.
// No call of it does more than about 500 commands.
//
// Any number of supervisors may sweep the same queues, and a sweep may be repeated.
func (c *Client) Sweep(ctx context.Context, queues []string, limit int) (Swept, error) {
	var swept Swept
	if err := c.clock.Precise(ctx); err != nil || c.clock.Settling() {
		return swept, err // the holders renew their locks first
	}
	for rest := len(queues) > 0; rest || len(queues) > 0; {
		some := queues[:min(len(queues), sliceOfQueues)]
		raw, err := c.call(ctx, Batch, "sweep", wire.Args(some, limit)...)
		if err != nil {
			return swept, harmless(err)
		}
		in := wire.Read(raw)
		counts := wire.Reader{Items: in.List()}
		broken, err := readBroken(in.List())
		done, more := in.Int(), in.Int() == 1
		swept.Broken = append(swept.Broken, broken...)
		for range counts.Items {
			swept.Back += counts.Int()
		}
		if err := cmp.Or(err, in.Err, counts.Err); err != nil {
			return swept, err
		}
		if done == 0 && len(broken) > 0 && len(some) > 0 {
			done = 1 // what is wrong with it is said, and may be so the next time
		}
		queues, rest = queues[done:], more
	}
	return swept, nil
}

// sliceOfQueues is how many queues are looked at in one call, during which all others wait.
const sliceOfQueues = 80

// QueueOutlook is what one queue has to offer.
type QueueOutlook struct {
	Queue   string
	Ready   int     // jobs that a take could get now: waiting, due, or with a lock that ran out
	HeadPut float64 // when the job that is next was put (or last popped); 0 if none waits
	NextDue float64 // when the next delayed or recurring job is due; 0 if there is none
	Paused  bool
	Damage  string // which of its keys is not what it should be; "" if all are. All else is 0 then.

	Keys    bool    // some of its jobs have, or had, keys: Tend looks after these
	Behind  int     // jobs that stand behind others of their key, in none of the counts above; canceled ones that nobody came upon yet included
	Blocked float64 // since when a turn is held for which somebody waits; 0 if none is
	Ruled   bool    // rules concern it: Tend is to hear for which such queues there are free children

	// ReadySince is as in QueueCensus.
	ReadySince float64
}

// Lag is for how long the job that is next in turn has been waiting for nothing but a free child, in seconds at the
// time now; 0 if none could be taken.
func (q *QueueOutlook) Lag(now float64) float64 { return lag(q.ReadySince, now) }

// Oldest is when the next job of the queue was put, for a Take of the Oldest, as far as the
// outlook tells: 0 if it has jobs of which that is not known, such as those whose lock ran out.
// now is the time of the outlook.
func (q *QueueOutlook) Oldest(now float64) float64 {
	if q.NextDue > 0 && q.NextDue <= now && (q.HeadPut == 0 || q.NextDue < q.HeadPut) {
		return q.NextDue
	}
	return q.HeadPut
}

// Outlook tells what there is to do in each of the queues, and changes nothing. It also returns
// the server's time that it was first asked with.
func (c *Client) Outlook(ctx context.Context, queues []string) (outlook []QueueOutlook, now float64, err error) {
	if err := c.clock.Precise(ctx); err != nil {
		return nil, 0, err
	}
	now = c.clock.Now()
	outlook = make([]QueueOutlook, 0, len(queues))
	for some := range slices.Chunk(queues, sliceOfQueues) {
		raw, err := c.run(ctx, c.redis, script.Name{Dialect: Batch, Command: "outlook"}, c.clock.Now(), wire.Args(some)...)
		if err != nil {
			return nil, 0, harmless(err)
		}
		in := wire.Read(raw)
		for _, name := range some {
			q := QueueOutlook{Queue: name, Ready: in.Int(), HeadPut: in.Float(), NextDue: in.Float(), Paused: in.Int() == 1, Damage: in.Text()}
			q.Behind, q.Blocked = in.Int(), in.Float()
			q.Keys, q.Behind, q.Ruled = q.Behind >= 0, max(0, q.Behind), in.Int() == 1
			q.ReadySince = in.Float()
			outlook = append(outlook, q)
		}
		if in.Err != nil {
			return nil, 0, in.Err
		}
	}
	return outlook, now, nil
}
