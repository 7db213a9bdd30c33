package queue

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/script"
	"oarlock/queue/internal/wire"
)

// lateTimeout is how long Held waits for jobs after a call that should have brought them was not answered in time. Redis has just answered
// the fence: it is the jobs that take their time.
const lateTimeout = 30 * time.Second

// Resolution is what Redis knows about a settlement in doubt.
type Resolution int

const (
	Took   Resolution = iota + 1 // it took effect, or the lock was lost since: nothing is left to do
	NotRun                       // it did not run; the job is still ours to settle
	Gone                         // the job does not exist any more: cancelled, or completed and pruned
)

func (r Resolution) String() string {
	return [...]string{"unknown", "took", "not-run", "gone"}[r]
}

// Held lists what Redis holds in the worker's name: the worker's set and the locks of
// the queues named, each confirmed by the job itself (running, and this worker its owner).
// It leaves out what the caller knows to be in flight, unless that was popped again since. The rest is what a take in doubt has taken. It fences first.
func (s *Session) Held(ctx context.Context, queues []string, inFlight ...RenewItem) ([]Taken, error) {
	if err := s.Fence(ctx); err != nil {
		return nil, err
	}
	if err := s.client.clock.Fresh(ctx); err != nil {
		return nil, err
	}
	conn := evaler(s.client.redis)
	if single, is := conn.(*redis.Client); is && s.late.Load() {
		conn = single.WithTimeout(lateTimeout)
	}
	var held []Taken
	known := make([]string, 0, 2*len(inFlight))
	for _, job := range inFlight {
		known = append(known, job.JID, wire.Mark(job.Popped))
	}
	for first := true; first || len(queues) > 0; first = false {
		some := queues[:min(len(queues), sliceOfQueues)]
		queues = queues[len(some):]
		for more := true; more; {
			args := wire.Args(known, s.worker, len(known)/2)
			raw, err := s.client.run(ctx, conn, script.Name{Dialect: Batch, Command: "held"}, s.client.clock.Now(), append(args, wire.Args(some)...)...)
			s.late.Store(errors.Is(err, ErrDoubt))
			if err != nil {
				return nil, harmless(err)
			}
			in := wire.Read(raw)
			jobs, err := readAllTaken(in.List())
			more = in.Int() == 1
			others := wire.Reader{Items: in.List()}
			if more && len(jobs)+len(others.Items) == 0 && err == nil {
				err = errors.New("held: there are more jobs, and Redis named none of them") // the next call would ask the same
			}
			for range others.Items {
				known = append(known, others.Text(), "")
			}
			if err := cmp.Or(err, in.Err, others.Err); err != nil {
				return held, err
			}
			held = append(held, jobs...)
			for i := range jobs {
				known = append(known, jobs[i].JID, "")
			}
		}
	}
	for i := range held {
		held[i].Popped, held[i].Put = held[i].Put, 0 // a running job's time is when it was popped
	}
	return held, nil
}

// Resolve reads what became of settlements in doubt. Those that did not run may be sent
// again. It fences first.
func (s *Session) Resolve(ctx context.Context, settlements []Settlement) ([]Resolution, error) {
	if err := s.Fence(ctx); err != nil {
		return nil, err
	}
	args := make([]any, 0, 1+2*len(settlements))
	args = append(args, s.worker)
	for _, settlement := range settlements {
		args = append(args, settlement.JID, wire.Mark(settlement.Popped))
	}
	raw, err := s.client.call(ctx, Batch, "resolve", args...)
	if err != nil {
		return nil, harmless(err)
	}
	in := wire.Read(raw)
	resolutions := make([]Resolution, len(settlements))
	for i := range resolutions {
		switch in.Text() {
		case "held":
			resolutions[i] = NotRun
		case "gone":
			resolutions[i] = Gone
		default:
			resolutions[i] = Took
		}
	}
	return resolutions, in.Err
}
