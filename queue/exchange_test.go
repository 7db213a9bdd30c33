package queue_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// take takes jobs and returns their jids in order, and by jid.
func take(t *testing.T, s *queue.Session, take queue.Take) (queue.Reply, []string) {
	t.Helper()
	reply := must(s.Exchange(t.Context(), nil, take))(t)
	jids := []string{}
	for _, job := range reply.Jobs {
		jids = append(jids, job.JID)
	}
	return reply, jids
}

// settle settles one job and returns what became of it.
func settle(t *testing.T, s *queue.Session, job queue.Taken, settlement queue.Settlement) queue.SettleResult {
	t.Helper()
	settlement.JID, settlement.Queue, settlement.Popped = job.JID, job.Queue, job.Popped
	return must(s.Exchange(t.Context(), []queue.Settlement{settlement}, queue.Take{}))(t).Results[0]
}

func putAll(t *testing.T, c *queue.Client, puts ...queue.Put) {
	t.Helper()
	for i, r := range must(c.PutAll(t.Context(), puts))(t) {
		if r.Err != nil {
			t.Fatalf("put %d: %v", i, r.Err)
		}
	}
}

// A recurring job that was made anew counts its children from one again. One of them may so come over an old job
// that the same take has just listed in another queue: it is taken once, and stands in one place.
func TestAJobThatWasEvictedAfterItWasListed(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		putAll(t, c, queue.Put{Queue: "q1", Klass: "Old", JID: "r-1"}, queue.Put{Queue: "q1", Klass: "Behind", JID: "b"})
		must(c.Recur(t.Context(), queue.Recurring{Queue: "q2", JID: "r", Klass: "New", Interval: time.Hour}))(t)
		reply, jids := take(t, session(t, c, "w"), queue.Take{Queues: []string{"q1", "q2"}, Order: queue.Oldest, Count: 2})
		slices.Sort(jids)
		equal(t, "taken", jids, []string{"b", "r-1"})
		for _, job := range reply.Jobs {
			never(t, job.JID == "r-1" && (job.Queue != "q2" || job.Klass != "New"), "took the old one: %+v", job)
		}
		for _, key := range []string{"ql:q:q1-work", "ql:q:q2-work"} {
			if left := c.Redis().ZRange(t.Context(), key, 0, -1).Val(); len(left) > 0 {
				t.Errorf("%s still has %v", key, left)
			}
		}
	})
}

func TestOrdersOfTaking(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		fill := func(t *testing.T) {
			t.Helper()
			must(c.Redis().FlushDB(t.Context()).Result())(t)
			for _, jid := range []string{"a1", "b1", "a2", "b2", "a3", "c1"} { // one by one: each later than the last
				putAll(t, c, queue.Put{Queue: jid[:1], JID: jid, Klass: "K"})
			}
		}
		queues := []string{"b", "a", "c"}
		fill(t)
		_, jids := take(t, s, queue.Take{Queues: queues, Count: 4, Order: queue.Ordered})
		equal(t, "ordered", jids, []string{"b1", "b2", "a1", "a2"})
		fill(t)
		_, jids = take(t, s, queue.Take{Queues: queues, Count: 4, Order: queue.Oldest})
		equal(t, "oldest", len(jids), 4)
		for _, jid := range []string{"a1", "b1", "a2", "b2"} {
			never(t, !strings.Contains(fmt.Sprint(jids), jid), "oldest: took %v, without %s", jids, jid)
		}
		first := map[string]int{}
		for range 60 {
			fill(t)
			asked := slices.Clone(queues)
			_, jids := take(t, s, queue.Take{Queues: asked, Count: 3, Order: queue.Shuffled})
			slices.Sort(jids)
			equal(t, "shuffled, one of each", jids, []string{"a1", "b1", "c1"})
			equal(t, "the caller's list", asked, queues)
			fill(t)
			_, jids = take(t, s, queue.Take{Queues: queues, Count: 1, Order: queue.Shuffled})
			first[jids[0]]++
		}
		for _, jid := range []string{"a1", "b1", "c1"} { // each is missed by chance once in 10¹⁰
			never(t, first[jid] == 0, "shuffled: %s was never the first: %v", jid, first)
		}
		fill(t)
		var turns []string
		cursor := 0
		for range 6 {
			reply, jids := take(t, s, queue.Take{Queues: queues, Count: 1, Order: queue.RoundRobin, Cursor: cursor})
			cursor = reply.Cursor
			turns = append(turns, jids...)
		}
		equal(t, "round-robin, one at a time", turns, []string{"b1", "a1", "c1", "b2", "a2", "a3"})
		fill(t)
		_, jids = take(t, s, queue.Take{Queues: queues, Count: 6, Order: queue.RoundRobin})
		equal(t, "round-robin, all at once", len(jids), 6)
		_, err := s.Exchange(t.Context(), nil, queue.Take{Queues: queues, Count: 1, Order: "random"})
		never(t, queue.Class(err) != queue.Invalid, "an unknown order: %v", err)
	})
}

