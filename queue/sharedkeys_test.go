package queue_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// suffixes end the names of the keys that a job has beside its hash.
var suffixes = []string{"-history", "-dependencies", "-dependents"}

// plant writes a waiting job as a program does that checks no names, without a history.
func plant(t *testing.T, c *queue.Client, jid string) {
	t.Helper()
	raw := c.Redis()
	ok(t, raw.HSet(t.Context(), "ql:j:"+jid, "jid", jid, "klass", "K", "data", "{}", "priority", "0", "tags", "{}", "state", "waiting",
		"worker", "", "expires", "0", "queue", "q", "retries", "5", "remaining", "5", "time", "1700000000.00000000000000000000").Err())
	ok(t, raw.ZAdd(t.Context(), "ql:q:q-work", redis.Z{Score: -0.17, Member: jid}).Err())
	ok(t, raw.ZAddNX(t.Context(), "ql:queues", redis.Z{Score: 1, Member: "q"}).Err())
}

// stands wants a job to be whole: its hash, and its place.
func stands(t *testing.T, c *queue.Client, what, jid string) {
	t.Helper()
	place, err := c.Redis().ZScore(t.Context(), "ql:q:q-work", jid).Result()
	if got := c.Redis().HGet(t.Context(), "ql:j:"+jid, "klass").Val(); got != "K" || err != nil {
		t.Errorf("%s: of %s the class is %q, its place %v (%v)", what, jid, got, place, err)
	}
}

// oneSentence wants an error that says which name is in the way, and not what Redis says of types.
func oneSentence(t *testing.T, what string, err error, names ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s was not refused", what)
		return
	}
	for _, name := range append(names, "key") {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %q does not name %s", what, err, name)
		}
	}
	if strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("%s: %v", what, err)
	}
}

// TestJIDsThatArePartsOfOthers: whatever is put here under the name of a key of another job is refused, in a sentence, unless the caller says
// that it may; and so is the job whose key is taken.
func TestJIDsThatArePartsOfOthers(t *testing.T) {
	c := open(t, redistest.Shared(t))
	for _, suffix := range suffixes {
		put := queue.Put{Queue: "q", Klass: "K", JID: "a" + suffix}
		_, err := c.Put(t.Context(), put)
		oneSentence(t, "a put", err, "a"+suffix)
		put.AnyName = true
		_, err = c.Put(t.Context(), put)
		ok(t, err)
		_, err = c.Put(t.Context(), queue.Put{Queue: "q", Klass: "K", JID: "a"})
		oneSentence(t, "the job beside "+put.JID, err, "a"+suffix)
		if n := c.Redis().Exists(t.Context(), "ql:j:a").Val(); n != 0 {
			t.Errorf("beside %s a refused put left a job", put.JID)
		}
		stands(t, c, "refused", put.JID)
		ok(t, c.Cancel(t.Context(), put.JID))
	}
	_, err := c.Put(t.Context(), queue.Put{Queue: "q", Klass: "K", JID: "b"})
	ok(t, err)
	_, err = c.Put(t.Context(), queue.Put{Queue: "q", Klass: "K", JID: "b-history", AnyName: true})
	oneSentence(t, "a put over a history", err, "b-history", "history of job b")
	for _, fine := range []string{"a-work", "history", "a-history-2", "a-History", "dependents"} {
		_, err := c.Put(t.Context(), queue.Put{Queue: "q", Klass: "K", JID: fine})
		ok(t, err)
	}
}

// TestAJobIsNotToBeWaitedFor: one job that stands where the dependents of another would be keeps nobody from anything but to wait for that.
func TestAJobIsNotToBeWaitedFor(t *testing.T) {
	c := open(t, redistest.Shared(t))
	plant(t, c, "v5")
	plant(t, c, "v5-dependents")
	putAll(t, c, queue.Put{Queue: "q", Klass: "K", JID: "other"})
	_, err := c.Put(t.Context(), queue.Put{Queue: "q", Klass: "K", JID: "after", Depends: []string{"other", "v5"}})
	oneSentence(t, "a put that waits", err, "v5-dependents")
	if keys := c.Redis().Keys(t.Context(), "ql:j:*after*").Val(); len(keys) > 0 {
		t.Errorf("it left %v", keys)
	}
	if on := c.Redis().SMembers(t.Context(), "ql:j:other-dependents").Val(); len(on) > 0 {
		t.Errorf("it left %v waiting for another job", on)
	}
	stands(t, c, "waited for", "v5-dependents")
}

