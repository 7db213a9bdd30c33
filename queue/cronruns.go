package queue

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/wire"
)

// RunJID is the jid of the run that is due at a time: NAME@2026-11-22T03:00:00Z.
func RunJID(name string, due time.Time) string {
	return name + "@" + due.UTC().Format(time.RFC3339)
}

// DueCron is a recurring job that is to be looked at: a run is due, or waits.
type DueCron struct {
	Name, Rev      string
	Due            time.Time // of the next run, which may be to come; zero if there is none
	Schedule, Zone string
	Missed         Missed
}

// CronRuns is how many runs RunCrons may be asked for in one call.
const CronRuns = 25

// DueCrons lists recurring jobs that are to be looked at, CronRuns at most, and when the next one
// is, in seconds since the epoch; 0 if there is none.
func (c *Client) DueCrons(ctx context.Context) (due []DueCron, next float64, err error) {
	raw, err := c.call(ctx, Batch, "cron.due", CronRuns)
	if err != nil {
		return nil, 0, err
	}
	in := wire.Read(raw)
	list := wire.Reader{Items: in.List()}
	for range list.Items {
		one := wire.Reader{Items: list.List()}
		due = append(due, readDue(one.Text(), &one))
		if one.Err != nil {
			return nil, 0, one.Err
		}
	}
	next = in.Score()
	return due, next, errors.Join(in.Err, list.Err)
}

// AllCrons lists all recurring jobs as DueCrons does, whenever they are due.
func (c *Client) AllCrons(ctx context.Context) ([]DueCron, error) {
	names, err := c.redis.ZRange(ctx, c.ns+"oarlock:crons", 0, -1).Result()
	if err = classify("zrange", err); err != nil {
		return nil, err
	}
	var all []DueCron
	for some := range slices.Chunk(names, 100) {
		pipe := c.redis.Pipeline()
		reads := make([]*redis.SliceCmd, len(some))
		for i, name := range some {
			reads[i] = pipe.HMGet(ctx, c.ns+"oarlock:cron:"+name, "rev", "due", "schedule", "zone", "missed")
		}
		if _, err := pipe.Exec(ctx); err != nil {
			if err = classify("hmget", err); !unreadable(err) {
				return nil, err
			}
		}
		for i, read := range reads {
			one := wire.Reader{Items: read.Val()}
			if read.Err() == nil && read.Val()[0] != nil {
				all = append(all, readDue(some[i], &one))
			}
		}
	}
	return all, nil
}

// readDue reads what follows the name of one.
func readDue(name string, in *wire.Reader) DueCron {
	return DueCron{Name: name, Rev: in.Text(), Due: dueTime(in.Text()), Schedule: in.Text(), Zone: in.Text(), Missed: Missed(in.Text())}
}

// CronRun asks for runs of a recurring job.
type CronRun struct {
	DueCron
	Times   []time.Time // when they were due, oldest first
	Next    time.Time   // when the run after them is
	GivenUp int         // how many are not put
	Unread  bool        // the caller cannot read the schedule; it is looked at again in a minute
}

// CronRan answers a CronRun.
type CronRan struct {
	Word    string // ran; changed: it was changed meanwhile, or another did it; refused, see Why
	Put     int
	Skipped int    // because the job of the last run was not over
	Why     string // it was refused; that is tried again after a minute
}

// RunCrons puts runs that are due, each once, whoever else does so too. It may be repeated after
// any error. Together they may have CronRuns runs.
func (c *Client) RunCrons(ctx context.Context, runs []CronRun) ([]CronRan, error) {
	var args []any
	for _, r := range runs {
		missed := strconv.Itoa(r.GivenUp)
		if r.Unread {
			missed = ""
		}
		args = append(args, r.Name, r.Rev, dueText(r.Due), dueText(r.Next), missed, len(r.Times))
		for _, at := range r.Times {
			args = append(args, dueText(at), RunJID(r.Name, at))
		}
	}
	raw, err := c.call(ctx, Batch, "cron.run", args...)
	if err != nil {
		return nil, err
	}
	in := wire.Read(raw)
	answers := make([]CronRan, len(runs))
	for i := range answers {
		one := wire.Reader{Items: in.List()}
		answers[i] = CronRan{Word: one.Text(), Put: one.Int(), Skipped: one.Int(), Why: one.Text()}
		if err := errors.Join(in.Err, one.Err); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// CronsSeen is when a supervisor last looked whether a recurring job of ours is due, in seconds
// since the epoch; 0 if none ever did while there was one.
func (c *Client) CronsSeen(ctx context.Context) (float64, error) {
	text, err := c.redis.HGet(ctx, c.ns+"oarlock:cron-state", "seen").Result()
	if err = classify("hget", err); err != nil && !isNull(err) {
		return 0, err
	}
	seen, _ := strconv.ParseFloat(text, 64)
	return seen, nil
}

// dueText writes a moment of a schedule; the zero time is never.
func dueText(at time.Time) string {
	if at.IsZero() {
		return "+inf"
	}
	return strconv.FormatInt(at.Unix(), 10)
}

// dueTime reads what dueText wrote.
func dueTime(text string) time.Time {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}
