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
	streams chan struct{} // one for each that listens
}

// How many there may be at a time.
const (
	mostRequests = 16
	usualStreams = 1000
)

// queuePatience is how long a request waits for a place.
const queuePatience = 2 * time.Second

func newLimits(streams int) limits {
	return limits{redis: make(chan struct{}, mostRequests), streams: make(chan struct{}, cmp.Or(streams, usualStreams))}
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
	leave = func() { <-places }
	select {
	case places <- struct{}{}:
		return leave, nil
	default:
	}
	busy := problem(http.StatusServiceUnavailable, "busy", "too many ask at the same time; try again in a moment")
	if route.Stream {
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
