package statedir

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/internal/gate"
	"oarlock/supervisor/outcome"
)

const (
	// inheritPause is how long to wait between two looks at what a dead worker holds.
	// The last thing it sent may still be under way when we look first.
	inheritPause = time.Second
	// inheritLooks is how often to look for what the dead left while some of it is still
	// locked, with inheritWait between.
	inheritLooks = 50
	inheritWait  = 50 * time.Millisecond
	// proofPatience is how long what may be a child of the dead is given to prove it, or to
	// be gone, with inheritLook between two looks.
	proofPatience = time.Second
	inheritLook   = 5 * time.Millisecond
)

// Session is what a successor needs of a queue.Session, whose comments are its contract.
type Session interface {
	Exchange(context.Context, []queue.Settlement, queue.Take) (queue.Reply, error)
	Held(ctx context.Context, queues []string, inFlight ...queue.RenewItem) ([]queue.Taken, error)
	Deregister(context.Context) error
	Close() error
}

// Successor deals with what dead supervisors left in the state directory. All its fields but
// Life are to be set.
type Successor struct {
	Life    *Life // of this supervisor; nil where there is no state directory
	Gate    *gate.Gate
	Log     *slog.Logger
	Session func(Workers) Session
	// Queues returns the queues that names and globs stand for.
	Queues func(ctx context.Context, patterns []string) ([]string, error)
	// Died is told of each dead supervisor when its jobs are given back, and again by a later successor if it fails.
	Died func(context.Context, Death) error
	// Empty is called once, when no child of the dead is left, or none that could be told.
	Empty func()
	// Exclusive reports whether Empty is to wait for processes that nobody finds to kill.
	Exclusive func() bool
}

// Run deals with what dead supervisors left: their
// surviving children are ended, and then their jobs go back at once instead of
// waiting until their locks run out. That counts as a crash of the suspect that was at work,
// so that a job which kills its supervisors cannot do so for ever; of the others it is only
// noted, which makes suspects of them in the end. It returns when that is done, or ctx ends.
func (s *Successor) Run(ctx context.Context) {
	if s.Life == nil {
		s.Empty()
		return
	}
	var all, ends sync.WaitGroup
	defer all.Wait()
	var dead []runner.Identity
	defer func() { // before all is given back, which waits for Redis
		ends.Wait()
		s.awaitRemains(ctx, dead)
		s.Empty()
	}()
	for range inheritLooks {
		left, held, err := heritages(s.Life.dir)
		if err != nil {
			s.Log.Warn("state directory: jobs of a dead supervisor wait for their locks", "dir", s.Life.dir.Name(), "err", err)
		}
		for _, h := range left {
			dead = append(dead, h.Identity)
			ends.Add(1)
			all.Go(func() {
				if err := s.takeOver(ctx, h, ends.Done); err != nil {
					h.keep() // for the next who starts here
					s.Log.Warn("jobs of a dead supervisor not given back", "pid", h.PID, "err", err)
					return
				}
				h.settled()
			})
		}
		if err != nil || !held || sleep(ctx, inheritWait) != nil {
			return
		}
	}
}

// remainsPatience is how long places that are for one child at a time stay empty for processes
// of dead supervisors' children that nobody finds to kill. Their guards give up before.
const remainsPatience = 10 * time.Second

// awaitRemains waits until no process has the mark of a dead supervisor's children any more,
// where that matters: guards and control groups, which end them, take a moment.
func (s *Successor) awaitRemains(ctx context.Context, dead []runner.Identity) {
	if len(dead) == 0 || !s.Exclusive() {
		return
	}
	for end := time.Now().Add(remainsPatience); ; {
		left := runner.Remaining(dead)
		if len(left) == 0 || sleep(ctx, inheritLook) != nil {
			return
		}
		if time.Now().After(end) {
			s.Log.Warn("processes of a dead supervisor's children live on; children are started beside them", "pids", left)
			return
		}
	}
}

// takeOver ends the children of one dead supervisor, calls ended, and gives its jobs back. Where
// one lives on, perhaps, because nothing proves that it is one, the jobs wait for their locks.
func (s *Successor) takeOver(ctx context.Context, h *heritage, ended func()) error {
	doubtful, err := s.endChildren(ctx, h)
	ended()
	if err != nil {
		return err
	}
	if len(doubtful) > 0 {
		s.Log.Warn("processes are left that may be children of a dead supervisor, and nothing proves it: they are not killed, and its jobs wait for their locks",
			"pid", h.PID, "groups", doubtful)
		return s.tell(ctx, Death{Identity: h.Identity, Left: h.Left})
	}
	back, err := s.giveAllBack(ctx, h)
	if err != nil {
		return err
	}
	if err := sleep(ctx, inheritPause); err != nil {
		return err
	}
	late, err := s.giveAllBack(ctx, h)
	if err != nil {
		return err
	}
	s.Log.Info("took over from a dead supervisor", "pid", h.PID, "jobs", back+late)
	return s.tell(ctx, Death{Identity: h.Identity, Left: h.Left, Jobs: back + late})
}