func TestPayloadsPassUntouched(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		big := `"` + strings.Repeat("x", 1<<20) + `"`
		s := session(t, c, "w")
		for name, data := range map[string]string{
			"an empty list":      `[]`,
			"a large integer":    `{"n":9007199254740993}`,
			"twenty digits":      `[12345678901234567890]`,
			"odd escapes":        `"\u00e9\/\ud83d\ude00\u0000"`,
			"blanks and order":   ` { "b" : 1 , "a" : [ ] } `,
			"null":               `null`,
			"a megabyte":         big,
			"bytes of any value": "\"\xc3\xa9\x7f\"",
			"nested 1000 deep":   strings.Repeat("[", 1000) + strings.Repeat("]", 1000),
		} {
			jid := must(c.Put(t.Context(), queue.Put{Queue: "q", Klass: "K", Data: []byte(data)}))(t)
			for round, settlement := range []queue.Settlement{
				{Action: queue.Retry},
				{Action: queue.Release, Front: true},
				{Action: queue.Complete, Next: "q"},
				{Action: queue.Complete, Data: []byte(data)},
			} {
				reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
				if len(reply.Jobs) != 1 || string(reply.Jobs[0].Data) != data || reply.Jobs[0].Size != int64(len(data)) {
					t.Fatalf("%s came out of take %d as %+.200v", name, round, reply)
				}
				if r := settle(t, s, reply.Jobs[0], settlement); r.Err != nil {
					t.Fatalf("%s: %v", name, r.Err)
				}
			}
			if got := must(c.Get(t.Context(), jid))(t); string(got.Data) != data {
				t.Errorf("%s is shown as %.100q", name, got.Data)
			}
		}
		for name, data := range map[string]string{
			"nothing": ``, "half an object": `{"a":`, "false": ` false `, "nested too deep": strings.Repeat("[", 1001) + strings.Repeat("]", 1001),
		} {
			if _, err := c.Put(t.Context(), queue.Put{Queue: "q", Klass: "K", Data: []byte(data)}); queue.Class(err) != queue.Refused {
				t.Errorf("putting %s: %v", name, err)
			}
		}
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		equal(t, "jobs put in vain", len(reply.Jobs), 0)
	})
}

func TestSettlementsReplaceTheData(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		jid := must(c.Put(t.Context(), queue.Put{Queue: "q", Klass: "K", Data: []byte(`1`)}))(t)
		for _, settlement := range []queue.Settlement{
			{Action: queue.Retry, Data: []byte(`[ ]`)},
			{Action: queue.Fail, Group: "g", Data: []byte(`{"n":9007199254740993}`)},
		} {
			reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
			if r := settle(t, s, reply.Jobs[0], settlement); r.Err != nil {
				t.Fatal(r.Err)
			}
			equal(t, "data", string(must(c.Get(t.Context(), jid))(t).Data), string(settlement.Data))
		}
	})
}

