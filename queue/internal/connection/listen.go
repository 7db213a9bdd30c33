package connection

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
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

// Subscription is what all listeners of a client hear, over one connection at a time, which there is as long
// as somebody listens. It is safe for concurrent use.
type Subscription struct {
	redis redis.UniversalClient
	reach *Reach       // says when it is worth trying again
	log   *slog.Logger // hears of refused patterns

	mu        sync.Mutex // for memory, and the calls of Deliver
	listeners map[*Listener]struct{}
	routes    map[route][]*Listener // who hears what
	inForce   map[string]bool       // channels that the server has confirmed
	line      *line                 // nil while nobody listens
	hears     *redis.PubSub         // over which it listens just now; may be nil
	calm      *time.Timer           // ends a connection that is old, when no epoch has begun for a while
}

// calmAfter is how long after the last new epoch a subscription, which sends no commands, reconnects as well.
const calmAfter = 2 * time.Second

// Subscription makes a subscription by a driver. It does not connect.
func (t *Target) Subscription(redis redis.UniversalClient, reach *Reach, log *slog.Logger) *Subscription {
	s := &Subscription{redis: redis, reach: reach, log: log, listeners: map[*Listener]struct{}{}}
	t.epoch.begun = s.anew
	return s
}

// anew makes it reconnect once the master is found: before that, each attempt would lead to the old server.
func (s *Subscription) anew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calm == nil {
		s.calm = time.AfterFunc(calmAfter, s.disconnect)
		return
	}
	s.calm.Reset(calmAfter)
}

// disconnect closes the connection. It does so without mu, for the driver makes it wait while it dials.
func (s *Subscription) disconnect() {
	s.mu.Lock()
	hears := s.hears
	s.mu.Unlock()
	if hears != nil {
		hears.Close()
	}
}

// Listener is who hears what is published.
type Listener struct {
	Channels, Patterns []string
	// Deliver is called for one message at a time, must not wait, nor call the subscription.
	Deliver func(*redis.Message)
	// Ready, if it is not nil, is closed when all Channels were confirmed for the first time.
	Ready chan struct{}
}

// route is a channel or a pattern.
type route struct {
	name    string
	pattern bool
}

// line is the goroutine that listens for all.
type line struct {
	hangUp  context.CancelFunc
	changed chan struct{} // of size 1: others listen now
	done    chan struct{}
}

// Listen delivers to l until ctx ends. A connection that breaks is made anew, after a growing, jittered wait, or as
// soon as some command has found Redis back; what is published meanwhile is not heard. When it
// has returned, Deliver is not called any more.
//
// The driver can do this, too, but tries ten times a second for as long as Redis is away.
func (s *Subscription) Listen(ctx context.Context, l *Listener) {
	s.join(l)
	<-ctx.Done()
	if last := s.leave(l); last != nil {
		last.hangUp()
		<-last.done
	}
}

func (s *Subscription) join(l *Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners[l] = struct{}{}
	s.reroute()
	s.confirm()
	if s.line == nil {
		ctx, hangUp := context.WithCancel(context.Background())
		line := &line{hangUp, make(chan struct{}, 1), make(chan struct{})}
		s.line = line
		go func() { // the last listener waits for it
			defer close(line.done)
			s.run(ctx, line.changed)
		}()
	}
	s.line.change()
}

// leave gives the line of which nobody is left to hear, if l was the last.
func (s *Subscription) leave(l *Listener) *line {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
	s.reroute()
	line := s.line
	if len(s.listeners) == 0 {
		s.line = nil
		return line
	}
	line.change()
	return nil
}

func (l *line) change() {
	select {
	case l.changed <- struct{}{}:
	default: // it has yet to look
	}
}

// reroute finds anew who hears what.
func (s *Subscription) reroute() {
	s.routes = map[route][]*Listener{}
	for l := range s.listeners {
		for _, name := range l.Channels {
			s.routes[route{name, false}] = append(s.routes[route{name, false}], l)
		}
		for _, name := range l.Patterns {
			s.routes[route{name, true}] = append(s.routes[route{name, true}], l)
		}
	}
}

