package connection

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestASlowDialHoldsUpNoAnswer: while a subscription dials a server that does not answer, answers that tell of a new master do not
// wait for it, although the connection is to be closed.
func TestASlowDialHoldsUpNoAnswer(t *testing.T) {
	t.Parallel()
	dials, release := make(chan struct{}, 100), make(chan struct{})
	client := redis.NewClient(&redis.Options{DialerRetries: 1, MaxRetries: -1, Dialer: func(context.Context, string, string) (net.Conn, error) {
		dials <- struct{}{}
		<-release
		return nil, errors.New("no server")
	}})
	defer client.Close()
	target := &Target{epoch: &epoch{}}
	s := target.Subscription(client, &Reach{}, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	listened, closed, answered := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(listened)
		s.Listen(ctx, &Listener{Channels: []string{"c"}})
	}()
	<-dials
	go func() {
		defer close(closed)
		s.disconnect()
	}()
	time.Sleep(50 * time.Millisecond) // until it waits for the driver, on most machines
	go func() {
		defer close(answered)
		target.epoch.begin(time.Now())
	}()
	select {
	case <-answered:
	case <-time.After(time.Minute):
		t.Error("an answer waits for the dial")
	}
	close(release)
	stop()
	<-answered
	<-closed
	<-listened
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calm != nil {
		s.calm.Stop()
	}
}
