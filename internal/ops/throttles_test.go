package ops

import (
	"fmt"
	"testing"

	"oarlock/internal/explain"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// TestThrottlesTellWhoWaits: jobs that wait for a throttle of the rules stand in a waitlist, which the protocol does not know of;
// they are counted wherever one looks at the throttle, and the first of them named.
func TestThrottlesTellWhoWaits(t *testing.T) {
	server := redistest.Start(t)
	q, ctx := open(t, server), t.Context()
	rules := queue.NewRules{
		Doc:    "{}",
		Queues: []queue.RuledQueue{{Queue: "orders", Rules: `{"throttles":["erp"]}`}, {Queue: "fast", Rules: `{"throttles":["rate"]}`}},
		Throttles: []queue.RuledThrottle{
			{Name: "erp", Rules: `{"limit":1}`, Limit: 1}, {Name: "rate", Rules: `{"rate":[1,3600,1]}`},
		},
	}
	must(q.InstallRules(ctx, "", rules))(t)
	const many = mostWaiters + 8
	var puts []queue.Put
	for i := range many {
		puts = append(puts, queue.Put{Queue: "orders", JID: fmt.Sprint("o", i), Klass: "K"})
	}
	put(t, q, append(puts, queue.Put{Queue: "fast", JID: "f1", Klass: "K"}, queue.Put{Queue: "fast", JID: "f2", Klass: "K"})...)
	s := q.Session("w")
	defer s.Close()
	for _, name := range []string{"orders", "fast"} {
		for more := true; more; {
			more = must(s.Exchange(ctx, nil, queue.Take{Queues: []string{name}, Count: 2}))(t).More
		}
	}
	all := map[string]Throttle{}
	for _, th := range must(ThrottlesIn(ctx, q, Window{}))(t).Items {
		all[th.ID] = th
	}
	some := map[string]ThrottleCount{}
	for _, th := range must(ThrottlesFrom(ctx, q, Window{}))(t).Items {
		some[th.ID] = th
	}
	for id, want := range map[string]int{"erp": many - 1, "rate": 1} {
		one := must(ShowThrottle(ctx, explain.Sources{Client: q, Host: func() string { return "" }}, id))(t)
		if all[id].Waiting != want || one.Waiting != want || some[id].Waiters != want || len(one.Waiters) != min(want, mostWaiters) {
			t.Errorf("for %s wait %d, %d and %d, of whom %d are named; want %d", id, all[id].Waiting, one.Waiting, some[id].Waiters, len(one.Waiters), want)
		}
		if err := ReleaseThrottle(ctx, q, id, one.Waiters[:1]); err == nil {
			t.Errorf("a job that waits gave %s up, which it does not hold", id)
		}
	}
}
