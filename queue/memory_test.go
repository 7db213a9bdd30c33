package queue_test

import (
	"errors"
	"testing"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// TestOutOfMemory fills the server: what ends a job and what keeps its lock still works,
// what begins one does not.
func TestOutOfMemory(t *testing.T) {
	server := redistest.Start(t)
	c, ctx, raw := open(t, server), t.Context(), server.Client(t)
	s := session(t, c, "w")
	for range 5 {
		putAll(t, c, queue.Put{Queue: "q", Klass: "K", Retries: ptr(0)})
	}
	reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 4})
	ok(t, raw.ConfigSet(ctx, "maxmemory", "1").Err())

	_, err := s.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 1})
	if !errors.Is(err, queue.ErrAway) || queue.Class(err) != queue.Memory {
		t.Errorf("a take: %v (%v)", err, queue.Class(err))
	}
	if _, err := c.Put(ctx, queue.Put{Queue: "q", Klass: "K"}); queue.Class(err) != queue.Memory {
		t.Errorf("a put: %v", err)
	}
	var items []queue.RenewItem
	for _, job := range reply.Jobs {
		items = append(items, queue.RenewItem{JID: job.JID, Queue: "q", Popped: job.Popped, Checkpoint: []byte(`"here"`)})
	}
	renewals, err := s.Renew(ctx, items)
	ok(t, err)
	for i, r := range renewals {
		if r.Err != nil || r.Expires <= reply.Jobs[i].Expires {
			t.Errorf("a renewal: until %v, %v", r.Expires, r.Err)
		}
	}
	if _, err := c.Heartbeat(ctx, reply.Jobs[0].JID, "w"); err != nil {
		t.Errorf("a heartbeat: %v", err)
	}
	for i, settlement := range []queue.Settlement{
		{Action: queue.Complete},
		{Action: queue.Fail, Group: "g", Message: "m"},
		{Action: queue.Retry},
		{Action: queue.Release, Counter: queue.CountCrash, MaxCrashes: 3},
	} {
		if r := settle(t, s, reply.Jobs[i], settlement); r.Err != nil {
			t.Errorf("%s: %v", settlement.Action, r.Err)
		}
	}
}
