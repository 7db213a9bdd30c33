package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// Every command is told with what came of it: one that was answered, and one that found Redis away.
func TestCallsAreTold(t *testing.T) {
	server := redistest.Start(t)
	var mu sync.Mutex
	var told []string
	c, err := queue.Open(t.Context(), queue.Options{URL: server.URL, OnCall: func(command string, took time.Duration, class queue.ErrorClass) {
		mu.Lock()
		defer mu.Unlock()
		if took <= 0 || took > time.Minute {
			t.Errorf("%s took %v", command, took)
		}
		told = append(told, fmt.Sprint(command, " ", class))
	}})
	ok(t, err)
	t.Cleanup(func() { c.Close() })
	since := func() []string {
		mu.Lock()
		defer mu.Unlock()
		defer func() { told = nil }()
		return slices.Clone(told)
	}
	ctx := context.Background()
	s := c.Session("w")
	must(c.Put(ctx, queue.Put{Queue: "q", Klass: "K"}))(t)
	must(s.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 1}))(t)
	first := slices.Compact(since()) // the clock is measured several times at first
	equal(t, "what was told", first, []string{"time success", "put success", "exchange success"})
	renewed := must(s.Renew(ctx, []queue.RenewItem{{JID: "none", Queue: "q"}}))(t)
	if renewed[0].Err == nil {
		t.Error("a lock was renewed that is none")
	}
	server.Stop()
	if err := c.Ping(ctx); !errors.Is(err, queue.ErrAway) {
		t.Errorf("a Redis that is gone answers %v", err)
	}
	if got := since(); got[len(got)-1] != "time unreachable" || !slices.Contains(got, "renew success") {
		t.Errorf("told was %v", got)
	}
}
