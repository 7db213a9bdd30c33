package queue_test

import (
	"context"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// Channels of Redis know no databases: of what happens in another one nothing is told.
func TestEventsAreOfOneDatabase(t *testing.T) {
	server := redistest.Start(t)
	here, other := openURL(t, server.URL), openURL(t, server.URL+"?db=1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	told := make(chan queue.Event, 100)
	go func() {
		defer close(told)
		for e, err := range here.Events(ctx) {
			if err == nil {
				told <- e
			}
		}
	}()
	for n := int64(0); n == 0; n = server.Client(t).PubSubNumSub(ctx, "ql:log").Val()["ql:log"] {
		time.Sleep(time.Millisecond)
	}
	putAll(t, other, queue.Put{Queue: "theirs", JID: "a", Klass: "k"})
	if err := other.Cancel(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	putAll(t, here, queue.Put{Queue: "ours", JID: "b", Klass: "k"})
	if err := here.Cancel(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	for e := range told {
		if e.JID != "b" {
			t.Errorf("it tells of %+v", e)
		}
		if e.Event == "canceled" {
			return
		}
	}
	t.Error("it does not tell of what happens here")
}
