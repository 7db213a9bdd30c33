package admin

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue"
)

// Wakeup is a subscriber and what wakes it, on a channel of their own: to measure what a wake-up
// takes at least. It is for one goroutine.
type Wakeup struct {
	redis   redis.UniversalClient
	channel string
	sub     *redis.PubSub
	woken   chan time.Time
}

// NewWakeup subscribes. The caller closes it.
func NewWakeup(ctx context.Context, client *queue.Client) (*Wakeup, error) {
	channel := client.Namespace() + "oarlock:bench"
	w := &Wakeup{redis: client.Redis(), channel: channel, sub: client.Redis().Subscribe(ctx, channel), woken: make(chan time.Time)}
	if _, err := w.sub.Receive(ctx); err != nil { // the confirmation
		return nil, errors.Join(err, w.sub.Close())
	}
	go func() { // Close ends it, and waits
		defer close(w.woken)
		for {
			if _, err := w.sub.ReceiveMessage(ctx); err != nil {
				return
			}
			w.woken <- time.Now()
		}
	}()
	return w, nil
}

// Measure publishes, and tells how long it took until the subscriber was awake.
func (w *Wakeup) Measure(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	if err := w.redis.Publish(ctx, w.channel, "").Err(); err != nil {
		return 0, err
	}
	select {
	case at, ok := <-w.woken:
		if ok {
			return at.Sub(began), nil
		}
		return 0, errors.New("the subscription ended")
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// Close ends the subscription.
func (w *Wakeup) Close() {
	_ = w.sub.Close() // it was only read
	for range w.woken {
	}
}