func TestTooLargeJobComesWithoutItsData(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		putAll(t, c, queue.Put{Queue: "q", JID: "large", Klass: "K", Data: []byte(`"0123456789"`)})
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1, MaxJob: 11})
		job := reply.Jobs[0]
		never(t, job.Data != nil || job.Size != 12, "took %q of %d bytes, want no data of 12", job.Data, job.Size)
		r := settle(t, s, job, queue.Settlement{Action: queue.Fail, Group: "payload-too-large", Message: "12 bytes"})
		equal(t, "settled", r, queue.SettleResult{State: "failed", Remaining: 5})
	})
}

func TestTakeSparesLocksThatRanOut(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		putAll(t, c, queue.Put{Queue: "q", JID: "held", Klass: "K"})
		ok(t, c.Set(t.Context(), "grace-period", "0"))
		holder, other := session(t, c, "holder"), session(t, c, "other")
		reply, _ := take(t, holder, queue.Take{Queues: []string{"q"}, Count: 1})
		runOut(t, c, "held")
		_, jids := take(t, other, queue.Take{Queues: []string{"q"}, Count: 1, Spare: true})
		equal(t, "taken while locks are spared", len(jids), 0)
		renewed := must(holder.Renew(t.Context(), []queue.RenewItem{{JID: "held", Queue: "q", Popped: reply.Jobs[0].Popped}}))(t)
		equal(t, "renewed", renewed[0].Err, nil)
		runOut(t, c, "held")
		_, jids = take(t, other, queue.Take{Queues: []string{"q"}, Count: 1})
		equal(t, "taken after that", jids, []string{"held"})
	})
}

// runOut lets locks of the queue q end.
func runOut(t *testing.T, c *queue.Client, jids ...string) {
	t.Helper()
	for _, jid := range jids {
		ok(t, c.Redis().ZAdd(t.Context(), "ql:q:q-locks", redis.Z{Score: 1, Member: jid}).Err())
	}
}

func TestBrokenEntriesDoNotBlockTheQueue(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx, s, raw := t.Context(), session(t, c, "w"), c.Redis()
		putAll(t, c, queue.Put{Queue: "q", JID: "good", Klass: "K"}, queue.Put{Queue: "q", JID: "gone", Klass: "K", Priority: ptr(9.0)},
			queue.Put{Queue: "q", JID: "odd", Klass: "K", Priority: ptr(8.0)})
		raw.Del(ctx, "ql:j:gone", "ql:j:odd-history")
		raw.Set(ctx, "ql:j:odd-history", "not a list", 0)
		reply, jids := take(t, s, queue.Take{Queues: []string{"q"}, Count: 2})
		equal(t, "taken", jids, []string{"odd", "good"})
		if damage := reply.Jobs[0].Damage; !strings.Contains(damage, "history") {
			t.Errorf("the damage of the job whose history is no list is %q", damage)
		}
		equal(t, "damage of the other", reply.Jobs[1].Damage, "")
		equal(t, "broken", reply.Broken, []queue.Broken{{Queue: "q", JID: "gone", Reason: "there is no job behind it"}})
		equal(t, "left in the work set", raw.ZCard(ctx, "ql:q:q-work").Val(), 0)
	})
}

func TestReleaseLeavesWhatTimeoutLeaves(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx, s, raw := t.Context(), session(t, c, "w"), c.Redis()
		putAll(t, c, queue.Put{Queue: "q", JID: "j", Klass: "K"}, queue.Put{Queue: "q", JID: "urgent", Klass: "K", Priority: ptr(100.0)})
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 2})
		raw.HSet(ctx, "ql:j:j", "grace", "1")
		r := settle(t, s, reply.Jobs[1], queue.Settlement{Action: queue.Release, Front: true, Counter: queue.CountInterruption})
		equal(t, "result", r, queue.SettleResult{State: "stalled", Remaining: 5})
		fields := raw.HGetAll(ctx, "ql:j:j").Val()
		equal(t, "fields", []string{fields["state"], fields["expires"], fields["worker"], fields["remaining"], fields["grace"]},
			[]string{"stalled", "0", "w", "5", ""})
		equal(t, "place", raw.ZScore(ctx, "ql:q:q-work", "j").Val(), inf())
		equal(t, "locks", raw.ZCard(ctx, "ql:q:q-locks").Val(), 1)
		equal(t, "held", raw.ZRange(ctx, "ql:w:w:jobs", 0, -1).Val(), []string{"urgent"})
		settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Release})
		reply, jids := take(t, s, queue.Take{Queues: []string{"q"}, Count: 2})
		equal(t, "in front of the most urgent", jids, []string{"j", "urgent"})
		equal(t, "interruptions", reply.Jobs[0].Interruptions, 1)

		r = settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Release, Delay: time.Hour})
		equal(t, "delayed", r.State, "scheduled")
		reply, _ = take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		never(t, reply.NextDue < reply.Now+3590, "next due at %f, now it is %f", reply.NextDue, reply.Now)
	})
}

