package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/wire"
)

// Recurring is a job that puts a copy of itself into its queue again and again, under the
// jids <JID>-1, <JID>-2, and so on.
type Recurring struct {
	Queue, JID, Klass string
	Data              []byte // JSON text; nil means {}
	Interval          time.Duration
	// Offset is from now to the first copy. Only for Recur.
	Offset   time.Duration
	Priority float64
	Retries  int
	Tags     []string
	// Backlog is how many missed copies are made up for; 0 means all of them.
	Backlog   int
	Throttles []string

	// Count is how many copies were made, and Next when the next is due, in seconds since
	// the epoch. Only from Recurring and RecurringJobs.
	Count int
	Next  float64

	// Damage says why it cannot be read as a whole, as in Job; such a one puts nothing, and Next
	// is +Inf as soon as somebody tried.
	Damage string
}

// Recur makes a job recur, or replaces one that does; its copies are numbered on. It
// returns the jid, which it makes up if there is none.
func (c *Client) Recur(ctx context.Context, r Recurring) (jid string, err error) {
	if r.JID == "" {
		r.JID = NewJID()
	}
	if r.Data == nil {
		r.Data = []byte("{}")
	}
	like := Put{Queue: r.Queue, JID: r.JID, Klass: r.Klass, Tags: r.Tags, Throttles: r.Throttles} // as its copies are
	if err := cmp.Or(like.CheckBounds(), wire.CheckEntry(r.Data)); err != nil {
		return "", &ScriptError{Command: "recur", Message: err.Error()}
	}
	options := []any{"priority", wire.Number(r.Priority), "retries", r.Retries, "backlog", r.Backlog, "tags", wire.JSONList(r.Tags)}
	head := []any{r.Queue, r.JID, r.Klass, r.Data}
	times := []any{wire.Number(r.Interval.Seconds()), wire.Number(r.Offset.Seconds())}
	if r.Throttles != nil {
		args := append(append(append(head, times...), options...), "throttles", wire.JSONList(r.Throttles))
		return c.text(ctx, Reqless, "queue.recurAtInterval", args...)
	}
	return c.text(ctx, Qless, "recur", append(append(append(head, "interval"), times...), options...)...)
}

// Recurring reads a recurring job. The error is ErrNoJob if there is none.
func (c *Client) Recurring(ctx context.Context, jid string) (*Recurring, error) {
	var view *struct {
		JID, Klass, Queue, Data                     string
		Count, Retries, Backlog, Interval, Priority float64
		Tags                                        wire.List[wire.Label]
		Throttles                                   wire.List[string]
	}
	err := c.decode(ctx, &view, Reqless, "recurringJob.get", jid)
	if unreadable(err) {
		return c.readDamagedRecurring(ctx, jid, err)
	}
	if err != nil {
		return nil, err
	}
	if view == nil {
		return c.readDamagedRecurring(ctx, jid, errors.New("its field klass is missing"))
	}
	next, err := c.nextOf(ctx, view.Queue, jid)
	if err != nil {
		return nil, err
	}
	return &Recurring{
		Queue: view.Queue, JID: view.JID, Klass: view.Klass, Data: []byte(view.Data),
		Interval: Duration(view.Interval), Priority: view.Priority,
		Retries: int(view.Retries), Tags: wire.Labels(view.Tags), Backlog: int(view.Backlog),
		Throttles: view.Throttles, Count: int(view.Count), Next: next,
	}, nil
}

// nextOf is when the next copy of a recurring job is due; 0 if that is nowhere.
func (c *Client) nextOf(ctx context.Context, queue, jid string) (float64, error) {
	next, err := c.redis.ZScore(ctx, c.ns+"q:"+queue+"-recur", jid).Result()
	if err = classify("zscore", err); err != nil && !isNull(err) && !unreadable(err) {
		return 0, err
	}
	return next, nil
}

// RecurringChange is what UpdateRecurring changes; nil leaves a value as it is.
type RecurringChange struct {
	Queue, Klass     *string
	Data             []byte
	Interval         *time.Duration // the next copy moves by the difference
	Priority         *float64
	Retries, Backlog *int
}

// UpdateRecurring changes a recurring job. Copies that were made already stay as they are.
func (c *Client) UpdateRecurring(ctx context.Context, jid string, change RecurringChange) error {
	args := []any{jid}
	if change.Queue != nil {
		args = append(args, "queue", *change.Queue)
	}
	if change.Klass != nil {
		args = append(args, "klass", *change.Klass)
	}
	if change.Data != nil {
		if err := wire.CheckEntry(change.Data); err != nil {
			return &ScriptError{Command: "recur.update", Message: err.Error()}
		}
		args = append(args, "data", change.Data)
	}
	if change.Interval != nil {
		args = append(args, "interval", wire.Number(change.Interval.Seconds()))
	}
	if change.Priority != nil {
		args = append(args, "priority", wire.Number(*change.Priority))
	}
	if change.Retries != nil {
		args = append(args, "retries", *change.Retries)
	}
	if change.Backlog != nil {
		args = append(args, "backlog", *change.Backlog)
	}
	_, err := c.call(ctx, Qless, "recur.update", args...)
	return err
}

