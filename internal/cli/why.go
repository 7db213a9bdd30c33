package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/urfave/cli/v2"

	"oarlock/queue"
	"oarlock/supervisor"
)

// jobWhy says what holds a job: every reason that is found, the first one first.
func jobWhy(c *cli.Context, q *queue.Client) error {
	jid := c.Args().First()
	job, err := q.Get(c.Context, jid)
	if err != nil {
		return err
	}
	w := why{c: c, q: q, job: *job}
	if err := w.find(); err != nil {
		return err
	}
	value := map[string]any{"jid": jid, "state": job.State, "queue": job.Queue, "reasons": list(w.reasons)}
	return show(c, value, func(out io.Writer) {
		for _, reason := range w.reasons {
			fmt.Fprintln(out, reason)
		}
	})
}

// why collects the reasons.
type why struct {
	c       *cli.Context
	q       *queue.Client
	job     queue.Job
	reasons []string
}

func (w *why) because(format string, args ...any) {
	w.reasons = append(w.reasons, fmt.Sprintf(format, args...))
}

func (w *why) find() error {
	job, now := w.job, w.q.Now()
	switch job.State {
	case "complete":
		w.because("It is complete; nothing holds it.")
		return nil
	case "failed":
		w.because("It has failed: %s: %s", job.Failure.Group, shorten(job.Failure.Message, 300))
		w.because("`oarlock job retry %s` puts it into %s again.", job.JID, job.Queue)
		return nil
	case "running":
		w.because("It is running on %s; its lock holds for another %s.", job.Worker, ago(now, job.Expires))
		return w.listeners()
	case "stalled": // given back by a worker, or its lock ran out: the queue knows
		err := w.waiting()
		if errors.Is(err, redis.Nil) {
			w.because("Its worker %s did not renew its lock, which ran out %s ago; the next sweep takes it back.", job.Worker, ago(job.Expires, now))
			err = nil
		}
		if err != nil {
			return err
		}
	case "scheduled":
		due, err := w.q.Redis().ZScore(w.c.Context, w.key("scheduled"), job.JID).Result()
		if err != nil {
			return err
		}
		w.because("It is scheduled for %s, %s from now.", moment(due), ago(now, due))
	case "depends":
		if err := w.dependencies(); err != nil {
			return err
		}
	case "throttled":
		if err := w.throttles(); err != nil {
			return err
		}
	case "waiting":
		if err := w.waiting(); err != nil {
			return err
		}
	}
	return w.listeners()
}

// key is the key of the job's queue that ends in part.
func (w *why) key(part string) string { return w.q.Namespace() + "q:" + w.job.Queue + "-" + part }

func (w *why) dependencies() error {
	jobs, err := w.q.GetMany(w.c.Context, w.job.Dependencies...)
	if err != nil {
		return err
	}
	for _, on := range jobs {
		w.because("It waits for %s (%s), which is %s in %s.", on.JID, on.Klass, on.State, on.Queue)
	}
	return nil
}

func (w *why) throttles() error {
	for _, id := range w.job.Throttles {
		limit, err := w.q.Throttle(w.c.Context, id)
		if err != nil {
			return err
		}
		holders, err := w.q.ThrottleHolders(w.c.Context, id)
		if err != nil {
			return err
		}
		if limit.Maximum > 0 && len(holders) >= limit.Maximum {
			w.because("Throttle %s is full: %d of %d, held by %s.", id, len(holders), limit.Maximum, strings.Join(holders, " "))
		}
	}
	return nil
}

// waiting looks for what keeps a job that waits for a worker from being handed out. The
// error is redis.Nil if it does not wait.
func (w *why) waiting() error {
	before, err := w.q.Redis().ZRevRank(w.c.Context, w.key("work"), w.job.JID).Result()
	if err != nil {
		return err
	}
	counts, err := w.q.Queue(w.c.Context, w.job.Queue)
	if err != nil {
		return err
	}
	if counts.Paused {
		w.because("The queue %s is paused; `oarlock queue resume %s` ends that.", w.job.Queue, w.job.Queue)
	}
	setting, err := w.q.Setting(w.c.Context, w.job.Queue+"-max-concurrency")
	if err != nil {
		return err
	}
	if limit, err := strconv.Atoi(setting); err == nil && limit > 0 && counts.Running >= limit {
		w.because("The queue %s may run %d jobs at a time, and %d are running.", w.job.Queue, limit, counts.Running)
	}
	switch before {
	case 0:
		w.because("It is the next of its queue.")
	case 1:
		w.because("1 job of its queue comes before it.")
	default:
		w.because("%s jobs of its queue come before it.", count(int(before)))
	}
	return nil
}

// listeners looks at the supervisor of this machine: does any pool listen to the queue,
// and can it take anything?
func (w *why) listeners() error {
	s, err := reach(w.c)
	if err != nil {
		w.because("Whether anybody listens to %s cannot be seen from here: %v.", w.job.Queue, err)
		return nil
	}
	var shot supervisor.Snapshot
	if err := s.Status(w.c.Context, &shot); err != nil {
		return err
	}
	listens := false
	for _, pool := range shot.Pools {
		if !worksQueue(pool.Queues, w.job.Queue) {
			continue
		}
		listens = true
		w.pool(pool)
	}
	if !listens {
		w.because("No pool of the supervisor here (pid %s) listens to %s.", s.PID, w.job.Queue)
	}
	if shot.Redis != "ok" {
		w.because("The supervisor here cannot reach Redis: %s.", shot.Redis)
	}
	return nil
}

func (w *why) pool(pool supervisor.PoolSnapshot) {
	busy := 0
	for _, slot := range pool.Slots {
		for _, run := range slot.Runs {
			if run.JID == w.job.JID {
				w.because("It is on child %d (pid %d) of pool %s for %s: %s", slot.Slot, slot.PID, pool.Name, seconds(run.Age), progressText(run.Percent, run.Progress))
			}
		}
		if len(slot.Runs) > 0 {
			busy++
		}
	}
	switch {
	case w.job.State == "running":
	case pool.Breaker != "":
		w.because("Pool %s takes nothing: %s.", pool.Name, pool.Breaker)
	case pool.Quiet || pool.Draining:
		w.because("Pool %s is quiet or draining; `oarlock resume` ends quiet.", pool.Name)
	case pool.Children == 0:
		w.because("Pool %s has no children; `oarlock scale %s 1` gives it one.", pool.Name, pool.Name)
	case busy >= pool.Children:
		w.because("All %d children of pool %s are busy.", busy, pool.Name)
	}
}