func inf() float64 { return 1 / zero }

var zero float64

func TestDeathsOfSupervisorsAreKept(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		putAll(t, c, queue.Put{Queue: "q", JID: "j", Klass: "K"})
		again := func() queue.Taken {
			t.Helper()
			reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
			return reply.Jobs[0]
		}
		death := queue.Settlement{Action: queue.Release, Counter: queue.CountDeath, Front: true}
		for n := range 4 { // it never ends a job, and costs it nothing
			job := again()
			equal(t, "deaths", job.Deaths, n)
			equal(t, "suspect", job.Suspect(), n >= queue.SuspectDeaths)
			equal(t, "result", settle(t, s, job, death), queue.SettleResult{State: "stalled", Remaining: 5})
		}
		equal(t, "shown", must(c.Get(t.Context(), "j"))(t).Kept.Deaths, 4)

		// What says nothing of deaths keeps them.
		settle(t, s, again(), queue.Settlement{Action: queue.Release, Counter: queue.CountInterruption, Front: true})
		job := again()
		equal(t, "deaths after an interruption", job.Deaths, 4)
		settle(t, s, job, queue.Settlement{Action: queue.Release, Counter: queue.CountCrash, MaxCrashes: 3})
		job = again()
		equal(t, "deaths after a crash", fmt.Sprint(job.Deaths, job.Crashes), "4 1")

		for _, action := range []queue.Action{queue.Retry, queue.Release, queue.Fail} {
			settle(t, s, job, queue.Settlement{Action: action, Group: "g", Cleared: true})
			if action == queue.Fail {
				must(c.Unfail(t.Context(), "q", "g", 1))(t)
			}
			job = again()
			equal(t, "deaths after "+string(action), job.Deaths, 0)
			settle(t, s, job, death)
			job = again()
			equal(t, "deaths again", job.Deaths, 1)
		}
		settle(t, s, job, queue.Settlement{Action: queue.Complete})
		equal(t, "kept of a complete job", must(c.Get(t.Context(), "j"))(t).Kept.Deaths, 0)
	})
}