// TestNeighborsLive: of two jobs of which one has the name of a key of the other each runs, ends, is canceled, moved and pruned without
// harm to its neighbor, whatever does it.
func TestNeighborsLive(t *testing.T) {
	c := open(t, redistest.Shared(t))
	unified := queue.Unified(queue.DefaultNamespace, queue.Qless)
	strict := func(args ...any) error {
		now := fmt.Sprintf("%f", c.Now())
		return c.Redis().Eval(t.Context(), unified, nil, append([]any{args[0], now}, args[1:]...)...).Err()
	}
	amend := func(jid string, change queue.Change) error {
		job, err := c.Get(t.Context(), jid)
		if err != nil {
			return err
		}
		results, err := c.Amend(t.Context(), []queue.Amendment{job.Amend(change)})
		ok(t, err)
		return results[0].Err
	}
	clearing := func(to string) error {
		ok(t, c.Redis().ZRem(t.Context(), "ql:q:q-work", "a-history", "a-dependencies", "a-dependents").Err())
		cleared, err := c.Clear(t.Context(), queue.Clearing{Queue: "q", To: to})
		if err == nil && cleared.Done != 1 {
			err = fmt.Errorf("%+v", cleared)
		}
		for _, suffix := range suffixes {
			if c.Redis().HExists(t.Context(), "ql:j:a"+suffix, "klass").Val() {
				ok(t, c.Redis().ZAdd(t.Context(), "ql:q:q-work", redis.Z{Score: 1, Member: "a" + suffix}).Err())
			}
		}
		return err
	}
	deeds := map[string]func(jid string) error{
		"cancel":             func(jid string) error { return c.Cancel(t.Context(), jid) },
		"amend, cancel":      func(jid string) error { return amend(jid, queue.AmendCancel) },
		"amend, retry":       func(jid string) error { return amend(jid, queue.AmendRetry) },
		"the original's way": func(jid string) error { return strict("put", "w", "q", jid, "K", "{}", "0") },
		"clear":              func(string) error { return clearing("") },
		"clear to another":   func(string) error { return clearing("other") },
		"strict cancel":      func(jid string) error { return strict("cancel", jid) },
		"work, and prune":    func(jid string) error { return workAndPrune(t, c, jid, 1) },
		"work, the long way": func(jid string) error { return workAndPrune(t, c, jid, 0) },
		"fail, and cancel":   func(jid string) error { return failAndCancel(t, c, jid) },
		"read":               func(jid string) error { _, err := c.Get(t.Context(), jid); return err },
		"glance":             func(jid string) error { _, err := c.Glances(t.Context(), queue.Brief, jid); return err },
	}
	for _, suffix := range suffixes {
		for name, deed := range deeds {
			ok(t, c.Redis().FlushDB(t.Context()).Err())
			plant(t, c, "a"+suffix)
			plant(t, c, "a")
			ok(t, c.Redis().ZAdd(t.Context(), "ql:q:q-work", redis.Z{Score: 5, Member: "a"}).Err())
			what := name + " beside " + suffix
			if err := deed("a"); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			stands(t, c, what, "a"+suffix)
		}
	}
}

// workAndPrune takes one job, completes it and prunes it; plain is how many jobs are taken by the call that completes it.
func workAndPrune(t *testing.T, c *queue.Client, jid string, plain int) error {
	t.Helper()
	raw := c.Redis()
	ok(t, raw.HSet(t.Context(), "ql:config", "jobs-history", "0", "jobs-history-count", "0").Err())
	s := session(t, c, "w")
	if plain == 1 {
		putAll(t, c, queue.Put{Queue: "q", Klass: "K", JID: "next", Priority: ptr(3.0)})
	}
	reply, err := s.Exchange(t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 1})
	if err != nil {
		return err
	}
	if len(reply.Jobs) != 1 || reply.Jobs[0].JID != jid || reply.Jobs[0].Damage != "" {
		return fmt.Errorf("took %+v", reply.Jobs)
	}
	for range 3 {
		var settled []queue.Settlement
		for _, job := range reply.Jobs {
			settled = append(settled, queue.Settlement{JID: job.JID, Queue: "q", Action: queue.Complete})
		}
		if reply, err = s.Exchange(t.Context(), settled, queue.Take{Queues: []string{"q"}, Count: plain}); err != nil {
			return err
		}
		for _, result := range reply.Results {
			if result.Err != nil {
				return result.Err
			}
		}
		plain = 0
		if len(reply.Jobs) == 0 {
			break
		}
	}
	time.Sleep(2 * time.Millisecond)
	putAll(t, c, queue.Put{Queue: "q", Klass: "K", JID: "last", Priority: ptr(9.0)})
	if reply, err = s.Exchange(t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 1}); err != nil {
		return err
	}
	_, err = s.Exchange(t.Context(), []queue.Settlement{{JID: "last", Queue: "q", Action: queue.Complete}}, queue.Take{})
	if n := raw.Exists(t.Context(), "ql:j:"+jid).Val(); n != 0 {
		return fmt.Errorf("it was not pruned")
	}
	return err
}

