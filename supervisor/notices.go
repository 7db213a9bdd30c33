package supervisor

import (
	"context"
	"slices"

	"oarlock/queue"
	"oarlock/supervisor/internal/pool"
)

// listening is the one subscription of a supervisor: to what Redis tells its workers
// about their jobs, and to puts. It is renewed when the pools change. What it hears
// is a hint: a job that is said to be lost is renewed at once, and only a refusal
// stops its child.
type listening struct {
	workers []string
	cancel  context.CancelFunc
	done    chan struct{}
}

// to listens on behalf of these pools.
func (l *listening) to(ctx context.Context, s *Supervisor, pools []*pool.Pool) {
	workers := make([]string, len(pools))
	byWorker := make(map[string]*pool.Pool, len(pools))
	for i, p := range pools {
		workers[i] = p.Worker()
		byWorker[p.Worker()] = p
	}
	slices.Sort(workers)
	if slices.Equal(workers, l.workers) {
		return
	}
	l.stop()
	ctx, l.cancel = context.WithCancel(ctx)
	l.workers, l.done = workers, make(chan struct{})
	done := l.done
	go func() { // stop waits for it
		defer close(done)
		s.listen(ctx, workers, func(n queue.Notice) {
			switch p := byWorker[n.Worker]; {
			case n.Kind == queue.NoticeWake:
				for _, p := range pools {
					p.Put(n.Queue)
				}
			case n.Kind == queue.NoticeMissed:
				s.look.MissedPuts()
				for _, p := range pools {
					p.Missed()
				}
			case p != nil:
				p.Warn(n)
			}
		})
	}()
}

// listen subscribes whenever the gate is open, until ctx ends: a subscription tries to
// reconnect by itself, and does not wait for the gate.
func (s *Supervisor) listen(ctx context.Context, workers []string, hear func(queue.Notice)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.shared.Gate.Open():
		}
		subscribed, cancel := context.WithCancel(ctx)
		notices := s.redis.Notices(subscribed, workers...)
		for open := true; open; {
			select {
			case <-s.shared.Gate.Closed():
				cancel()
				for range notices { // until it is closed
				}
				open = false
			case n, ok := <-notices:
				if open = ok; ok {
					hear(n)
				}
			}
		}
		cancel()
	}
}

// stop ends the subscription.
func (l *listening) stop() {
	if l.cancel != nil {
		l.cancel()
		<-l.done
	}
}
