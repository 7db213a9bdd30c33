package queue

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// listenQuiet is how long a subscription may be silent before it is asked for a sign of life.
	listenQuiet = 15 * time.Second
	// relistenMin and relistenMax bound the wait before the next try to subscribe, which is
	// half of it at least: if Redis is away, commands should be the first to find out.
	relistenMin, relistenMax = 500 * time.Millisecond, 30 * time.Second
)

// listen subscribes and delivers messages until ctx ends or deliver returns false. A
// connection that breaks is made anew, after a growing, jittered wait, or as soon as some
// command has found Redis back.
//
// The driver can do this, too, but tries ten times a second for as long as Redis is away.
func (c *Client) listen(ctx context.Context, channels, patterns []string, deliver func(*redis.Message) bool) {
	wait := relistenMin
	for ctx.Err() == nil {
		heard, more := c.listenOnce(ctx, channels, patterns, deliver)
		if !more {
			return
		}
		if heard {
			wait = relistenMin
		}
		select {
		case <-ctx.Done():
		case <-c.returned():
		case <-time.After(wait/2 + rand.N(wait/2)):
			wait = min(2*wait, relistenMax)
		}
	}
}

// listenOnce listens over one connection until it breaks. It reports whether anything was
// heard over it and whether there is to be another.
func (c *Client) listenOnce(ctx context.Context, channels, patterns []string, deliver func(*redis.Message) bool) (heard, more bool) {
	sub := c.redis.Subscribe(ctx, channels...)
	stop := context.AfterFunc(ctx, func() { sub.Close() })
	defer stop()
	defer sub.Close()
	if len(patterns) > 0 {
		if err := sub.PSubscribe(ctx, patterns...); err != nil {
			return false, true
		}
	}
	for asked := false; ; {
		message, err := sub.ReceiveTimeout(ctx, listenQuiet)
		var late net.Error
		var refused redis.Error
		switch {
		case err == nil:
			heard, asked = true, false
			if m, ok := message.(*redis.Message); ok && !deliver(m) {
				return true, false
			}
		case errors.As(err, &refused):
			// A pattern that permissions forbid, as an old ACL may; the rest works.
			c.log.Debug("subscription refused", "err", err)
		case errors.As(err, &late) && late.Timeout() && !asked:
			asked = true
			if sub.Ping(ctx) != nil {
				return heard, true
			}
		default:
			return heard, true
		}
	}
}

// returned is closed when a command succeeds after one that found Redis away.
func (c *Client) returned() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.back == nil {
		c.back = make(chan struct{})
	}
	return c.back
}

// noteReach keeps track of whether Redis can be reached, by how each command ends.
func (c *Client) noteReach(err error) {
	if err != nil {
		c.away.Store(c.away.Load() || errors.Is(err, ErrAway) || errors.Is(err, ErrDoubt))
		return
	}
	if !c.away.Load() || !c.away.CompareAndSwap(true, false) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.back != nil {
		close(c.back)
		c.back = nil
	}
}
