package queue_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue"
)

// No set takes nan for a score; a job that has it for its priority comes like one without.
func TestAPriorityThatIsNoNumberHoldsNobodyUp(t *testing.T) {
	onRedis(t, func(t *testing.T, c *queue.Client) {
		ctx, s, raw := t.Context(), session(t, c, "w"), c.Redis()
		putAll(t, c, queue.Put{Queue: "q", JID: "first", Klass: "K"})
		for _, jid := range []string{"delayed", "depends", "released"} {
			put := queue.Put{Queue: "q", JID: jid, Klass: "K", Priority: ptr(-1.0)}
			switch jid {
			case "delayed":
				put.Delay = time.Hour
			case "depends":
				put.Depends = []string{"first"}
			}
			bad := put
			bad.JID = "bad-" + jid
			putAll(t, c, bad, put)
			if jid != "released" {
				raw.HSet(ctx, "ql:j:bad-"+jid, "priority", "nan")
			}
		}
		for _, jid := range []string{"bad-delayed", "delayed"} {
			raw.ZAdd(ctx, "ql:q:q-scheduled", redis.Z{Score: 1, Member: jid})
		}
		reply, jids := take(t, s, queue.Take{Queues: []string{"q"}, Count: 10})
		equal(t, "broken", reply.Broken, nil)
		stop(t, len(jids) != 5, "took %v", jids)
		raw.HSet(ctx, "ql:j:bad-released", "priority", "nan")
		reply = must(s.Exchange(ctx, []queue.Settlement{
			{JID: "first", Queue: "q", Action: queue.Complete},
			{JID: "released", Queue: "q", Action: queue.Release},
			{JID: "bad-released", Queue: "q", Action: queue.Retry},
		}, queue.Take{Queues: []string{"q"}, Count: 10}))(t)
		equal(t, "broken", reply.Broken, nil)
		got := map[string]string{}
		for _, job := range reply.Jobs {
			got[job.JID] = job.Damage
		}
		for _, jid := range []string{"depends", "released", "bad-depends", "bad-released"} {
			damage, there := got[jid]
			never(t, !there || strings.Contains(damage, "priority") != strings.HasPrefix(jid, "bad-"), "%s came: %v, its damage: %q", jid, there, damage)
		}
	})
}

// A due time before all time is due: whoever takes is not told for ever that there is more.
func TestADueTimeBeforeAllTimeIsDue(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx, s, raw := t.Context(), session(t, c, "w"), c.Redis()
		for i, score := range []float64{-1, -1e300} {
			jid := fmt.Sprint("j", i)
			putAll(t, c, queue.Put{Queue: "q", JID: jid, Klass: "K", Delay: time.Hour})
			raw.ZAdd(ctx, "ql:q:q-scheduled", redis.Z{Score: score, Member: jid}, redis.Z{Score: score, Member: "ghost"})
			reply, jids := take(t, s, queue.Take{Queues: []string{"q"}, Count: 5})
			equal(t, "taken", jids, []string{jid})
			equal(t, "left out", reply.Broken, []queue.Broken{{Queue: "q", JID: "ghost", Reason: "there is no job behind it"}})
			reply, _ = take(t, s, queue.Take{Queues: []string{"q"}, Count: 5})
			equal(t, "more", reply.More, false)
		}
	})
}

// A recurring job whose next time never comes after the last would put jobs for ever.
func TestARecurringJobWithoutEndIsSetAside(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx, s, raw := t.Context(), session(t, c, "w"), c.Redis()
		for i, interval := range []string{"0", "-60", "1e-9", "nan", "60"} {
			jid, due := fmt.Sprint("r", i), c.Now()-1
			must(c.Recur(ctx, queue.Recurring{JID: jid, Queue: "q", Klass: "K", Interval: time.Minute}))(t)
			raw.HSet(ctx, "ql:r:"+jid, "interval", interval)
			if interval == "60" {
				due = -5
			}
			raw.ZAdd(ctx, "ql:q:q-recur", redis.Z{Score: due, Member: jid})
			reply, jids := take(t, s, queue.Take{Queues: []string{"q"}, Count: 5})
			equal(t, "taken", len(jids), 0)
			if len(reply.Broken) != 1 || reply.Broken[0].JID != jid || !strings.HasPrefix(reply.Broken[0].Reason, "damaged: ") {
				t.Errorf("interval %s: left out %+v", interval, reply.Broken)
			}
			equal(t, "due time", raw.ZScore(ctx, "ql:q:q-recur", jid).Val(), inf())
			raw.ZRem(ctx, "ql:q:q-recur", jid)
		}
	})
}

