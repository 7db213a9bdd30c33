package queue

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/wire"
)

// The commands of the protocol about single jobs. Those that a worker sends (Pop,
// Heartbeat, Complete, Fail, Retry) are there for completeness and for foreign workers;
// a Session does the same for many jobs at once and survives lost replies.

// Requeue is Put for a job that exists; otherwise the error is ErrNoJob. What the protocol does not know is
// not used: Merge, Score, Throttles, Timeout, Correlation, Trace and IfExists.
func (c *Client) Requeue(ctx context.Context, p Put) error {
	if err := p.complete(); err != nil {
		return &ScriptError{Command: "requeue", Message: err.Error()}
	}
	if !p.At.IsZero() {
		p.Delay = time.Duration((float64(p.At.UnixMicro())/1e6 - c.Now()) * float64(time.Second))
	}
	p.Merge, p.Score, p.Throttles, p.Timeout, p.Correlation, p.Trace, p.IfExists = "", nil, nil, 0, "", Trace{}, ""
	_, err := c.call(ctx, Qless, "requeue", append([]any{""}, append(p.words(), p.options()...)...)...)
	return err
}

// Move puts a job that exists, and does not run, into another queue, or into its own again,
// with everything else as it is; ErrNoJob if there is none. See Amend.
func (c *Client) Move(ctx context.Context, jid, queue string, delay time.Duration) error {
	job, err := c.Get(ctx, jid)
	if err != nil {
		return err
	}
	change := job.Amend(AmendMove)
	change.Queue, change.Delay = queue, delay
	results, err := c.Amend(ctx, []Amendment{change})
	if err != nil {
		return err
	}
	return results[0].Err
}

// Pop hands out at most count jobs of a queue to a worker.
func (c *Client) Pop(ctx context.Context, queue, worker string, count int) ([]Job, error) {
	var jobs wire.List[Job]
	return jobs, c.decode(ctx, &jobs, Qless, "pop", queue, worker, count)
}

// Peek shows the jobs that a pop would hand out next, at most count of them; those that are due and did not come in yet
// are the last. It changes nothing.
func (c *Client) Peek(ctx context.Context, queue string, offset, count int) ([]Job, error) {
	jids, err := c.jidsOn(ctx, Shelf{ShelfNext, queue}, offset, count)
	if err != nil {
		return nil, err
	}
	return c.GetMany(ctx, jids...)
}

// Heartbeat extends a worker's lock and returns when it now ends, in whole seconds since
// the epoch. The error is ErrLockLost if the lock is not the worker's.
func (c *Client) Heartbeat(ctx context.Context, jid, worker string) (expires int64, err error) {
	return c.integer(ctx, Qless, "heartbeat", jid, worker)
}

// Complete ends a running job. Data is JSON text, stored byte for byte. The error is
// ErrLockLost if the lock is not the worker's.
func (c *Client) Complete(ctx context.Context, jid, worker, queue string, data []byte) error {
	_, err := c.call(ctx, Qless, "complete", jid, worker, queue, data)
	return err
}

// Advance is Complete for a job that moves on to the queue next, after a delay or after other
// jobs completed. It returns the job's state there: waiting, scheduled or depends.
func (c *Client) Advance(ctx context.Context, jid, worker, queue string, data []byte, next string, delay time.Duration, depends ...string) (state string, err error) {
	return c.text(ctx, Qless, "complete", jid, worker, queue, data, "next", next, "delay", wire.Number(max(0, delay.Seconds())), "depends", wire.JSONList(depends))
}

// Fail ends a running job as failed, filed under group. The error is ErrLockLost if the
// lock is not the worker's.
func (c *Client) Fail(ctx context.Context, jid, worker, group, message string) error {
	_, err := c.call(ctx, Qless, "fail", jid, worker, group, message)
	return err
}

// Retry hands a running job back at the cost of one retry and returns how many are left;
// −1 says that it failed for want of them. The error is ErrLockLost if the lock is
// not the worker's.
func (c *Client) Retry(ctx context.Context, jid, queue, worker string, delay time.Duration, group, message string) (remaining int, err error) {
	args := []any{jid, queue, worker, wire.Number(max(0, delay.Seconds()))}
	if group != "" {
		args = append(args, group, message)
	}
	n, err := c.integer(ctx, Qless, "retry", args...)
	return int(n), err
}