// confirm tells those who wait for it that they hear everything.
func (s *Subscription) confirm() {
	for l := range s.listeners {
		if l.Ready == nil {
			continue
		}
		all := true
		for _, name := range l.Channels {
			all = all && s.inForce[name]
		}
		if all {
			close(l.Ready)
			l.Ready = nil
		}
	}
}

// deliver passes a message on.
func (s *Subscription) deliver(m *redis.Message) {
	at := route{m.Channel, false}
	if m.Pattern != "" {
		at = route{m.Pattern, true}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.routes[at] {
		l.Deliver(m)
	}
}

// run listens until ctx ends, over one connection after the other.
func (s *Subscription) run(ctx context.Context, changed <-chan struct{}) {
	wait := relistenMin
	for ctx.Err() == nil {
		if s.once(ctx, changed) {
			wait = relistenMin
		}
		select {
		case <-ctx.Done():
		case <-s.reach.returned():
		case <-time.After(wait/2 + rand.N(wait/2)):
			wait = min(2*wait, relistenMax)
		}
	}
}

// once listens over one connection until it breaks. It reports whether anything was heard over it.
func (s *Subscription) once(ctx context.Context, changed <-chan struct{}) (heard bool) {
	sub := s.redis.Subscribe(ctx) // to nothing yet: it does not connect
	stop := context.AfterFunc(ctx, func() { sub.Close() })
	defer stop()
	has := routesOf{}
	s.mu.Lock()
	s.inForce, s.hears = map[string]bool{}, sub
	s.mu.Unlock()
	if s.adjust(ctx, sub, has) != nil {
		sub.Close()
		return false
	}
	adjusting, end := context.WithCancel(ctx)
	adjusted := make(chan struct{})
	go func() { // waited for below
		defer close(adjusted)
		for {
			select {
			case <-adjusting.Done():
				return
			case <-changed:
			}
			if s.adjust(adjusting, sub, has) != nil {
				sub.Close() // and the reader finds out
			}
		}
	}()
	heard = s.receive(ctx, sub)
	end()
	sub.Close()
	<-adjusted
	return heard
}

// routesOf is what a connection was asked to hear.
type routesOf map[route]bool

// adjust subscribes to what is listened to and the connection does not hear, and gives up what nobody hears.
func (s *Subscription) adjust(ctx context.Context, sub *redis.PubSub, has routesOf) error {
	var more, less [2][]string // channels, patterns
	sort := func(r route, into *[2][]string) {
		if r.pattern {
			into[1] = append(into[1], r.name)
		} else {
			into[0] = append(into[0], r.name)
		}
	}
	s.mu.Lock()
	for r := range s.routes {
		if !has[r] {
			has[r] = true
			sort(r, &more)
		}
	}
	for r := range has {
		if s.routes[r] == nil {
			delete(has, r)
			delete(s.inForce, r.name)
			sort(r, &less)
		}
	}
	s.mu.Unlock()
	for _, call := range []struct {
		names []string
		do    func(context.Context, ...string) error
	}{{less[0], sub.Unsubscribe}, {less[1], sub.PUnsubscribe}, {more[0], sub.Subscribe}, {more[1], sub.PSubscribe}} {
		if len(call.names) == 0 { // which would mean all
			continue
		}
		if err := call.do(ctx, call.names...); err != nil {
			return err
		}
	}
	return nil
}

// receive hears what comes over a connection until it breaks, and reports whether anything came.
func (s *Subscription) receive(ctx context.Context, sub *redis.PubSub) (heard bool) {
	for asked := false; ; {
		message, err := sub.ReceiveTimeout(ctx, listenQuiet)
		var late net.Error
		var refused redis.Error
		switch {
		case err == nil:
			heard, asked = true, false
			s.hear(message)
		case errors.As(err, &refused):
			// A pattern that permissions forbid, as an old ACL may; the rest works.
			s.log.Debug("subscription refused", "err", err)
		case errors.As(err, &late) && late.Timeout() && !asked:
			asked = true
			if sub.Ping(ctx) != nil {
				return heard
			}
		default:
			return heard
		}
	}
}

// hear passes a message on, or notes what the server confirms.
func (s *Subscription) hear(message any) {
	switch m := message.(type) {
	case *redis.Message:
		s.deliver(m)
	case *redis.Subscription:
		if m.Kind == "subscribe" {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.inForce[m.Channel] = true
			s.confirm()
		}
	}
}