func TestCrashesEndAJob(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		putAll(t, c, queue.Put{Queue: "q", JID: "j", Klass: "K", Timeout: time.Minute})
		again := func() queue.Taken {
			t.Helper()
			reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
			return reply.Jobs[0]
		}
		crash := queue.Settlement{Action: queue.Release, Counter: queue.CountCrash, MaxCrashes: 2, Group: "crashed", Message: "signal",
			Record: []byte(`{"signal":"KILL"}`), Checkpoint: []byte(`"page 3"`)}
		equal(t, "first", settle(t, s, again(), crash), queue.SettleResult{State: "waiting", Remaining: 5, Crashes: 1})
		job := again()
		equal(t, "kept", fmt.Sprint(job.Crashes, string(job.Checkpoint), job.Timeout), `1"page 3"1m0s`)
		equal(t, "second", settle(t, s, job, crash), queue.SettleResult{State: "waiting", Remaining: 5, Crashes: 2})
		equal(t, "third", settle(t, s, again(), crash), queue.SettleResult{State: "failed", Remaining: 5, Crashes: 3})
		shown := must(c.Get(t.Context(), "j"))(t)
		equal(t, "failure", shown.State+" "+shown.Failure.Group+" "+shown.Failure.Message, "failed crashed signal")
		equal(t, "kept", fmt.Sprint(shown.Kept.Crashes, string(shown.Kept.Record)), `3{"signal":"KILL"}`)

		must(c.Unfail(t.Context(), "q", "crashed", 1))(t)
		job = again()
		equal(t, "counts of a job that was revived", fmt.Sprint(job.Crashes, job.Timeout), "0 1m0s")

		release := queue.Settlement{Action: queue.Release, MaxCrashes: 0}
		for range 20 {
			equal(t, "released", settle(t, s, job, release), queue.SettleResult{State: "waiting", Remaining: 5})
			job = again()
		}
		spared := queue.Settlement{Action: queue.Release, Counter: queue.CountSpared, MaxCrashes: 0,
			Unstarted: queue.Standing{}.Met(7.25, ""), Unknown: queue.Standing{}.Met(8, "a 1")}
		for i := range 3 {
			equal(t, "spared", settle(t, s, job, spared).Crashes, 0)
			job = again()
			equal(t, "times", job.Spared, i+1)
			equal(t, "how often its class was not known", job.Unknown.Count, i+1)
			spared.Unknown = job.Unknown.Met(9, "b 2")
		}
		shown = must(c.Get(t.Context(), "j"))(t)
		equal(t, "shown", fmt.Sprint(shown.Kept.Spared, shown.Kept.Unstarted, shown.Kept.Unknown), "3 {7.25 1 []} {8 3 [a 1 b 2]}")
		settle(t, s, job, queue.Settlement{Action: queue.Release})
		job = again()
		equal(t, "after another ending", fmt.Sprint(job.Unstarted, job.Unknown), "{0 0 []} {0 0 []}")

		settle(t, s, job, queue.Settlement{Action: queue.Complete, Next: "elsewhere"})
		reply, _ := take(t, s, queue.Take{Queues: []string{"elsewhere"}, Count: 1})
		job = reply.Jobs[0]
		equal(t, "in another queue", fmt.Sprint(job.Crashes, job.Timeout, job.Checkpoint == nil), "0 1m0s true")
	})
}

func TestRefusedSettlementsChangeNothing(t *testing.T) {
	server := redistest.Shared(t)
	c := open(t, server)
	ctx, s, other := t.Context(), session(t, c, "w"), session(t, c, "other")
	putAll(t, c, queue.Put{Queue: "q", JID: "waits", Klass: "K"}, queue.Put{Queue: "q", JID: "mine", Klass: "K"})
	reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
	job := reply.Jobs[0]
	if job.JID != "waits" { // the one put first
		t.Fatalf("took %s", job.JID)
	}
	complete := queue.Settlement{JID: job.JID, Queue: "q", Popped: job.Popped, Action: queue.Complete}
	with := func(change func(*queue.Settlement)) queue.Settlement {
		changed := complete
		change(&changed)
		return changed
	}
	raw := server.Client(t)
	before := snapshot(t, raw)
	for name, test := range map[string]struct {
		session    *queue.Session
		settlement queue.Settlement
		lost       bool
	}{
		"unknown job":       {s, with(func(s *queue.Settlement) { s.JID = "nobody" }), true},
		"waiting job":       {s, with(func(s *queue.Settlement) { s.JID = "mine" }), true},
		"another worker":    {other, complete, true},
		"another queue":     {s, with(func(s *queue.Settlement) { s.Queue = "p" }), true},
		"popped since":      {s, with(func(s *queue.Settlement) { s.Popped-- }), true},
		"unknown action":    {s, with(func(s *queue.Settlement) { s.Action = "explode" }), false},
		"data is not JSON":  {s, with(func(s *queue.Settlement) { s.Data = []byte("{") }), false},
		"record too large":  {s, with(func(s *queue.Settlement) { s.Record = bytes.Repeat([]byte("x"), 65537) }), false},
		"release, too late": {s, with(func(s *queue.Settlement) { s.Action, s.Popped, s.Counter = queue.Release, 1, queue.CountCrash }), true},
	} {
		r := must(test.session.Exchange(ctx, []queue.Settlement{test.settlement}, queue.Take{}))(t).Results[0]
		never(t, r.Err == nil || errors.Is(r.Err, queue.ErrLockLost) != test.lost, "%s: %+v", name, r)
	}
	if renewed := must(s.Renew(ctx, []queue.RenewItem{{JID: "mine", Queue: "q"}, {JID: job.JID, Queue: "q", Popped: 1}}))(t); !errors.Is(renewed[0].Err, queue.ErrLockLost) || !errors.Is(renewed[1].Err, queue.ErrLockLost) {
		t.Errorf("renewed %+v", renewed)
	}
	equal(t, "keys", snapshot(t, raw), before)

	// One bad settlement does not harm the others, and a job is settled once only.
	results := must(s.Exchange(ctx, []queue.Settlement{with(func(s *queue.Settlement) { s.JID = "nobody" }), complete, complete}, queue.Take{}))(t).Results
	if results[0].Err == nil || results[1].Err != nil || results[1].State != "complete" || !errors.Is(results[2].Err, queue.ErrLockLost) {
		t.Errorf("settled %+v", results)
	}
}

