package queue

import (
	"context"
	"strings"

	"oarlock/queue/internal/wire"
)

// unreadable tells whether a reply did not come, or cannot be understood, because of what is in
// the keys.
func unreadable(err error) bool {
	class := Class(err)
	return class == Refused || class == Invalid
}

// readDamagedRecurring reads from a recurring job's hash what can be read; why says what cannot.
func (c *Client) readDamagedRecurring(ctx context.Context, jid string, why error) (*Recurring, error) {
	hash, err := c.redis.HGetAll(ctx, c.ns+"r:"+jid).Result()
	if err = harmless(classify("hgetall", err)); err != nil && !unreadable(err) {
		return nil, err
	}
	if err == nil && len(hash) == 0 {
		return nil, &ScriptError{Command: "recur.get", Message: "No recurring job " + jid}
	}
	in := wire.Fields{}
	number := func(field string) float64 {
		in.Items = []any{hash[field]}
		return in.Number(field)
	}
	r := &Recurring{
		Queue: hash["queue"], JID: jid, Klass: hash["klass"], Data: []byte(hash["data"]),
		Interval: Duration(number("interval")), Priority: number("priority"), Retries: wire.ClampInt(number("retries")),
		Tags: wire.Tags(hash["tags"]), Backlog: wire.ClampInt(number("backlog")), Throttles: wire.Tags(hash["throttles"]),
		Count: wire.ClampInt(number("count")), Damage: why.Error(),
	}
	if len(in.Damage) > 0 {
		r.Damage = strings.Join(in.Damage, "; ")
	}
	r.Next, err = c.nextOf(ctx, r.Queue, jid)
	return r, err
}
