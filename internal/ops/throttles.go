package ops

import (
	"cmp"
	"context"
	"slices"

	"oarlock/internal/explain"
	"oarlock/queue"
)

// Throttle is a limit on how many jobs run at a time, and who has to do with it.
type Throttle struct {
	ID      string   `json:"id"`
	Maximum int      `json:"maximum"`
	TTL     float64  `json:"ttl"` // seconds; 0 for ever
	Holders []string `json:"holders"`
	Waiters []string `json:"waiters"`
	Idle    []string `json:"idle,omitempty"` // of ShowThrottle: what is known of holders that do no work
	Damage  string   `json:"damage,omitempty"`
}

func readThrottle(ctx context.Context, q *queue.Client, id string) (Throttle, error) {
	t, err := q.Throttle(ctx, id)
	if err != nil {
		return Throttle{}, err
	}
	holders, err := q.ThrottleHolders(ctx, id)
	if err != nil {
		return Throttle{}, err
	}
	waiters, err := q.ThrottleWaiters(ctx, id)
	return Throttle{ID: id, Maximum: t.Maximum, TTL: t.TTL.Seconds(), Holders: list(holders), Waiters: list(waiters)}, err
}

// Throttles lists those that have a limit, or cannot be read.
func Throttles(ctx context.Context, q *queue.Client) ([]Throttle, error) {
	ids, err := q.ThrottleIDs(ctx)
	if err != nil {
		return nil, err
	}
	all := []Throttle{}
	for _, id := range ids {
		t, err := readThrottle(ctx, q, id)
		switch {
		case queue.Class(err) == queue.Refused:
			t = Throttle{ID: id, Holders: []string{}, Waiters: []string{}, Damage: cmp.Or(q.ThrottleDamage(ctx, id), err.Error())}
		case err != nil:
			return nil, err
		case t.Maximum == 0 && t.TTL == 0:
			continue // it has no limit, so what holds it holds nobody up
		}
		all = append(all, t)
	}
	return all, nil
}

// ThrottleCount is a limit on how many jobs run at a time, and how many have to do with it.
type ThrottleCount struct {
	ID      string  `json:"id"`
	Maximum int     `json:"maximum"`
	TTL     float64 `json:"ttl"` // seconds; 0 for ever
	Holders int     `json:"holders"`
	Waiters int     `json:"waiters"`
}

// SomeThrottles are throttles that were found among some of the keys of Redis.
type SomeThrottles struct {
	Items []ThrottleCount `json:"items"`          // by name
	Next  string          `json:"next,omitempty"` // the cursor to look further with; "" if all keys were looked at
	AsOf  float64         `json:"as_of"`
}

// ThrottlesFrom lists the limits among the next ten thousand keys, for no list of limits is kept: what it finds may be nothing though
// there are more. See Throttles for all at once.
func ThrottlesFrom(ctx context.Context, q *queue.Client, cursor string) (SomeThrottles, error) {
	found, next, err := q.SomeThrottles(ctx, cursor)
	if err != nil {
		return SomeThrottles{}, cursorError(err)
	}
	some := SomeThrottles{[]ThrottleCount{}, next, q.Now()}
	for _, t := range found {
		some.Items = append(some.Items, ThrottleCount{t.ID, t.Maximum, t.TTL.Seconds(), t.Holders, t.Waiters})
	}
	return some, nil
}

// ShowThrottle tells of a throttle that has a limit, or that a job names at the moment.
func ShowThrottle(ctx context.Context, s explain.Sources, id string) (Throttle, error) {
	t, err := readThrottle(ctx, s.Client, id)
	if err != nil {
		return t, err
	}
	if t.Maximum == 0 && len(t.Holders) == 0 && len(t.Waiters) == 0 {
		return t, missing("there is no throttle %s: it has no limit, and no job names it at the moment", id)
	}
	t.Idle, err = s.Idle(ctx, t.Holders)
	return t, err
}

// SetThrottle sets how many jobs may hold a throttle, 0 being any number, and for how long, 0 being for ever.
func SetThrottle(ctx context.Context, q *queue.Client, t queue.Throttle, sure Sure) error {
	if t.TTL < 0 {
		return &Wrong{"ttl", "is negative; without it the limit stays"}
	}
	if err := NewName("throttle", t.ID, sure); err != nil {
		return err
	}
	return q.SetThrottle(ctx, t)
}

// RemoveThrottle removes the limit of a throttle.
func RemoveThrottle(ctx context.Context, q *queue.Client, id string) error {
	t, err := q.Throttle(ctx, id)
	if err != nil {
		return err
	}
	if t.Maximum == 0 {
		return missing("%s had no limit", id)
	}
	return q.DeleteThrottle(ctx, id)
}

// ReleaseThrottle makes jobs give a throttle up; it wants each to hold it. One that waits would
// leave the line by the protocol's command, and be in no place from which it could be taken.
func ReleaseThrottle(ctx context.Context, q *queue.Client, id string, jids []string) error {
	t, err := readThrottle(ctx, q, id)
	if err != nil {
		return err
	}
	for _, jid := range jids {
		if slices.Contains(t.Waiters, jid) {
			return missing("%s does not hold %s but waits for it: raise its limit, or release one that holds it; nothing was done", jid, id)
		}
		if !slices.Contains(t.Holders, jid) {
			return missing("%s does not hold %s; nothing was done", jid, id)
		}
	}
	return q.ReleaseThrottle(ctx, id, jids...)
}