// snapshot is the content of a database: every key's serialised value.
func snapshot(t *testing.T, raw *redis.Client) map[string]string {
	t.Helper()
	keys := make(map[string]string)
	for _, key := range must(raw.Keys(t.Context(), "*").Result())(t) {
		keys[key] = must(raw.Dump(t.Context(), key).Result())(t)
	}
	return keys
}

func TestPutsOfASettlement(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ctx, s := t.Context(), session(t, c, "w")
		putAll(t, c, queue.Put{Queue: "q", JID: "j", Klass: "K"})
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		settlement := queue.Settlement{Action: queue.Complete, Puts: []queue.Put{
			{Queue: "q2", JID: "good", Klass: "K"},
			{Queue: "q2", JID: "bad", Klass: "K", Data: []byte("{")},
			{Queue: "q2", JID: "worse", Klass: "K", Priority: ptr(inf())},
			{Queue: "q2", Klass: "K"},
		}}
		r := settle(t, s, reply.Jobs[0], settlement)
		if r.Err != nil || len(r.Puts) != 4 || r.Puts[0].Err != nil || r.Puts[1].Err == nil || r.Puts[2].Err == nil || r.Puts[3].Err != nil {
			t.Fatalf("settled %+v", r)
		}
		equal(t, "in the other queue", must(c.Length(ctx, "q2"))(t), 2)
		if r := settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete, Puts: []queue.Put{{Queue: "q3", Klass: "K"}}}); !errors.Is(r.Err, queue.ErrLockLost) {
			t.Errorf("settled twice: %+v", r)
		}
		equal(t, "put by a refused settlement", must(c.Length(ctx, "q3"))(t), 0)
	})
}

func TestOnlyNewPutsOnce(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		p := queue.Put{Queue: "q", JID: "j", Klass: "K", IfExists: queue.Never}
		putAll(t, c, p)
		results := must(c.PutAll(t.Context(), []queue.Put{p, {Queue: "q", JID: "k", Klass: "K"}}))(t)
		equal(t, "results", results, []queue.PutResult{{JID: "j", Existed: true, State: "waiting"}, {JID: "k"}})
		if _, err := c.Put(t.Context(), p); queue.Class(err) != queue.Refused {
			t.Errorf("a second put: %v", err)
		}
		equal(t, "history", len(must(c.Get(t.Context(), "j"))(t).History), 1)
	})
}