// Death is the end of a supervisor, as its successor found it.
type Death struct {
	runner.Identity
	Left bool // it left by itself, in a hurry, and could not tell Redis of its jobs; else nobody knows why it ended
	Jobs int  // how many of its jobs were given back
}

// tell tells of the death of a supervisor, when Redis is there.
func (s *Successor) tell(ctx context.Context, d Death) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.Gate.Open():
		}
		if err := s.Died(ctx, d); s.Gate.SortHarmless(err) != gate.Away {
			return err
		}
	}
}

// endChildren kills the children of a dead supervisor until they are gone. It returns the process
// groups of those of which nothing proves that they are its children.
func (s *Successor) endChildren(ctx context.Context, h *heritage) (doubtful []int, err error) {
	left := runner.NewLeftovers(h.Identity, h.children)
	killed, began := 0, time.Now()
	for {
		var n int
		n, doubtful = left.Kill()
		killed = max(killed, n)
		if n == 0 && (len(doubtful) == 0 || time.Since(began) >= proofPatience) {
			break
		}
		// SIGKILL takes its time where a process is in the kernel, and what dies proves nothing.
		if err := sleep(ctx, inheritLook); err != nil {
			return doubtful, err
		}
	}
	if killed > 0 {
		s.Log.Warn("killed children of a dead supervisor", "pid", h.PID, "groups", killed)
	}
	return doubtful, nil
}

// giveAllBack releases what the workers of a dead supervisor hold and returns how many
// jobs that were.
func (s *Successor) giveAllBack(ctx context.Context, h *heritage) (int, error) {
	back := 0
	for _, w := range h.Workers {
		n, err := s.giveBack(ctx, h, w)
		if err != nil {
			return back, err
		}
		back += n
	}
	return back, nil
}

// giveBack releases what a dead worker holds and returns how many jobs that were. It
// waits for Redis, and repeats what may be repeated.
func (s *Successor) giveBack(ctx context.Context, h *heritage, w Workers) (int, error) {
	session := s.Session(w)
	defer session.Close()
	for {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-s.Gate.Open():
		}
		n, err := s.releaseHeld(ctx, session, h, w)
		// In doubt it is asked again what the worker holds, so nothing is done twice.
		switch s.Gate.SortHarmless(err) {
		case gate.Done:
			return n, nil
		case gate.Away:
		default:
			s.Log.Warn("jobs of a dead worker not given back yet", "worker", w.Name, "err", err)
			if err := sleep(ctx, inheritPause); err != nil {
				return 0, err
			}
		}
	}
}

func (s *Successor) releaseHeld(ctx context.Context, session Session, h *heritage, w Workers) (int, error) {
	queues, err := s.Queues(ctx, w.Queues)
	if err != nil {
		return 0, err
	}
	held, err := session.Held(ctx, queues)
	if err != nil {
		return 0, err
	}
	if len(held) == 0 {
		return 0, session.Deregister(ctx)
	}
	settlements := make([]queue.Settlement, len(held))
	for i, t := range held {
		settlements[i] = h.verdict(w, t)
	}
	reply, err := session.Exchange(ctx, settlements, queue.Take{})
	if err != nil {
		return 0, err
	}
	back := 0
	for i, r := range reply.Results {
		if r.Err != nil {
			s.Log.Warn("job of a dead supervisor not given back", "jid", settlements[i].JID, "err", r.Err)
			continue
		}
		back++
		if r.State == "failed" {
			s.Log.Error("job failed: it was at work each time supervisors died", "jid", settlements[i].JID,
				"queue", settlements[i].Queue, "group", settlements[i].Group, "crashes", r.Crashes)
		}
	}
	return back, nil
}

// verdict is what becomes of a job that a worker of the dead supervisor had.
func (h *heritage) verdict(w Workers, t queue.Taken) queue.Settlement {
	s := queue.Settlement{JID: t.JID, Queue: t.Queue, Popped: t.Popped, Batch: t.Batch}
	switch {
	case h.Left:
		outcome.Release(&s, queue.CountInterruption, 0)
	case h.Suspect != nil && *h.Suspect == Accused{Worker: w.Name, JID: t.JID}:
		s.Group, s.MaxCrashes = "supervisor-died", w.MaxCrashes
		s.Message = "the supervisor " + w.Name + " died while it had the job, as others did before"
		outcome.Release(&s, queue.CountCrash, 0)
	default:
		outcome.Release(&s, queue.CountDeath, 0)
	}
	return s
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
