package queue

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"oarlock/queue/internal/connection"
)

const (
	// awaitRound is how long Redis is asked to wait in one call.
	awaitRound = 5 * time.Second
	// awaitPoll is how often is looked where Redis cannot wait so: hworker's own pace.
	awaitPoll = 10 * time.Millisecond
	// awaitSeldom is how often where a list has nothing but what is in work already, or too many are waited for.
	awaitSeldom = time.Second
	// mostAwaited is for how many lists a client waits at a time, each over a connection of its own.
	mostAwaited = 32
)

// ListWaiter waits for entries of a list over a connection of its own. Its methods are safe for concurrent use, but
// for one Await at a time.
type ListWaiter struct {
	client *Client
	list   string
	link   *connection.Link
	old    atomic.Bool // the server has no BLMOVE

	mu     sync.Mutex
	place  bool // it is one of those that wait over a connection
	closed bool
}

// ListWaiter returns a waiter for a list, which connects when it waits. The caller closes it.
func (c *Client) ListWaiter(list string) *ListWaiter {
	return &ListWaiter{client: c, list: list, link: c.target.Link(c.log.With("list", list))}
}

// Close ends an Await, and the connection.
func (w *ListWaiter) Close() error {
	w.mu.Lock()
	if w.place {
		w.client.awaited.Add(-1)
	}
	w.place, w.closed = false, true
	w.mu.Unlock()
	return w.link.Close()
}

// isClosed reports whether it was closed, and else whether it may have a connection, from now on.
func (w *ListWaiter) isClosed() (closed, place bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed && !w.place {
		if w.place = w.client.awaited.Add(1) <= mostAwaited; !w.place {
			w.client.awaited.Add(-1)
		}
	}
	return w.closed, w.place
}

// Await returns when something is in the list. It takes nothing and changes nothing: the last entry is moved
// onto its own place, which wakes all who wait so. It blocks a connection until ctx ends, which is looked at every five seconds, or
// the waiter is closed; the error is why it cannot tell. Before Redis 6.2 it looks a hundred times a second, and where 32 lists are waited
// for by the client already, every second.
func (w *ListWaiter) Await(ctx context.Context) error {
	for ctx.Err() == nil {
		closed, place := w.isClosed()
		if closed {
			return errWaiterClosed
		}
		if there, err := w.await(ctx, place); there || err != nil {
			return err
		}
	}
	return ctx.Err()
}

// errWaiterClosed ends an Await.
var errWaiterClosed = errors.New("nobody waits for the list any more")

// await waits for an entry, for a while, over a connection of its own if it has a place.
func (w *ListWaiter) await(ctx context.Context, place bool) (there bool, err error) {
	switch {
	case w.old.Load():
		return w.look(ctx, awaitPoll)
	case !place:
		return w.look(ctx, awaitSeldom)
	}
	key := ListKey(w.list)
	err = w.link.Redis().BLMove(ctx, key, key, "RIGHT", "RIGHT", awaitRound).Err()
	switch {
	case err == nil:
		return true, nil
	case isNull(err):
		return false, nil
	case strings.Contains(strings.ToLower(err.Error()), "unknown command"):
		w.old.Store(true)
		return false, nil
	}
	if err = harmless(classify("blmove", err)); Class(err) == Denied {
		w.client.log.Warn("not permitted to wait for entries of a list, so it is looked at a hundred times a second; allow blmove", "list", w.list, "err", err)
		w.old.Store(true)
		return false, nil
	}
	return false, err
}

// look asks whether there is an entry, and pauses if there is none.
func (w *ListWaiter) look(ctx context.Context, rest time.Duration) (bool, error) {
	n, err := w.client.redis.LLen(ctx, ListKey(w.list)).Result()
	if err = harmless(classify("llen", err)); err != nil || n > 0 {
		return n > 0, err
	}
	return false, pause(ctx, rest)
}

// Await returns when something is in the list, as ListWaiter.Await, for a caller whose take has found nothing, until ctx ends or the
// session is closed.
func (s *ListSession) Await(ctx context.Context) error {
	s.mu.Lock()
	barren := s.barren
	s.mu.Unlock()
	if barren {
		return pause(ctx, awaitSeldom)
	}
	return s.wait.Await(ctx)
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
