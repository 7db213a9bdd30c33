package connection

import (
	"context"
	"errors"
	"log/slog"
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

// Subscription is what is listened to, over one connection at a time.
type Subscription struct {
	Redis              redis.UniversalClient
	Reach              *Reach       // says when it is worth trying again
	Log                *slog.Logger // hears of refused patterns
	Channels, Patterns []string
}

// Deliver subscribes and delivers messages until ctx ends or deliver returns false. A
// connection that breaks is made anew, after a growing, jittered wait, or as soon as some
// command has found Redis back.
//
// The driver can do this, too, but tries ten times a second for as long as Redis is away.
func (s *Subscription) Deliver(ctx context.Context, deliver func(*redis.Message) bool) {
	wait := relistenMin
	for ctx.Err() == nil {
		heard, more := s.once(ctx, deliver)
		if !more {
			return
		}
		if heard {
			wait = relistenMin
		}
		select {
		case <-ctx.Done():
		case <-s.Reach.returned():
		case <-time.After(wait/2 + rand.N(wait/2)):
			wait = min(2*wait, relistenMax)
		}
	}
}

// once listens over one connection until it breaks. It reports whether anything was heard over
// it and whether there is to be another.
func (s *Subscription) once(ctx context.Context, deliver func(*redis.Message) bool) (heard, more bool) {
	sub := s.Redis.Subscribe(ctx, s.Channels...)
	stop := context.AfterFunc(ctx, func() { sub.Close() })
	defer stop()
	defer sub.Close()
	if len(s.Patterns) > 0 {
		if err := sub.PSubscribe(ctx, s.Patterns...); err != nil {
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
			s.Log.Debug("subscription refused", "err", err)
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
