package queue_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"oarlock/internal/faultproxy"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// TestEveryCallFindsTheNewMaster fails over beneath a client whose connections stay with the old master: of each kind of call at most the first fails, by class
// read-only, and the subscription hears what is published at the new one though the old one is gone.
func TestEveryCallFindsTheNewMaster(t *testing.T) {
	p := redistest.StartPair(t)
	proxy := faultproxy.Start(t, "unix", p.Master.Addr)
	failOver := func() { p.FailOver(t, func() { proxy.Retarget("unix", p.Master.Addr) }) }
	c := must(queue.Open(t.Context(), queue.Options{URL: proxy.URL}))(t)
	t.Cleanup(func() { c.Close() })
	ctx := t.Context()
	notices := c.Notices(ctx, "w")
	subscribed := func() bool {
		return must(c.Redis().PubSubNumSub(ctx, c.WakeChannel()).Result())(t)[c.WakeChannel()] > 0
	}
	await(t, "the subscription", subscribed)
	for i := range 20 {
		must(c.Put(ctx, queue.Put{Queue: "q", JID: fmt.Sprint("j", i), Klass: "K"}))(t)
	}
	l := hworker()
	ok(t, p.Master.Client(t).LPush(ctx, queue.ListKey(l.Name), mail(1), mail(2)).Err())
	s, ls := session(t, c, "w"), c.ListSession("lw", l)
	t.Cleanup(func() { ls.Close() })
	reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 5})
	must(ls.Exchange(ctx, nil, queue.Take{Count: 1}))(t)
	must(s.Renew(ctx, []queue.RenewItem{{JID: reply.Jobs[0].JID, Queue: "q", Popped: reply.Jobs[0].Popped}}))(t)
	n := 0
	calls := map[string]func(context.Context) error{
		"exchange": func(ctx context.Context) error {
			n++
			return second(s.Exchange(ctx, []queue.Settlement{{JID: reply.Jobs[n].JID, Queue: "q", Popped: reply.Jobs[n].Popped, Action: queue.Release}}, queue.Take{Queues: []string{"q"}, Count: 1}))
		},
		"renew": func(ctx context.Context) error {
			return second(s.Renew(ctx, []queue.RenewItem{{JID: reply.Jobs[0].JID, Queue: "q", Popped: reply.Jobs[0].Popped}}))
		},
		"list":  func(ctx context.Context) error { return second(ls.Exchange(ctx, nil, queue.Take{Count: 1})) },
		"put":   func(ctx context.Context) error { return second(c.Put(ctx, queue.Put{Queue: "q", Klass: "K"})) },
		"tend":  func(ctx context.Context) error { return second(c.Tend(ctx, []string{"q"}, nil, 0)) },
		"sweep": func(ctx context.Context) error { return second(c.Sweep(ctx, []string{"q"}, 10)) },
		"pause": func(ctx context.Context) error { return c.Pause(ctx, "other") },
		"ping":  func(ctx context.Context) error { return c.Writable(ctx) },
	}
	for name, call := range calls {
		failOver()
		if err := call(ctx); err != nil && queue.Class(err) != queue.ReadOnly {
			t.Errorf("%s: %v (%v)", name, err, queue.Class(err))
		}
		if err := call(ctx); err != nil {
			t.Errorf("%s fails again: %v (%v)", name, err, queue.Class(err))
		}
	}
	// The subscription follows.
	failOver()
	_ = c.Writable(ctx)
	ok(t, c.Writable(ctx))
	await(t, "the subscription at the new master", subscribed)
	p.Replica.Kill()
	for len(notices) > 0 {
		<-notices
	}
	must(c.Put(ctx, queue.Put{Queue: "heard", Klass: "K"}))(t)
	for deadline := time.After(time.Minute); ; {
		select {
		case notice := <-notices:
			if notice.Queue == "heard" {
				return
			}
		case <-deadline:
			t.Fatal("a put at the new master is not heard")
		}
	}
}