// What cannot be read of one job keeps nobody waiting who waits for others.
func TestWhoCannotBeFreedKeepsNobodyWaiting(t *testing.T) {
	onRedis(t, func(t *testing.T, c *queue.Client) {
		ctx, s, raw := t.Context(), session(t, c, "w"), c.Redis()
		putAll(t, c, queue.Put{Queue: "q", JID: "first", Klass: "K", Priority: ptr(9.0)})
		const many = 500
		for i := range many {
			putAll(t, c, queue.Put{Queue: "late", JID: fmt.Sprint("d", i), Klass: "K", Depends: []string{"first"}})
		}
		raw.HSet(ctx, "ql:j:d7", "scheduled", "soon")
		raw.Set(ctx, "ql:j:X-dependents", "z", 0)
		raw.ZAdd(ctx, "ql:oarlock:unblock", redis.Z{Score: 0, Member: "X"})
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		named := fmt.Sprint(reply.Broken)
		reply = must(s.Exchange(ctx, []queue.Settlement{{JID: "first", Queue: "q", Action: queue.Complete}}, queue.Take{}))(t)
		for range many {
			if !reply.Rest {
				break
			}
			reply = must(s.Exchange(ctx, nil, queue.Take{}))(t)
			named += fmt.Sprint(reply.Broken)
		}
		equal(t, "those that wait", raw.ZCard(ctx, "ql:q:late-work").Val(), many)
		equal(t, "what is left to be freed", raw.Exists(ctx, "ql:oarlock:unblock").Val(), 0)
		if strings.Count(named, "{ X WRONGTYPE") != 1 {
			t.Errorf("left out: %s", named)
		}
	})
}

// The damage of a job names the field, and quotes some of it.
func TestDamageNamesTheField(t *testing.T) {
	onRedis(t, func(t *testing.T, c *queue.Client) {
		ctx, s, raw := t.Context(), session(t, c, "w"), c.Redis()
		for field, value := range map[string]string{
			"throttles": "[1" + strings.Repeat("x", 1<<20), "history": "junk", "priority": strings.Repeat("x", 1<<20), "data": "",
		} {
			putAll(t, c, queue.Put{Queue: "q", JID: "j", Klass: "K"})
			if value == "" {
				raw.HDel(ctx, "ql:j:j", field)
			} else {
				raw.HSet(ctx, "ql:j:j", field, value)
			}
			reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
			if damage := reply.Jobs[0].Damage; !strings.Contains(damage, "its ") || !strings.Contains(damage, field) || strings.Contains(damage, "user_script") || len(damage) > 300 {
				t.Errorf("%s: %.400q", field, damage)
			}
			raw.FlushDB(ctx)
		}
	})
}

// A running job that lost its queue cannot be settled, so it is not taken up again before its
// lock runs out.
func TestHeldPassesOverAJobWithoutQueue(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		putAll(t, c, queue.Put{Queue: "q", JID: "j", Klass: "K"})
		take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		c.Redis().HDel(t.Context(), "ql:j:j", "queue")
		equal(t, "held", len(must(s.Held(t.Context(), []string{"q"}))(t)), 0)
	})
}

// onRedis runs a test on a real server, where that is all there is to be seen.
func onRedis(t *testing.T, test func(t *testing.T, c *queue.Client)) {
	t.Helper()
	test(t, fresh(t))
}

// What is wrong with a job is no reason that it cannot be put again, retried, moved or cancelled,
// and what cannot be read is not kept.
func TestADamagedJobIsMendedByPuttingItAgain(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx, s := t.Context(), session(t, c, "w")
		again := func() error {
			_, err := c.Put(ctx, queue.Put{Queue: "q", JID: "j", Klass: "K"})
			return err
		}
		amend := func(a queue.Amendment) func() error {
			return func() error {
				job := must(c.Get(ctx, "j"))(t)
				a.JID, a.State, a.Mark = "j", job.State, job.Mark
				return must(c.Amend(ctx, []queue.Amendment{a}))(t)[0].Err
			}
		}
		verbs := map[string]func() error{
			"put": again, "retry": amend(queue.Amendment{Change: queue.AmendRetry}),
			"move": amend(queue.Amendment{Change: queue.AmendMove, Queue: "q"}), "cancel": amend(queue.Amendment{Change: queue.AmendCancel}),
		}
		for _, field := range []string{"priority", "retries", "remaining", "tags", "throttles", "failure"} {
			for name, verb := range verbs {
				putAll(t, c, queue.Put{Queue: "q", JID: "j", Klass: "K", Tags: []string{"x"}})
				take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
				must(s.Exchange(ctx, []queue.Settlement{{JID: "j", Queue: "q", Action: queue.Fail, Group: "g"}}, queue.Take{}))(t)
				c.Redis().HSet(ctx, "ql:j:j", field, "nan")
				if err := verb(); err != nil {
					t.Errorf("%s, with junk for %s: %v", name, field, err)
				}
				equal(t, "listed as failed", c.Redis().Exists(ctx, "ql:f:g").Val(), 0)
				if name != "cancel" {
					reply, jids := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
					never(t, len(jids) != 1 || reply.Jobs[0].Damage != "", "%s, with junk for %s: took %+v", name, field, reply.Jobs)
				}
				c.Redis().FlushDB(ctx)
			}
		}
		putAll(t, c, queue.Put{Queue: "q", JID: "j", Klass: "K"})
		c.Redis().HDel(ctx, "ql:j:j", "queue")
		c.Redis().HSet(ctx, "ql:j:j", "throttles", `["t"]`)
		ok(t, verbs["put"]())
		c.Redis().HDel(ctx, "ql:j:j", "data")
		if err := verbs["retry"](); err == nil || !strings.Contains(err.Error(), "its data is missing") {
			t.Errorf("a retry without data: %v", err)
		}
	})
}

