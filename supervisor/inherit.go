package supervisor

import (
	"context"
	"errors"
	"time"

	"oarlock/queue"
)

const (
	// inheritPause is how long to wait between two looks at what a dead worker holds.
	// The last thing it sent may still be under way when we look first.
	inheritPause = time.Second
)

// inherit deals with what dead supervisors left in the state directory: their
// surviving children are ended, and then their jobs go back at once instead of
// waiting until their locks run out. It counts as a crash of the job, so that a job
// which kills its supervisor cannot do so for ever.
func (s *Supervisor) inherit(ctx context.Context) {
	left, err := heritages(s.cfg.StateDir)
	if err != nil {
		s.log.Warn("state directory", "err", err)
	}
	for _, h := range left {
		if err := s.takeOver(ctx, h); err != nil {
			h.keep() // for the next who starts here
			s.log.Warn("jobs of a dead supervisor not given back", "pid", h.PID, "err", err)
			continue
		}
		h.settled()
	}
}

// takeOver ends the children of one dead supervisor and gives its jobs back.
func (s *Supervisor) takeOver(ctx context.Context, h *heritage) error {
	if n := h.kill(); n > 0 {
		s.log.Warn("killed children of a dead supervisor", "pid", h.PID, "groups", n)
	}
	for h.alive() { // SIGKILL takes its time where a process is in the kernel
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
		h.kill()
	}
	back := 0
	for range 2 {
		for _, w := range h.Workers {
			n, err := s.giveBack(ctx, w)
			if err != nil {
				return err
			}
			back += n
		}
		if err := sleep(ctx, inheritPause); err != nil {
			return err
		}
	}
	s.log.Info("took over from a dead supervisor", "pid", h.PID, "jobs", back)
	return nil
}

// giveBack releases what a dead worker holds and returns how many jobs that were. It
// waits for Redis, and repeats what may be repeated.
func (s *Supervisor) giveBack(ctx context.Context, w workers) (int, error) {
	session := s.shared.redis.session(w.Name)
	defer session.Close()
	for {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-s.shared.gate.open():
		}
		n, err := s.releaseHeld(ctx, session, w)
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, queue.ErrAway), errors.Is(err, queue.ErrDoubt):
			// In doubt it is asked again what the worker holds, so nothing is done twice.
			s.shared.gate.trip(err)
		default:
			return n, err
		}
	}
}

func (s *Supervisor) releaseHeld(ctx context.Context, session store, w workers) (int, error) {
	known, err := s.shared.redis.queues(ctx)
	if err != nil {
		return 0, err
	}
	held, err := session.Held(ctx, expand(w.Queues, known))
	if err != nil {
		return 0, err
	}
	if len(held) == 0 {
		return 0, session.Deregister(ctx)
	}
	settlements := make([]queue.Settlement, len(held))
	for i, t := range held {
		settlements[i] = queue.Settlement{
			JID:        t.JID,
			Queue:      t.Queue,
			Popped:     t.Popped,
			Group:      "supervisor-died",
			Message:    "the supervisor " + w.Name + " ended while it had the job",
			MaxCrashes: w.MaxCrashes,
		}
		release(&settlements[i], queue.CountCrash, 0)
	}
	reply, err := session.Exchange(ctx, settlements, queue.Take{})
	if err != nil {
		return 0, err
	}
	back := 0
	for i, r := range reply.Results {
		if r.Err != nil {
			s.log.Warn("job of a dead supervisor not given back", "jid", settlements[i].JID, "err", r.Err)
			continue
		}
		back++
	}
	return back, nil
}

// sleep waits for d, or returns why ctx ended.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
