package web

import (
	"context"
	"sync"
	"time"
)

// kept is something that costs Redis much to find out. Whoever wants it while somebody finds it out waits for that; found out, it
// does for a while for all.
type kept[T any] struct {
	finding chan struct{} // of size 1: holds a token while somebody finds it out

	mu    sync.Mutex // for memory only
	value T
	at    time.Time // when that began; zero before
}

func newKept[T any]() kept[T] { return kept[T]{finding: make(chan struct{}, 1)} }

// get returns it, not older than lasts, or why find could not find it out. What was found must not be changed.
func (k *kept[T]) get(ctx context.Context, lasts time.Duration, find func(context.Context) (T, error)) (value T, err error) {
	if value, is := k.fresh(lasts); is {
		return value, nil
	}
	select {
	case <-ctx.Done():
		return value, ctx.Err()
	case k.finding <- struct{}{}:
	}
	defer func() { <-k.finding }()
	if value, is := k.fresh(lasts); is { // somebody has found it out meanwhile
		return value, nil
	}
	began := time.Now()
	if value, err = find(ctx); err != nil {
		return value, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.value, k.at = value, began
	return value, nil
}

func (k *kept[T]) fresh(lasts time.Duration) (value T, is bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.value, !k.at.IsZero() && time.Since(k.at) < lasts
}