// A recurring job into which somebody wrote junk is shown with what can be read of it.
func TestADamagedRecurringJobIsShown(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx, raw := t.Context(), c.Redis()
		for _, field := range []string{"klass", "data", "priority", "tags", "retries", "interval", "backlog", "count", "queue", "throttles"} {
			for _, value := range []string{"gone", "nan", `{"a"`} {
				must(c.Recur(ctx, queue.Recurring{JID: "r", Queue: "q", Klass: "K", Interval: time.Minute}))(t)
				if value == "gone" {
					raw.HDel(ctx, "ql:r:r", field)
				} else {
					raw.HSet(ctx, "ql:r:r", field, value)
				}
				if r := must(c.Recurring(ctx, "r"))(t); r.JID != "r" || r.Klass != "K" && field != "klass" {
					t.Errorf("%s %s: %+v", field, value, r)
				}
				raw.FlushDB(ctx)
			}
		}
	})
}

// A list of those behind that is none keeps nobody else waiting, and loses nobody of its key: who is to join them tries again.
func TestABrokenLaneHoldsUpNobodyElse(t *testing.T) {
	onRedis(t, func(t *testing.T, c *queue.Client) {
		ctx, s, raw := t.Context(), session(t, c, "w"), c.Redis()
		keyed(t, c, "k", "first")
		_, jids := take(t, s, queue.Take{Queues: []string{"q"}, Count: 5})
		equal(t, "taken", jids, []string{"first"})
		raw.Set(ctx, "ql:oarlock:lane:1:q:k", "none", 0)
		keyed(t, c, "k", "now", "popped")
		due := func(jids ...string) {
			for i, jid := range jids {
				raw.ZAdd(ctx, "ql:q:q-scheduled", redis.Z{Score: 1e10 + float64(i), Member: jid})
			}
		}
		for i, key := range []string{"k", "m", "n"} {
			putAll(t, c, queue.Put{Queue: "q", JID: fmt.Sprint("later", i), Klass: "K", Key: key, Delay: time.Hour})
		}
		raw.Del(ctx, "ql:j:later1")
		raw.Set(ctx, "ql:j:later1", "no job", 0)
		due("later0", "later1", "later2")
		keyed(t, c, "other", "last")

		raw.ZRem(ctx, "ql:q:q-work", "popped")
		reply, jids := take(t, s, queue.Take{Queues: []string{"q"}, Count: 5})
		equal(t, "taken beside it", jids, []string{"later2", "last"})
		var left []string
		for _, b := range reply.Broken {
			left = append(left, b.JID)
		}
		equal(t, "left out", left, []string{"later0", "now"})
		raw.ZAdd(ctx, "ql:q:q-work", redis.Z{Score: 1, Member: "popped"})
		popped := must(queue.Protocol(queue.Qless).Run(ctx, raw, nil, "pop", c.Now(), "q", "f", 5).Text())(t)
		equal(t, "popped", popped, "{}")
		reply, jids = take(t, s, queue.Take{Queues: []string{"q"}, Count: 5})
		equal(t, "taken at once again", len(jids)+len(reply.Broken), 0)

		raw.Del(ctx, "ql:oarlock:lane:1:q:k", "ql:j:later1")
		settle(t, s, queue.Taken{JID: "first", Queue: "q"}, queue.Settlement{Action: queue.Complete})
		due("now", "later0", "popped")
		for _, want := range []string{"now", "later0", "popped"} {
			reply, jids = take(t, s, queue.Take{Queues: []string{"q"}, Count: 5})
			equal(t, "taken when it is mended", jids, []string{want})
			settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete})
		}
		for _, jid := range []string{"later2", "last"} {
			settle(t, s, queue.Taken{JID: jid, Queue: "q"}, queue.Settlement{Action: queue.Complete})
		}
		equal(t, "doctor says", diagnose(t, c, false), nil)
	})
}