// TagRecurring gives the future copies of a recurring job more tags and returns all of them.
func (c *Client) TagRecurring(ctx context.Context, jid string, tags ...string) ([]string, error) {
	var all wire.List[wire.Label]
	err := c.decode(ctx, &all, Qless, "recur.tag", wire.Args(tags, jid)...)
	return wire.Labels(all), err
}

// UntagRecurring takes tags off the future copies and returns those that are left.
func (c *Client) UntagRecurring(ctx context.Context, jid string, tags ...string) ([]string, error) {
	var left wire.List[wire.Label]
	err := c.decode(ctx, &left, Qless, "recur.untag", wire.Args(tags, jid)...)
	return wire.Labels(left), err
}

// Unrecur ends a recurring job. Copies that were made already stay.
func (c *Client) Unrecur(ctx context.Context, jid string) error {
	_, err := c.call(ctx, Qless, "unrecur", jid)
	return err
}

// recurringChunk is how many queues, or recurring jobs, are asked for in one pipeline.
const recurringChunk = 200

// RecurringJobs reads the recurring jobs of queues, of each at most count, due first, behind so many that are left out. It
// changes nothing.
func (c *Client) RecurringJobs(ctx context.Context, queues []string, offset, count int) ([]Recurring, error) {
	var found []redis.Z
	for some := range slices.Chunk(queues, recurringChunk) {
		pipe := c.redis.Pipeline()
		var lists []*redis.ZSliceCmd
		for _, name := range some {
			lists = append(lists, pipe.ZRangeWithScores(ctx, c.ns+"q:"+name+"-recur", int64(offset), int64(offset+count)-1))
		}
		_, _ = pipe.Exec(ctx) // each has its own error
		for _, list := range lists {
			if err := harmless(classify("zrange", list.Err())); err != nil && Class(err) != Refused { // of another type: doctor tells
				c.noteReach(err)
				return nil, err
			}
			found = append(found, list.Val()...)
		}
	}
	all := make([]Recurring, 0, len(found))
	for some := range slices.Chunk(found, recurringChunk) {
		pipe := c.redis.Pipeline()
		var hashes []*redis.MapStringStringCmd
		for _, z := range some {
			hashes = append(hashes, pipe.HGetAll(ctx, c.ns+"r:"+z.Member.(string)))
		}
		_, _ = pipe.Exec(ctx) // likewise
		for i, hash := range hashes {
			r, err := c.recurringOf(ctx, some[i].Member.(string), some[i].Score, hash)
			if errors.Is(err, ErrNoJob) {
				continue // it went meanwhile, or an entry has none
			}
			if err != nil {
				c.noteReach(err)
				return nil, err
			}
			all = append(all, *r)
		}
	}
	return all, nil
}

// recurringOf reads a recurring job from its hash; what is not as it should be is looked at by itself.
func (c *Client) recurringOf(ctx context.Context, jid string, next float64, read *redis.MapStringStringCmd) (*Recurring, error) {
	if err := harmless(classify("hgetall", read.Err())); err != nil && Class(err) != Refused {
		return nil, err
	}
	hash, in := read.Val(), wire.Fields{}
	number := func(field string) float64 {
		in.Items = []any{hash[field]}
		return in.Number(field)
	}
	r := &Recurring{
		Queue: hash["queue"], JID: jid, Klass: hash["klass"], Data: []byte(hash["data"]), Interval: Duration(number("interval")),
		Priority: number("priority"), Retries: wire.ClampInt(number("retries")), Tags: wire.Tags(hash["tags"]), Backlog: wire.ClampInt(number("backlog")),
		Throttles: wire.Tags(hash["throttles"]), Count: wire.ClampInt(number("count")), Next: next,
	}
	whole := hash["klass"] != "" && hash["data"] != "" && hash["interval"] != "" && hash["priority"] != "" && hash["retries"] != ""
	if !whole || !json.Valid([]byte(hash["tags"])) || hash["throttles"] != "" && !json.Valid([]byte(hash["throttles"])) {
		return c.Recurring(ctx, jid)
	}
	r.Damage = strings.Join(in.Damage, "; ")
	return r, nil
}
