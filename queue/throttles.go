package queue

import (
	"context"
	"time"

	"oarlock/queue/internal/wire"
)

// Throttle is a named limit on how many jobs that name it may run at a time.
type Throttle struct {
	ID      string
	Maximum int           // 0 means no limit
	TTL     time.Duration // until it is forgotten, and with it the limit; 0 means never
}

// Throttle reads a throttle. One that was never set has no limit.
func (c *Client) Throttle(ctx context.Context, id string) (Throttle, error) {
	return c.throttle(ctx, "throttle.get", id)
}

func (c *Client) throttle(ctx context.Context, command, name string) (Throttle, error) {
	var reply struct {
		ID           string
		TTL, Maximum float64
	}
	err := c.decode(ctx, &reply, Reqless, command, name)
	return Throttle{reply.ID, int(reply.Maximum), max(0, time.Duration(reply.TTL)*time.Second)}, err
}

// SetThrottle sets a throttle. A TTL is in whole seconds, at least one if it is not 0; one that was set
// earlier stays when 0 is given.
func (c *Client) SetThrottle(ctx context.Context, t Throttle) error {
	args := []any{t.ID, t.Maximum}
	if t.TTL > 0 {
		args = append(args, int((t.TTL+time.Second-1).Truncate(time.Second)/time.Second))
	}
	_, err := c.call(ctx, Reqless, "throttle.set", args...)
	return err
}

// DeleteThrottle removes the limit. Jobs that wait for it go on when one that holds it ends.
func (c *Client) DeleteThrottle(ctx context.Context, id string) error {
	_, err := c.call(ctx, Reqless, "throttle.delete", id)
	return err
}

// ThrottlePlaces lists the jobs that hold a throttle, with how many of its places.
func (c *Client) ThrottlePlaces(ctx context.Context, id string) ([]Holder, error) {
	var members wire.List[string]
	if err := c.decode(ctx, &members, Reqless, "throttle.locks", id); err != nil {
		return nil, err
	}
	return readHolders(members), nil
}

// readHolders are the jobs that hold a throttle, each once, by the members of its set.
func readHolders(members []string) []Holder {
	seen, held := map[string]int{}, make([]Holder, 0, len(members))
	for _, member := range members {
		holder := readHolder(member)
		i, there := seen[holder.JID]
		if !there {
			seen[holder.JID], held = len(held), append(held, holder)
			continue
		}
		held[i].Places += holder.Places
		held[i].Leaving += holder.Leaving
	}
	return held
}

// ThrottleHolders lists the jobs that hold a throttle.
func (c *Client) ThrottleHolders(ctx context.Context, id string) ([]string, error) {
	places, err := c.ThrottlePlaces(ctx, id)
	jids := make([]string, len(places))
	for i, holder := range places {
		jids[i] = holder.JID
	}
	return jids, err
}

// ThrottleWaiters lists the jobs that wait for a throttle, longest first.
func (c *Client) ThrottleWaiters(ctx context.Context, id string) ([]string, error) {
	var jids wire.List[string]
	return jids, c.decode(ctx, &jids, Reqless, "throttle.pending", id)
}

// ReleaseThrottle makes jobs give a throttle up, or wait for it no longer.
func (c *Client) ReleaseThrottle(ctx context.Context, id string, jids ...string) error {
	_, err := c.call(ctx, Reqless, "throttle.release", wire.Args(jids, id)...)
	return err
}

// QueueThrottle reads the throttle that the jobs of a queue share.
func (c *Client) QueueThrottle(ctx context.Context, queue string) (Throttle, error) {
	return c.throttle(ctx, "queue.throttle.get", queue)
}

// SetQueueThrottle limits how many jobs of a queue run at a time; 0 means no limit. It concerns
// jobs with throttles; the setting <queue>-max-concurrency limits all.
func (c *Client) SetQueueThrottle(ctx context.Context, queue string, maximum int) error {
	_, err := c.call(ctx, Reqless, "queue.throttle.set", queue, maximum)
	return err
}