func failAndCancel(t *testing.T, c *queue.Client, jid string) error {
	t.Helper()
	s := session(t, c, "w")
	if _, err := s.Exchange(t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 1}); err != nil {
		return err
	}
	reply, err := s.Exchange(t.Context(), []queue.Settlement{{JID: jid, Queue: "q", Action: queue.Fail, Group: "g", Message: "m"}}, queue.Take{})
	if err != nil {
		return err
	}
	if reply.Results[0].Err != nil {
		return reply.Results[0].Err
	}
	return c.Cancel(t.Context(), jid)
}

// TestNeighborsAreNotMergedAway: a job that gives its payloads to another, and a recurring job that cannot put its copy, leave alone what has the
// name of their history.
func TestNeighborsAreNotMergedAway(t *testing.T) {
	c := open(t, redistest.Shared(t))
	ctx, raw := t.Context(), c.Redis()
	must(c.SetKeyOrder(ctx, queue.OrderFile{Owner: "f", Orders: []queue.KeyOrder{{Queue: "q", Merge: queue.MergeAll}}}, queue.AllOrders))(t)
	first := must(c.Put(ctx, queue.Put{Queue: "q", Klass: "K", Key: "k", Data: []byte("1")}))(t)
	s := session(t, c, "w")
	_, jids := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
	equal(t, "taken", jids, []string{first})
	second := must(c.Put(ctx, queue.Put{Queue: "q", Klass: "K", Key: "k", Data: []byte("2")}))(t)
	ok(t, raw.Del(ctx, "ql:j:"+second+"-history").Err())
	plant(t, c, second+"-history")
	must(s.Exchange(ctx, []queue.Settlement{{JID: first, Queue: "q", Action: queue.Retry}}, queue.Take{}))(t)
	if n := raw.Exists(ctx, "ql:j:"+second).Val(); n != 0 {
		t.Error("the second was not merged into the first")
	}
	stands(t, c, "merged", second+"-history")

	ok(t, raw.Set(ctx, "ql:j:r-1", "in the way", 0).Err())
	plant(t, c, "r-1-history")
	must(c.Recur(ctx, queue.Recurring{Queue: "q", JID: "r", Klass: "K", Interval: time.Hour}))(t)
	take(t, s, queue.Take{Queues: []string{"q"}, Count: 0})
	for range 2 {
		if _, err := s.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if place := raw.HGet(ctx, "ql:j:r-1-history", "klass").Val(); place != "K" {
		t.Error("a recurring job deleted a job that has the name of a history")
	}
}

// TestThrottlesThatArePartsOfOthers: of throttles, and of queues that limit their jobs, none keeps the jobs of another from being worked.
func TestThrottlesThatArePartsOfOthers(t *testing.T) {
	c := open(t, redistest.Shared(t))
	ctx := t.Context()
	_, err := c.Put(ctx, queue.Put{Queue: "q", Klass: "K", Throttles: []string{"a-locks"}})
	oneSentence(t, "a put", err, "a-locks")
	for _, name := range []string{"orders", "orders-locks", "orders-pending"} {
		ok(t, c.SetQueueThrottle(ctx, "orders", 1))
		putAll(t, c, queue.Put{Queue: name, Klass: "K", JID: name + " 1", Throttles: []string{"t"}})
		putAll(t, c, queue.Put{Queue: name, Klass: "K", JID: name + " 2", Throttles: []string{"t"}})
	}
	s := session(t, c, "w")
	reply, jids := take(t, s, queue.Take{Queues: []string{"orders", "orders-locks", "orders-pending"}, Count: 10})
	equal(t, "taken", jids, []string{"orders 1", "orders-locks 1", "orders-locks 2", "orders-pending 1", "orders-pending 2"})
	for _, job := range reply.Jobs {
		if job.Damage != "" {
			t.Errorf("%s is damaged: %s", job.JID, job.Damage)
		}
	}
}
