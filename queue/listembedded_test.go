package queue_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"oarlock/queue"
)

// On the embedded server an entry goes where it goes on Redis: in turn, to the back, to the front, to the failed, to the broken, put
// back by a monitor, found after a lost reply; and who waits for one is woken.
func TestListsOnEachServer(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		l := hworker()
		w := &listed{t: t, redis: c.Redis(), c: c, list: l}
		w.s = w.session("w")
		ctx := context.WithoutCancel(t.Context())
		woken := make(chan error, 1)
		go func() { woken <- w.s.Await(ctx) }() // reports below
		w.push(mail(1), mail(2), "garbage \xff", mail(2), mail(3))
		ok(t, <-woken)
		jobs := w.take(9)
		equal(t, "taken", jids(jobs), "id-1 id-2 id-3")
		w.settle(jobs[0], queue.Settlement{Action: queue.Retry, Checkpoint: []byte(`{"a":[]}`)})
		w.settle(jobs[1], queue.Settlement{Action: queue.Release, Counter: queue.CountCrash, MaxCrashes: 3})
		w.settle(jobs[2], queue.Settlement{Action: queue.Fail, Group: "g", Message: "m"})
		equal(t, "the list", fmt.Sprint(w.lies()), fmt.Sprint([]string{mail(2), mail(2), mail(1)}))
		equal(t, "counts", w.counts(), "3 waiting, 0 in work, 1 failed, 1 broken")
		jobs = w.take(9)
		equal(t, "then", jids(jobs), "id-2 id-1")
		equal(t, "a checkpoint", string(jobs[1].Checkpoint), `{"a":[]}`)
		renewed, err := w.s.Renew(ctx, []queue.RenewItem{{JID: "id-2", Popped: jobs[0].Popped}})
		if err != nil || renewed[0].Err != nil {
			t.Errorf("renewed are %+v (%v)", renewed, err)
		}
		equal(t, "held", jids(must(w.session("w").Held(ctx, nil))(t)), "id-1 id-2")
		w.age(2 * time.Minute)
		equal(t, "put back", must(c.MonitorList(ctx, l))(t), 2)
		equal(t, "tried again", must(c.RetryListFailed(ctx, l.Name))(t), 1)
		equal(t, "and what was broken", must(c.RetryListBroken(ctx, l.Name))(t), 1)
		equal(t, "counts", w.counts(), "5 waiting, 0 in work, 0 failed, 0 broken")
		next := must(c.NextOfList(ctx, l.Name, 9))(t)
		done := must(c.TakeIn(ctx, l.Name, "q", 0, intakes(next)))(t)
		equal(t, "made jobs", fmt.Sprint(done.Moved, done.Jobs, done.Broken, done.Refused), "5 4 1 <nil>")
		equal(t, "known", fmt.Sprint(must(c.KnownLists(ctx))(t)), "[hworker:mail]")
		ok(t, c.DestroyList(ctx, l.Name))
	})
}
