package queue

import "context"

// Sweep looks after locks that have run out, at most limit of each queue, as a pop would:
// the worker is warned first; when its grace period is over, the job goes back in front of
// its queue at the cost of one retry, or fails if none is left. It returns how many
// jobs went back.
//
// Any number of supervisors may sweep the same queues, and a sweep may be repeated.
func (c *Client) Sweep(ctx context.Context, queues []string, limit int) (int, error) {
	if len(queues) == 0 {
		return 0, nil
	}
	raw, err := c.call(ctx, Batch, "sweep", anys(queues, limit)...)
	if err != nil {
		return 0, harmless(err)
	}
	in, back := replyReader{items: asList(raw)}, 0
	for range queues {
		back += in.int()
	}
	return back, in.err
}

// QueueOutlook is what one queue has to offer.
type QueueOutlook struct {
	Queue   string
	Ready   int     // jobs that a take could get now: waiting, due, or with a lock that ran out
	HeadPut float64 // when the job that is next was put (or last popped); 0 if none waits
	NextDue float64 // when the next delayed or recurring job is due; 0 if there is none
	Paused  bool
}

// Outlook tells what there is to do in each of the queues, in one call that changes nothing.
// It also returns the server's time that it was asked with.
func (c *Client) Outlook(ctx context.Context, queues []string) (outlook []QueueOutlook, now float64, err error) {
	if err := c.clock.Fresh(ctx); err != nil {
		return nil, 0, err
	}
	now = c.clock.Now()
	if len(queues) == 0 {
		return nil, now, nil
	}
	raw, err := c.run(ctx, c.redis, scriptName{Batch, "outlook"}, now, anys(queues)...)
	if err != nil {
		return nil, 0, harmless(err)
	}
	in := replyReader{items: asList(raw)}
	outlook = make([]QueueOutlook, len(queues))
	for i, name := range queues {
		outlook[i] = QueueOutlook{Queue: name, Ready: in.int(), HeadPut: in.float(), NextDue: in.float(), Paused: in.int() == 1}
	}
	return outlook, now, in.err
}
