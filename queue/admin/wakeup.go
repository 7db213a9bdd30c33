package admin

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue"
)

// Wakeup is somebody who waits for Redis and what wakes them, by a key or channel of their own: to measure what a
// wake-up takes at least. It is for one goroutine.
type Wakeup struct {
	wake  func(context.Context) error
	end   func()
	woken chan time.Time
}

// NewWakeup is one of a subscriber, whom a message wakes. The caller closes it.
func NewWakeup(ctx context.Context, client *queue.Client) (*Wakeup, error) {
	channel := client.Namespace() + "oarlock:bench"
	sub := client.Redis().Subscribe(ctx, channel)
	if _, err := sub.Receive(ctx); err != nil { // the confirmation
		return nil, errors.Join(err, sub.Close())
	}
	w := &Wakeup{
		wake:  func(ctx context.Context) error { return client.Redis().Publish(ctx, channel, "").Err() },
		end:   func() { _ = sub.Close() }, // it was only read
		woken: make(chan time.Time),
	}
	go func() { // Close ends it, and waits
		defer close(w.woken)
		for {
			if _, err := sub.ReceiveMessage(ctx); err != nil {
				return
			}
			w.woken <- time.Now()
		}
	}()
	return w, nil
}

// ListToMeasure names a list that is nobody's, below the namespace of a client.
func ListToMeasure(client *queue.Client) string { return client.Namespace() + "oarlock:bench-list" }

// popRound is how long a pop waits for an entry before it is asked for again.
const popRound = time.Second

// NewPop is one of a loop that pops entries of a list (BLPOP), of whom a push wakes the one. The caller closes it.
func NewPop(ctx context.Context, client *queue.Client) *Wakeup {
	key := client.Namespace() + "oarlock:bench-pop"
	ctx, stop := context.WithCancel(ctx)
	w := &Wakeup{
		wake:  func(ctx context.Context) error { return client.Redis().LPush(ctx, key, "").Err() },
		end:   stop,
		woken: make(chan time.Time),
	}
	go func() { // Close ends it, after a round, and waits
		defer close(w.woken)
		for ctx.Err() == nil {
			switch err := client.Redis().BLPop(ctx, popRound, key).Err(); {
			case errors.Is(err, redis.Nil):
			case err != nil:
				return
			default:
				w.woken <- time.Now()
			}
		}
	}()
	return w
}

// Measure wakes them, and tells how long it took until they were awake.
func (w *Wakeup) Measure(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	if err := w.wake(ctx); err != nil {
		return 0, err
	}
	select {
	case at, ok := <-w.woken:
		if ok {
			return at.Sub(began), nil
		}
		return 0, errors.New("nobody waits any more")
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// Close ends the waiting.
func (w *Wakeup) Close() {
	w.end()
	for range w.woken {
	}
}
