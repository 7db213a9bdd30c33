package queue_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// TestCallsFollowAClockThatSteps has the clock of Redis step back by 20 s. A second later each call in which a delay or the end of a lock
// counts goes by the new time.
func TestCallsFollowAClockThatSteps(t *testing.T) {
	t.Parallel()
	s, ctx := redistest.Shared(t), t.Context()
	var off atomic.Int64
	calls := map[string]func(*queue.Client) error{
		"outlook": func(c *queue.Client) error { _, _, err := c.Outlook(ctx, []string{"q"}); return err },
		"put": func(c *queue.Client) error {
			_, err := c.Put(ctx, queue.Put{Queue: "q", Klass: "K", Delay: time.Minute})
			return err
		},
		"requeue": func(c *queue.Client) error {
			return c.Requeue(ctx, queue.Put{Queue: "q", JID: "there", Klass: "K", Delay: time.Minute})
		},
		"settle": func(c *queue.Client) error {
			_, err := c.Session("w").Exchange(ctx, []queue.Settlement{{JID: "gone", Queue: "q", Action: queue.Release, Delay: time.Minute}}, queue.Take{})
			return err
		},
		"sweep":   func(c *queue.Client) error { _, err := c.Sweep(ctx, []string{"q"}, 10); return err },
		"monitor": func(c *queue.Client) error { _, err := c.MonitorList(ctx, hworker()); return err },
	}
	clients := map[string]*queue.Client{}
	for name := range calls {
		c := open(t, s)
		queue.Skew(c, func() time.Duration { return time.Duration(off.Load()) })
		ok(t, c.Ping(ctx))
		clients[name] = c
	}
	must(clients["put"].Put(ctx, queue.Put{Queue: "q", JID: "there", Klass: "K"}))(t)
	off.Store(int64(-20 * time.Second))
	time.Sleep(time.Second)
	for name, call := range calls {
		ok(t, call(clients[name]))
		if ahead := clients[name].Clock().Offset() + 20*time.Second; ahead.Abs() > 5*time.Second {
			t.Errorf("after %s the clock is %v ahead", name, ahead)
		}
	}
}

// TestAStepOfTheClockTakesNothingAway has the clock of Redis step forward by an hour. One client notices: to it all locks seem to have
// expired. It takes nothing away from another, which notices with its next look and renews.
func TestAStepOfTheClockTakesNothingAway(t *testing.T) {
	t.Parallel()
	s, ctx := redistest.Shared(t), t.Context()
	var off atomic.Int64
	skewed := func() *queue.Client {
		c := open(t, s)
		queue.Skew(c, func() time.Duration { return time.Duration(off.Load()) })
		ok(t, c.Ping(ctx))
		return c
	}
	holder, other := skewed(), skewed()
	ok(t, holder.Set(ctx, "grace-period", "0")) // else it would be warned first
	must(holder.Put(ctx, queue.Put{Queue: "q", JID: "j", Klass: "K"}))(t)
	holds := session(t, holder, "holder")
	reply := must(holds.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 1}))(t)
	stop(t, len(reply.Jobs) != 1, "took %+v", reply)
	l := hworker()
	must(holder.PushList(ctx, l.Name, []byte("{}")))(t)
	entries := holder.ListSession("holder", l)
	listed := must(entries.Exchange(ctx, nil, queue.Take{Count: 1}))(t)
	stop(t, len(listed.Jobs) != 1, "took %+v", listed)

	off.Store(int64(time.Hour))
	ok(t, other.Ping(ctx)) // notices
	takes := session(t, other, "other")
	try := func() error {
		reply, err := takes.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 1})
		swept, wrong := other.Sweep(ctx, []string{"q"}, 10)
		moved, bad := other.MonitorList(ctx, l)
		if len(reply.Jobs) > 0 || swept.Back > 0 || moved > 0 || err != nil || wrong != nil || bad != nil {
			return fmt.Errorf("taken %d, swept %d, put back %d (%v, %v, %v)", len(reply.Jobs), swept.Back, moved, err, wrong, bad)
		}
		return nil
	}
	ok(t, try())
	time.Sleep(time.Second)
	_, _, err := holder.Outlook(ctx, []string{"q"})
	ok(t, err)
	for _, r := range append(must(holds.Renew(ctx, []queue.RenewItem{{JID: "j", Queue: "q", Popped: reply.Jobs[0].Popped}}))(t),
		must(entries.Renew(ctx, []queue.RenewItem{{JID: listed.Jobs[0].JID, Popped: listed.Jobs[0].Popped}}))(t)...) {
		ok(t, r.Err)
		if r.Expires < other.Now()+30 {
			t.Errorf("%s is renewed until %f, and it is %f", r.JID, r.Expires, other.Now())
		}
	}
	queue.Skew(other, func() time.Duration { return time.Duration(off.Load()) }) // which has settled
	ok(t, try())
}