func TestSweepGivesExpiredJobsBack(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx, s, raw := t.Context(), session(t, c, "w"), c.Redis()
		ok(t, c.Set(ctx, "grace-period", "0"))
		putAll(t, c, queue.Put{Queue: "q", JID: "j", Klass: "K", Retries: ptr(1)}, queue.Put{Queue: "q", JID: "last", Klass: "K", Retries: ptr(0)})
		_, jids := take(t, s, queue.Take{Queues: []string{"q"}, Count: 2})
		equal(t, "taken", len(jids), 2)
		runOut(t, c, jids...)
		equal(t, "swept", must(c.Sweep(ctx, []string{"empty", "q"}, 10))(t).Back, 1)
		job := must(c.Get(ctx, "j"))(t)
		equal(t, "given back", fmt.Sprint(job.State, job.Worker, job.Remaining, job.Expires), "stalled0 0")
		equal(t, "place", raw.ZScore(ctx, "ql:q:q-work", "j").Val(), inf())
		equal(t, "exhausted", must(c.Get(ctx, "last"))(t).State, "failed")
		equal(t, "locks", raw.ZCard(ctx, "ql:q:q-locks").Val()+raw.ZCard(ctx, "ql:w:w:jobs").Val(), 0)
		equal(t, "swept", must(c.Sweep(ctx, []string{"q"}, 10))(t).Back, 0)
	})
}

// One key that is no job does not hide the jobs beside it.
func TestHeldPassesOverWhatIsNoJob(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx, s := t.Context(), session(t, c, "w")
		putAll(t, c, queue.Put{Queue: "q", JID: "a", Klass: "K"}, queue.Put{Queue: "q", JID: "b", Klass: "K"})
		take(t, s, queue.Take{Queues: []string{"q"}, Count: 2})
		c.Redis().Del(ctx, "ql:j:a")
		c.Redis().RPush(ctx, "ql:j:a", "not a hash")
		held := must(s.Held(ctx, []string{"q"}))(t)
		never(t, len(held) != 1 || held[0].JID != "b", "held %+v; want b alone", held)
	})
}

func TestHeldFindsJobsThatLeftTheWorkersSet(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx, s := t.Context(), session(t, c, "w")
		putAll(t, c, queue.Put{Queue: "q", JID: "a", Klass: "K"}, queue.Put{Queue: "q", JID: "b", Klass: "K"})
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 2})
		// The courtesy notice takes a job off the worker's set, long before it is taken away.
		c.Redis().ZRem(ctx, "ql:w:w:jobs", "a")
		c.Redis().ZAdd(ctx, "ql:q:q-locks", redis.Z{Score: c.Now() + 5, Member: "a"})
		held := must(s.Held(ctx, []string{"q"}))(t)
		equal(t, "held", len(held), 2)
		for _, job := range held {
			never(t, job.Popped != reply.Now || job.Klass != "K" || job.Queue != "q" || job.Expires <= job.Popped, "held %+v", job)
		}
		equal(t, "held by another", len(must(session(t, c, "x").Held(ctx, []string{"q"}))(t)), 0)
		resolutions := must(s.Resolve(ctx, []queue.Settlement{
			{JID: "a", Popped: reply.Now}, {JID: "b", Popped: reply.Now - 1}, {JID: "nobody"}}))(t)
		equal(t, "resolutions", resolutions, []queue.Resolution{queue.NotRun, queue.Took, queue.Gone})
	})
}

// TestNeeds: who does not know all that a key space needs settles and renews what it has, and takes nothing, until the word is gone.
func TestNeeds(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		keyed(t, c, "k", "a", "b")
		keyed(t, c, "other", "c")
		words := must(c.Needs(t.Context()))(t)
		equal(t, "needs", words, []string{queue.NeedKeys})
		s := session(t, c, "w")
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		runs := reply.Jobs[0]
		ok(t, c.Redis().SAdd(t.Context(), "ql:oarlock:needs", "shards", "a\nb").Err())
		words = must(c.Needs(t.Context()))(t)
		equal(t, "unknown", queue.Unknown(words), []string{"a\nb", "shards"})

		renewed, err := s.Renew(t.Context(), []queue.RenewItem{{JID: runs.JID, Queue: "q", Popped: runs.Popped}})
		never(t, err != nil || renewed[0].Err != nil, "renewed %+v, %v", renewed, err)
		reply, err = s.Exchange(t.Context(), []queue.Settlement{{JID: runs.JID, Queue: "q", Popped: runs.Popped, Action: queue.Complete}}, queue.Take{Queues: []string{"q"}, Count: 3})
		ok(t, err)
		if len(reply.Jobs) > 0 || reply.Results[0].Err != nil || len(reply.Broken) != 1 || reply.Broken[0].Lacks() == "" {
			t.Errorf("settled as %+v, took %+v, left out %+v", reply.Results, reply.Jobs, reply.Broken)
		}
		looks, _, err := c.Outlook(t.Context(), []string{"q", "none"})
		ok(t, err)
		never(t, looks[0].Lacks() == "" || looks[0].Ready != 2 || looks[1].Lacks() == "" || looks[1].Ready != 0, "the outlook is %+v", looks)
		ok(t, c.Unneed(t.Context(), "shards", "a\nb"))
		if reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 3}); len(reply.Jobs) != 2 {
			t.Errorf("when the words are gone took %+v", reply.Jobs)
		}
	})
}