// Timeout takes running jobs from their workers, who are told, and puts each in front of
// its queue. The first that is not running ends the call with an error; those before it
// are done.
func (c *Client) Timeout(ctx context.Context, jids ...string) error {
	_, err := c.call(ctx, Qless, "timeout", wire.Args(jids)...)
	return err
}

// Cancel removes jobs for good, running ones too: their workers are told. It removes
// all or none; a job that others depend on is refused unless they are named as well. Jobs that
// are complete or unknown are passed over.
func (c *Client) Cancel(ctx context.Context, jids ...string) error {
	_, err := c.call(ctx, Qless, "cancel", wire.Args(jids)...)
	return err
}

// SetPriority changes a job's priority; higher is popped first, or, where rules say so of its queue, lower. A job that waits
// overtakes all others of its new priority.
func (c *Client) SetPriority(ctx context.Context, jid string, priority float64) error {
	low, err := c.lowFirst(ctx)
	if err != nil {
		return err
	}
	if len(low) > 0 {
		name, err := c.redis.HGet(ctx, c.ns+"j:"+jid, "queue").Result()
		if err = classify("hget", err); err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		if slices.Contains(low, name) {
			priority = -priority
		}
	}
	_, err = c.call(ctx, Qless, "priority", jid, wire.Number(priority))
	return err
}

// lowFirst are the queues in which lower priorities come first, which are stored negated.
func (c *Client) lowFirst(ctx context.Context) (queues []string, err error) {
	text, err := c.redis.HGet(ctx, c.ns+"oarlock:rules", "low").Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err = classify("hget", err); err != nil {
		return nil, err
	}
	return queues, json.Unmarshal([]byte(text), &queues)
}

// Log adds an entry to a job's history. The more is a JSON object, or nil.
func (c *Client) Log(ctx context.Context, jid, message string, more []byte) error {
	args := []any{jid, message}
	if more != nil {
		args = append(args, more)
	}
	_, err := c.call(ctx, Qless, "log", args...)
	return err
}

// Depend makes a job that is in state depends wait for more jobs. Those that are gone or
// complete are left out.
func (c *Client) Depend(ctx context.Context, jid string, on ...string) error {
	_, err := c.call(ctx, Qless, "depends", wire.Args(on, jid, "on")...)
	return err
}

// Undepend lets a job that is in state depends wait no longer for the jobs named; with none
// left it waits for a worker.
func (c *Client) Undepend(ctx context.Context, jid string, on ...string) error {
	_, err := c.call(ctx, Reqless, "job.removeDependency", wire.Args(on, jid)...)
	return err
}

// UndependAll lets a job that is in state depends wait for nothing any more.
func (c *Client) UndependAll(ctx context.Context, jid string) error {
	_, err := c.call(ctx, Qless, "depends", jid, "off", "all")
	return err
}

// Track makes Redis publish what happens to a job, and reports whether that is new.
func (c *Client) Track(ctx context.Context, jid string) (bool, error) {
	n, err := c.text(ctx, Qless, "track", "track", jid)
	return n == "1", err
}

// Untrack ends Track.
func (c *Client) Untrack(ctx context.Context, jid string) (bool, error) {
	n, err := c.text(ctx, Qless, "track", "untrack", jid)
	return n == "1", err
}

// Tracked lists the tracked jobs, and the jids of those that are tracked and gone. It changes nothing.
func (c *Client) Tracked(ctx context.Context) (jobs []Job, expired []string, err error) {
	jids, err := c.redis.ZRange(ctx, c.ns+"tracked", 0, -1).Result()
	if err = harmless(classify("zrange", err)); err != nil {
		return nil, nil, err
	}
	found, err := c.Glances(ctx, All, jids...)
	for _, g := range found {
		if g.Row == RowGone {
			expired = append(expired, g.JID)
		} else {
			jobs = append(jobs, g.Job)
		}
	}
	return jobs, expired, err
}

