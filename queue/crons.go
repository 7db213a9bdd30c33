package queue

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/wire"
)

// CronLease is how long a supervisor counts as there that said nothing more.
const CronLease = time.Minute

// CronHolder is a supervisor that has recurring jobs in its file.
type CronHolder struct {
	Fleet    string // the name of all that share the file
	Instance string // of this one, in this life; without blanks
}

// AnyRev stands for the Rev of whatever is there.
const AnyRev = "*"

// PutCron makes a recurring job, or replaces the definition of one, the next run of which is
// due at next. rev is that of the one that the caller has seen, "" for none, or AnyRev; it
// returns false if that is not what is there. The zero holder makes it by hand.
func (c *Client) PutCron(ctx context.Context, cron Cron, rev string, next time.Time, holder CronHolder) (bool, error) {
	if err := cron.Check(); err != nil {
		return false, &ScriptError{Command: "cron.put", Message: err.Error()}
	}
	args := []any{cron.Name, rev, holder.Fleet, holder.Instance, cron.Print(), dueText(next)}
	word, err := c.text(ctx, Batch, "cron.put", append(args, cron.fields()...)...)
	return word == "put", err
}

// CronWord is what a supervisor learns about a recurring job of its file.
type CronWord string

const (
	CronSame  CronWord = "same"  // what is there is what its file says
	CronNew   CronWord = "new"   // it is to write it
	CronOther CronWord = "other" // a newer file of another supervisor says otherwise
	CronHand  CronWord = "hand"  // it was made by hand, and is left alone
)

// CronAgreement answers for one Cron.
type CronAgreement struct {
	Word CronWord
	Rev  string    // of what is there; "" if nothing is
	Next time.Time // when its next run is due; zero if never, or if nothing is there
}

// cronChunk is how many recurring jobs are asked about in one call.
const cronChunk = 40

// AgreeCrons says which recurring jobs the file of a supervisor has, and answers for each. It is
// to be repeated well within CronLease.
func (c *Client) AgreeCrons(ctx context.Context, holder CronHolder, crons []Cron) ([]CronAgreement, error) {
	var all []CronAgreement
	for some := range slices.Chunk(crons, cronChunk) {
		args := []any{holder.Fleet, holder.Instance, wire.Number(CronLease.Seconds())}
		for i := range some {
			args = append(args, some[i].Name, some[i].Print())
		}
		raw, err := c.call(ctx, Batch, "cron.agree", args...)
		if err != nil {
			return nil, err
		}
		in := wire.Read(raw)
		for range some {
			one := wire.Reader{Items: in.List()}
			all = append(all, CronAgreement{Word: CronWord(one.Text()), Rev: one.Text(), Next: dueTime(one.Text())})
			if err := errors.Join(in.Err, one.Err); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// LeaveCrons ends recurring jobs that files of the holder's fleet had and its own has not, which
// is crons, unless a supervisor that is there has them. It returns the names of those that ended.
func (c *Client) LeaveCrons(ctx context.Context, holder CronHolder, crons []Cron) (ended []string, err error) {
	names, err := c.FleetCrons(ctx, holder.Fleet)
	if err != nil {
		return nil, err
	}
	has := make(map[string]bool, len(crons))
	for i := range crons {
		has[crons[i].Name] = true
	}
	names = slices.DeleteFunc(names, func(name string) bool { return has[name] })
	for some := range slices.Chunk(names, cronChunk) {
		raw, err := c.call(ctx, Batch, "cron.leave", wire.Args(some, holder.Fleet, holder.Instance, wire.Number(CronLease.Seconds()))...)
		if err != nil {
			return ended, err
		}
		in := wire.Read(raw)
		for _, name := range some {
			if in.Text() == "ended" {
				ended = append(ended, name)
			}
		}
		if in.Err != nil {
			return ended, in.Err
		}
	}
	return ended, nil
}

// FleetCrons are the names of the recurring jobs that files of a fleet have, or had when they were
// seen last.
func (c *Client) FleetCrons(ctx context.Context, fleet string) ([]string, error) {
	names, err := c.redis.SMembers(ctx, c.ns+"oarlock:cron-files:"+fleet).Result()
	slices.Sort(names)
	return names, classify("smembers", err)
}

// ErrHeld says that a recurring job is in the file of a supervisor that is there.
var ErrHeld = errors.New("it is in the configuration of a supervisor that runs, which would bring it back")

// EndCron ends a recurring job; what it has put lives on. The error is ErrNoJob if there is none,
// and ErrHeld if it would come back.
func (c *Client) EndCron(ctx context.Context, name string) error {
	word, err := c.text(ctx, Batch, "cron.end", name, wire.Number(CronLease.Seconds()))
	switch {
	case err != nil:
		return err
	case word == "held":
		return ErrHeld
	case word == "gone":
		return ErrNoJob
	}
	return nil
}

// PauseCron lets a recurring job put nothing until ResumeCron. It returns false if rev is not that
// of what is there any more.
func (c *Client) PauseCron(ctx context.Context, name, rev string) (bool, error) {
	word, err := c.text(ctx, Batch, "cron.pause", name, rev, "")
	return word == "paused", err
}

// ResumeCron lets it go on, and its next run be due at next; see PauseCron.
func (c *Client) ResumeCron(ctx context.Context, name, rev string, next time.Time) (bool, error) {
	word, err := c.text(ctx, Batch, "cron.pause", name, rev, dueText(next))
	return word == "resumed", err
}

// Crons reads all recurring jobs that our supervisors put, the next one first.
func (c *Client) Crons(ctx context.Context) ([]Cron, error) {
	names, err := c.redis.ZRange(ctx, c.ns+"oarlock:crons", 0, -1).Result()
	if err = classify("zrange", err); err != nil {
		return nil, err
	}
	var crons []Cron
	for some := range slices.Chunk(names, 100) {
		read, err := c.readCrons(ctx, some)
		if err != nil {
			return nil, err
		}
		crons = append(crons, read...)
	}
	return crons, nil
}

// Cron reads one of them. The error is ErrNoJob if there is none.
func (c *Client) Cron(ctx context.Context, name string) (Cron, error) {
	crons, err := c.readCrons(ctx, []string{name})
	if err == nil && len(crons) == 0 {
		err = ErrNoJob
	}
	if err != nil {
		return Cron{}, err
	}
	return crons[0], nil
}

// readCrons reads those of the names that there are.
func (c *Client) readCrons(ctx context.Context, names []string) ([]Cron, error) {
	pipe := c.redis.Pipeline()
	hashes, holds := make([]*redis.MapStringStringCmd, len(names)), make([]*redis.MapStringStringCmd, len(names))
	for i, name := range names {
		hashes[i] = pipe.HGetAll(ctx, c.ns+"oarlock:cron:"+name)
		holds[i] = pipe.HGetAll(ctx, c.ns+"oarlock:cron-held:"+name)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		if err = classify("hgetall", err); !unreadable(err) {
			return nil, err
		}
	}
	var crons []Cron
	for i, name := range names {
		if err := hashes[i].Err(); err != nil {
			crons = append(crons, Cron{Name: name, Next: math.Inf(1), Damage: err.Error()})
		} else if f := hashes[i].Val(); len(f) > 0 {
			crons = append(crons, readCron(name, f, holds[i].Val()))
		}
	}
	return crons, nil
}