// TestLocksOfAnySetting sets heartbeat to what any client may write, and looks at how long our
// commands lock by it.
func TestLocksOfAnySetting(t *testing.T) {
	const month = 30 * 86400
	c, ctx := fresh(t), t.Context()
	s := session(t, c, "w")
	for value, want := range map[string]float64{
		"0": 1, "-5": 1, "0.01": 1, "1": 1, "60": 60, "2.5": 2.5, "1e15": month, "1e300": month, "inf": 60, "nan": 60, "banana": 60, "": 60,
	} {
		for _, setting := range []string{"heartbeat", "q-heartbeat"} {
			ok(t, c.Redis().Del(ctx, "ql:config").Err())
			ok(t, c.Set(ctx, setting, value))
			putAll(t, c, queue.Put{Queue: "q", JID: "j", Klass: "K"})
			reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
			if lock := reply.Jobs[0].Expires - reply.Now; math.Abs(lock-want) > 1e-3 {
				t.Errorf("%s %q: taken for %v s, want %v", setting, value, lock, want)
			}
			before := c.Now()
			renewed := must(s.Renew(ctx, []queue.RenewItem{{JID: "j", Queue: "q", Popped: reply.Jobs[0].Popped}}))(t)
			if lock := renewed[0].Expires - before; lock < want-1e-3 || lock > want+5 {
				t.Errorf("%s %q: renewed for %v s, want %v", setting, value, lock, want)
			}
		}
	}
}

// TestOddSettings looks at what is said of settings out of their bounds.
func TestOddSettings(t *testing.T) {
	c, ctx := fresh(t), t.Context()
	for _, fine := range [][2]string{
		{"heartbeat", "30"}, {"grace-period", "0"}, {"jobs-history", "31536000000"}, {"max-job-history", "0"},
		{"application", "banana"}, {"mine", "-5"}, {"q-max-concurrency", "0"},
	} {
		ok(t, c.Set(ctx, fine[0], fine[1]))
	}
	equal(t, "odd settings", len(must(c.OddSettings(ctx))(t)), 0)
	ok(t, c.Set(ctx, "heartbeat", "banana"))
	ok(t, c.Set(ctx, "mail-heartbeat", "1e300"))
	ok(t, c.Set(ctx, "grace-period", "-1"))
	equal(t, "odd settings", fmt.Sprint(must(c.OddSettings(ctx))(t)), fmt.Sprint([]string{
		"grace-period is -1, and must be from 0 to 2592000; 0 is used", `heartbeat is "banana", no number; 60 is used`,
		"mail-heartbeat is 1e300, and must be from 1 to 2592000; 2592000 is used",
	}))
}

func TestDuration(t *testing.T) {
	for seconds, want := range map[float64]time.Duration{0: 0, 1.5: 1500 * time.Millisecond, -2: -2 * time.Second} {
		equal(t, "duration", queue.Duration(seconds), want)
	}
	for _, absurd := range []float64{1e10, 1e19, 1e300, math.Inf(1), math.NaN()} {
		if d := queue.Duration(absurd); d < 99*365*24*time.Hour || d+d < d {
			t.Errorf("%v s are %v", absurd, d)
		}
	}
	if d := queue.Duration(-1e300); d >= 0 {
		t.Errorf("-1e300 s are %v", d)
	}
}
