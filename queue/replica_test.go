package queue_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// TestAllThatWritesFindsAReplicaOut makes every call that writes at a server that has become a replica: each fails as a whole with class read-only, none
// answers for a single job, and none seems to have worked.
func TestAllThatWritesFindsAReplicaOut(t *testing.T) {
	server := redistest.Start(t)
	c, ctx, raw := open(t, server), t.Context(), server.Client(t)
	putAll(t, c, queue.Put{Queue: "q", JID: "a", Klass: "K"}, queue.Put{Queue: "q", JID: "b", Klass: "K"}, queue.Put{Queue: "q", JID: "c", Klass: "K"},
		queue.Put{Queue: "q", JID: "keyed", Klass: "K", Key: "k"}, queue.Put{Queue: "q", JID: "behind", Klass: "K", Key: "k"},
		queue.Put{Queue: "late", JID: "late", Klass: "K", Delay: time.Millisecond})
	s := session(t, c, "w")
	reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 2})
	first := queue.Settlement{JID: reply.Jobs[0].JID, Queue: "q", Popped: reply.Jobs[0].Popped}
	l := hworker()
	ok(t, raw.LPush(ctx, queue.ListKey(l.Name), mail(1)).Err())
	ls := c.ListSession("lw", l)
	t.Cleanup(func() { ls.Close() })
	ok(t, raw.ReplicaOf(ctx, "127.0.0.1", "1").Err())
	settles := func(action queue.Action) func(context.Context) error {
		return func(ctx context.Context) error {
			x := first
			x.Action, x.Group, x.Message = action, "g", "m"
			reply, err := s.Exchange(ctx, []queue.Settlement{x}, queue.Take{Queues: []string{"q"}, Count: 1})
			if err == nil {
				return fmt.Errorf("it was answered: %+v", reply)
			}
			return err
		}
	}
	calls := map[string]func(context.Context) error{
		"put": func(ctx context.Context) error { return second(c.Put(ctx, queue.Put{Queue: "q", Klass: "K"})) },
		"take": func(ctx context.Context) error {
			return second(s.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 1}))
		},
		"take what is due": func(ctx context.Context) error {
			return second(s.Exchange(ctx, nil, queue.Take{Queues: []string{"late"}, Count: 1}))
		},
		"take in turn": func(ctx context.Context) error {
			return second(s.Exchange(ctx, nil, queue.Take{Queues: []string{"late", "q"}, Count: 2, Order: queue.RoundRobin}))
		},
		"take the oldest": func(ctx context.Context) error {
			return second(s.Exchange(ctx, nil, queue.Take{Queues: []string{"late", "q"}, Count: 2, Order: queue.Oldest}))
		},
		"complete": settles(queue.Complete), "fail": settles(queue.Fail), "retry": settles(queue.Retry), "release": settles(queue.Release),
		"cancel": settles(queue.Cancel), "requeue": settles(queue.Requeue),
		"renew": func(ctx context.Context) error {
			return second(s.Renew(ctx, []queue.RenewItem{{JID: first.JID, Queue: "q", Popped: first.Popped}}))
		},
		"tend":        func(ctx context.Context) error { return second(c.Tend(ctx, []string{"q"}, []string{"q"}, 0)) },
		"list":        func(ctx context.Context) error { return second(ls.Exchange(ctx, nil, queue.Take{Count: 1})) },
		"pause":       func(ctx context.Context) error { return c.Pause(ctx, "q") },
		"unpause":     func(ctx context.Context) error { return c.Resume(ctx, "q") },
		"cancel jobs": func(ctx context.Context) error { return c.Cancel(ctx, "c") },
		"writable":    c.Writable,
	}
	for name, call := range calls {
		if err := call(ctx); queue.Class(err) != queue.ReadOnly {
			t.Errorf("%s: %v (%v)", name, err, queue.Class(err))
		}
	}
	text, _ := queue.Script(queue.Batch, "exchange", queue.DefaultNamespace)
	if err := raw.Eval(ctx, text, nil, "1", "w", "0", "ordered", "0", "1", "0", "0", "q", "").Err(); err == nil || !strings.HasPrefix(err.Error(), "READONLY ") {
		t.Errorf("exchange loses the code: %v", err)
	}
	// As other clients see it, who go by the first word.
	sha, err := raw.ScriptLoad(ctx, queue.Unified(queue.DefaultNamespace, queue.Qless)).Result()
	ok(t, err)
	for _, words := range [][]any{{"put", "1", "w", "q", "x", "K", "{}", "0"}, {"complete", "1", first.JID, "w", "q", "{}"}, {"pop", "1", "q", "w", "1"},
		{"heartbeat", "1", first.JID, "w", "{}"}, {"cancel", "1", "c"}, {"fail", "1", first.JID, "w", "g", "m"}, {"pause", "1", "q"}} {
		if err := raw.EvalSha(ctx, sha, nil, words...).Err(); err == nil || !strings.HasPrefix(err.Error(), "READONLY ") {
			t.Errorf("%v: %v", words, err)
		}
	}
}