// AddTags gives a job more tags and returns all it has.
func (c *Client) AddTags(ctx context.Context, jid string, tags ...string) ([]string, error) {
	var all wire.List[wire.Label]
	err := c.decode(ctx, &all, Qless, "tag", wire.Args(tags, "add", jid)...)
	return wire.Labels(all), err
}

// RemoveTags takes tags off a job and returns those that are left.
func (c *Client) RemoveTags(ctx context.Context, jid string, tags ...string) ([]string, error) {
	var left wire.List[wire.Label]
	err := c.decode(ctx, &left, Qless, "tag", wire.Args(tags, "remove", jid)...)
	return wire.Labels(left), err
}

// Tagged lists the jobs with a tag, oldest tagging first, and says how many there are in all.
func (c *Client) Tagged(ctx context.Context, tag string, offset, count int) (jids []string, total int, err error) {
	return c.page(ctx, Qless, "tag", "get", tag, offset, count)
}

// TopTags lists the tags that are used at least twice, most used first.
func (c *Client) TopTags(ctx context.Context, offset, count int) ([]string, error) {
	var tags wire.List[wire.Label]
	err := c.decode(ctx, &tags, Qless, "tag", "top", offset, count)
	return wire.Labels(tags), err
}

// FailedGroups tells how many jobs have failed, by group. A group whose list is of another type
// counts -1.
func (c *Client) FailedGroups(ctx context.Context) (map[string]int, error) {
	names, err := c.redis.SMembers(ctx, c.ns+"failures").Result()
	if err != nil {
		return nil, harmless(classify("smembers", err))
	}
	groups := make(map[string]int, len(names))
	for some := range slices.Chunk(names, groupsChunk) {
		pipe := c.redis.Pipeline()
		var counts []*redis.IntCmd
		for _, name := range some {
			counts = append(counts, pipe.LLen(ctx, c.ns+"f:"+name))
		}
		if _, err := pipe.Exec(ctx); err != nil && Class(classify("llen", err)) != Refused {
			return nil, harmless(classify("llen", err))
		}
		for i, name := range some {
			groups[name] = int(counts[i].Val())
			if counts[i].Err() != nil {
				groups[name] = -1
			}
		}
	}
	return groups, nil
}

// groupsChunk is how many groups are counted in one pipeline.
const groupsChunk = 400

// Failed lists the failed jobs of a group, newest first, and says how many there are in all.
func (c *Client) Failed(ctx context.Context, group string, offset, count int) (jids []string, total int, err error) {
	return c.page(ctx, Qless, "failed", group, offset, count)
}

// Unfail puts the oldest failed jobs of a group, at most count, into a queue, with all
// their retries, and returns how many those were.
func (c *Client) Unfail(ctx context.Context, queue, group string, count int) (int, error) {
	n, err := c.integer(ctx, Qless, "unfail", queue, group, count)
	return int(n), err
}

// page runs a command that answers with a window of a list of jids.
func (c *Client) page(ctx context.Context, dialect Dialect, command string, args ...any) (jids []string, total int, err error) {
	var reply struct {
		Jobs  wire.List[string]
		Total int
	}
	err = c.decode(ctx, &reply, dialect, command, args...)
	return reply.Jobs, reply.Total, err
}

// decode runs a command that answers with JSON, and reads it.
func (c *Client) decode(ctx context.Context, into any, dialect Dialect, command string, args ...any) error {
	text, err := c.text(ctx, dialect, command, args...)
	if err != nil || text == "" {
		return err
	}
	return json.Unmarshal([]byte(text), into)
}

// text runs a command that answers with text; null is "".
func (c *Client) text(ctx context.Context, dialect Dialect, command string, args ...any) (string, error) {
	reply, err := c.call(ctx, dialect, command, args...)
	if err != nil {
		return "", err
	}
	in := wire.Reader{Items: []any{reply}}
	return in.Text(), in.Err
}

// integer runs a command that answers with a whole number.
func (c *Client) integer(ctx context.Context, dialect Dialect, command string, args ...any) (int64, error) {
	reply, err := c.call(ctx, dialect, command, args...)
	if err != nil {
		return 0, err
	}
	in := wire.Reader{Items: []any{reply}}
	return int64(in.Float()), in.Err
}
