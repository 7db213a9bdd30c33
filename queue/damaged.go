package queue

import (
	"context"
	"encoding/json"
	"strings"

	"oarlock/queue/internal/wire"
)

// readEach reads jobs of which at least one cannot be shown, each by itself: any client
// may have written anything into it, and what it wrote concerns nobody else.
func (c *Client) readEach(ctx context.Context, jids []string) ([]Job, error) {
	var jobs []Job
	for _, jid := range jids {
		var one wire.List[Job]
		err := c.decode(ctx, &one, Reqless, "job.getMulti", jid)
		if unreadable(err) {
			one, err = c.readDamaged(ctx, jid, err)
		}
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, one...)
	}
	return jobs, nil
}

// unreadable tells whether a reply did not come, or cannot be understood, because of what is in
// the keys.
func unreadable(err error) bool {
	class := Class(err)
	return class == Refused || class == Invalid
}

// readDamaged reads from a job's hash what can be read; why says what cannot.
func (c *Client) readDamaged(ctx context.Context, jid string, why error) ([]Job, error) {
	hash, err := c.redis.HGetAll(ctx, c.ns+"j:"+jid).Result()
	if err = harmless(classify("hgetall", err)); err != nil && !unreadable(err) {
		return nil, err
	}
	if err == nil && len(hash) == 0 {
		return nil, nil
	}
	in := wire.Fields{}
	number := func(field string) float64 {
		in.Items = []any{hash[field]}
		return in.Number(field)
	}
	job := Job{
		JID: jid, Klass: hash["klass"], State: hash["state"], Queue: hash["queue"], Worker: hash["worker"], Data: []byte(hash["data"]),
		Priority: number("priority"), Retries: wire.ClampInt(number("retries")), Remaining: wire.ClampInt(number("remaining")), Expires: number("expires"),
		Tags: wire.Tags(hash["tags"]), Throttles: wire.Tags(hash["throttles"]), SpawnedFrom: hash["spawned_from_jid"],
	}
	if json.Unmarshal([]byte(hash["failure"]), &job.Failure) != nil {
		job.Failure = Failure{}
	}
	job.Damage = why.Error()
	if len(in.Damage) > 0 {
		job.Damage = strings.Join(in.Damage, "; ")
	}
	return []Job{job}, nil
}

// readDamagedRecurring is readDamaged for a recurring job.
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
