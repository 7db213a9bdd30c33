package web

import (
	"cmp"
	"context"
	"net/http"
	"time"
)

// limits are how much may go on at a time, so that whoever looks cannot hurt jobs.
type limits struct {
	redis   chan struct{} // a token for each request that asks Redis
	bodies  chan struct{} // one for each with a long body
	answers chan struct{} // one for each with a long body at the address of a job
	streams chan struct{} // one for each that listens
}

// How many there may be at a time.
const (
	mostRequests = 16
	mostBodies   = 8
	usualStreams = 1000
)

// shortBody is how long a body may be, in bytes, that needs no place of its own.
const shortBody = 64 << 10

// queuePatience is how long a request waits for a place.
const queuePatience = 2 * time.Second

func newLimits(streams int) limits {
	return limits{redis: make(chan struct{}, mostRequests), bodies: make(chan struct{}, mostBodies), answers: make(chan struct{}, mostBodies), streams: make(chan struct{}, cmp.Or(streams, usualStreams))}
}

// enter waits for a place for a request of that route. The request holds it until it calls leave.
func (l *limits) enter(ctx context.Context, route *Route) (leave func(), err error) {
	var places chan struct{}
	switch {
	case route.Stream:
		places = l.streams
	case !route.Local:
		places = l.redis
	default:
		return func() {}, nil
	}
	return take(ctx, places, route.Stream)
}

// take waits for a place, but not if at once it must be.
func take(ctx context.Context, places chan struct{}, atOnce bool) (leave func(), err error) {
	leave = func() { <-places }
	select {
	case places <- struct{}{}:
		return leave, nil
	default:
	}
	busy := problem(http.StatusServiceUnavailable, "busy", "too many ask at the same time; try again in a moment")
	if atOnce {
		return nil, busy
	}
	timer := time.NewTimer(queuePatience)
	defer timer.Stop()
	select {
	case places <- struct{}{}:
		return leave, nil
	case <-timer.C:
		return nil, busy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
