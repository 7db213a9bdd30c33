package queue_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/queue"
)

// merged puts payloads of a key into q, each with its score, one call each, and returns what became of each.
func merged(t *testing.T, c *queue.Client, key string, payloads ...any) (jids []string, words []queue.Merged) {
	t.Helper()
	for i := 0; i < len(payloads); i += 2 {
		score := float64(payloads[i+1].(int))
		results := must(c.PutAll(t.Context(), []queue.Put{{Queue: "q", Klass: "K", Key: key, Data: []byte(payloads[i].(string)), Score: &score}}))(t)
		ok(t, results[0].Err)
		jids, words = append(jids, results[0].JID), append(words, results[0].Merged)
	}
	return jids, words
}

// merging says how a queue q merges.
func merging(t *testing.T, c *queue.Client, o queue.KeyOrder) {
	t.Helper()
	o.Queue = "q"
	must(c.SetKeyOrder(t.Context(), queue.OrderFile{Owner: "test", Orders: []queue.KeyOrder{o}}, queue.KeepOrders))(t)
}

// runs takes all that can be taken from q, as data and scores of each.
func runs(t *testing.T, s *queue.Session) (jobs []queue.Taken, told []string) {
	t.Helper()
	reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 10})
	for _, job := range reply.Jobs {
		never(t, job.Damage != "", "%s is damaged: %s", job.JID, job.Damage)
		if int64(len(job.Data)) != job.Size {
			t.Errorf("%s has %d bytes, and is said to have %d", job.Data, len(job.Data), job.Size)
		}
		told = append(told, fmt.Sprintf("%s %v", job.Data, job.Scores))
	}
	return reply.Jobs, told
}

// TestPutsMerge puts equal and other payloads in each of the ways: what becomes of each, and what a child is given.
func TestPutsMerge(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		long := `"` + strings.Repeat("x", 50) + `"`
		for _, tt := range []struct {
			order    queue.KeyOrder
			payloads []any
			words    string
			told     string
		}{
			{queue.KeyOrder{Merge: queue.MergeAll}, []any{`1`, 3, `1`, 2, `2`, 3}, "[ merged merged]", "[[1,1,2] [2 3 3]]"},
			{queue.KeyOrder{Merge: queue.MergeSet}, []any{`1`, 3, `1`, 2, `2`, 3, `2`, 1, long, 4, long, 5}, "[ equal merged equal merged equal]", "[[1,2," + long + "] [3 3 4]]"},
			{queue.KeyOrder{Merge: queue.MergeSet, Score: "min"}, []any{`1`, 3, `1`, 2, `2`, 3, `2`, 1}, "[ equal merged equal]", "[[2,1] [1 2]]"},
			{queue.KeyOrder{Merge: queue.MergeSet, Score: "max"}, []any{`1`, 3, `2`, 3, `1`, 4, `2`, 1}, "[ merged equal equal]", "[[2,1] [3 4]]"},
			{queue.KeyOrder{Merge: queue.MergeLast}, []any{`1`, 3, `2`, 3, `3`, 1}, "[ replaced kept]", "[2 [3]]"},
			{queue.KeyOrder{Merge: queue.MergeFirst}, []any{`1`, 3, `2`, 5}, "[ kept]", "[1 [3]]"},
			{queue.KeyOrder{Merge: queue.MergeAll, RunPayloads: 2}, []any{`1`, 1, `2`, 2, `3`, 3, `4`, 4}, "[ merged  merged]", "[[1,2] [1 2]]"},
			{queue.KeyOrder{Merge: queue.MergeAll, RunBytes: 10}, []any{`"abc"`, 1, `12`, 2, `3`, 3, `"too long for any"`, 4}, "[ merged  ]", `[["abc",12] [1 2]]`},
			{queue.KeyOrder{}, []any{`1`, 1, `1`, 1}, "[ ]", "[1 []]"},
		} {
			ok(t, c.Redis().FlushDB(t.Context()).Err())
			merging(t, c, tt.order)
			jids, words := merged(t, c, "k", tt.payloads...)
			for i, word := range words {
				never(t, word != "" && jids[i] != jids[0] && jids[i] != jids[max(0, i-1)], "%+v: payload %d went to %s", tt.order, i, jids[i])
			}
			jobs, told := runs(t, s)
			if fmt.Sprint(words) != tt.words || fmt.Sprint(told) != tt.told {
				t.Errorf("%+v: %v became %q, and was given as %s", tt.order, tt.payloads, words, told)
			}
			never(t, settle(t, s, jobs[0], queue.Settlement{Action: queue.Complete}).State != "complete", "%+v: not complete", tt.order)
		}
	})
}

// TestMergingRunsAsLowkiqs plays the vectors of lowkiq's rules. A count is retries less those that remain, less one.
func TestMergingRunsAsLowkiqs(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		begin := func(payloads ...any) []string {
			ok(t, c.Redis().FlushDB(t.Context()).Err())
			merging(t, c, queue.KeyOrder{Merge: queue.MergeSet})
			jids, _ := merged(t, c, "k", payloads...)
			return jids
		}
		one := func(t *testing.T, want string) queue.Taken {
			t.Helper()
			jobs, told := runs(t, s)
			stop(t, len(jobs) != 1 || told[0] != want, "took %s, want %s", told, want)
			return jobs[0]
		}
		none := func(t *testing.T) {
			t.Helper()
			if _, told := runs(t, s); len(told) > 0 {
				t.Fatalf("took %s", told)
			}
		}
		count := func(t *testing.T, job queue.Taken, want int) {
			t.Helper()
			if got := job.Retries - job.Remaining - 1; got != want || job.Retries != 25 {
				t.Errorf("%s has count %d of %d retries, want %d of 25", job.JID, got, job.Retries, want)
			}
		}

		t.Run("L6", func(t *testing.T) { // what comes while one runs is one run
			begin(`0`, 0)
			running := one(t, "[0] [0]")
			merged(t, c, "k", `1`, 1, `2`, 2, `3`, 3)
			none(t)
			settle(t, s, running, queue.Settlement{Action: queue.Complete})
			one(t, "[1,2,3] [1 2 3]")
			none(t)
		})
		t.Run("L14", func(t *testing.T) { // {v1:1, v2:2} and {v2:3, v3:4}
			begin(`"v1"`, 1, `"v2"`, 2, `"v2"`, 3, `"v3"`, 4)
			one(t, `["v1","v2","v3"] [1 2 4]`)
		})
		t.Run("L15", func(t *testing.T) { // one that waits to be tried again keeps count and time
			begin(`1`, 1)
			settle(t, s, one(t, "[1] [1]"), queue.Settlement{Action: queue.Retry, Delay: time.Hour})
			before := must(c.Get(t.Context(), turnOf(t, c).Holder))(t)
			if _, words := merged(t, c, "k", `2`, 2); words[0] != queue.MergedIn {
				t.Errorf("put %q", words)
			}
			after := must(c.Get(t.Context(), before.JID))(t)
			if after.Remaining != 24 || after.Moment != before.Moment || after.State != "scheduled" || after.Mark != before.Mark {
				t.Errorf("%+v became %+v", before, after)
			}
		})
		t.Run("L16", func(t *testing.T) { // what waits behind one that fails is tried with it
			begin(`"a"`, 1)
			running := one(t, `["a"] [1]`)
			waiting, _ := merged(t, c, "k", `"b"`, 2)
			r := settle(t, s, running, queue.Settlement{Action: queue.Retry, Delay: time.Hour})
			never(t, r.State != "scheduled" || r.Remaining != 24, "retried: %+v", r)
			if turn := turnOf(t, c); turn != (queue.Turn{Holder: running.JID}) {
				t.Errorf("the turn is %+v", turn)
			}
			if n := c.Redis().Exists(t.Context(), "ql:j:"+waiting[0], "ql:j:"+waiting[0]+"-history").Val(); n != 0 {
				t.Error("the job that waited is there")
			}
			now(t, c, running.JID)
			again := one(t, `["a","b"] [1 2]`)
			count(t, again, 0)
			never(t, again.JID != running.JID, "%s has both", again.JID)
		})
		t.Run("L17", func(t *testing.T) { // a dead one that is brought back is tried with what waits, at once
			begin(`"a"`, 1)
			dead := one(t, `["a"] [1]`)
			settle(t, s, dead, queue.Settlement{Action: queue.Fail, Group: "g", Message: "m"})
			waiting, _ := merged(t, c, "k", `"b"`, 2)
			for range 3 {
				settle(t, s, one(t, `["b"] [2]`), queue.Settlement{Action: queue.Retry, Delay: time.Hour})
				if now(t, c, waiting[0]); t.Failed() {
					return
				}
			}
			settle(t, s, one(t, `["b"] [2]`), queue.Settlement{Action: queue.Retry, Delay: time.Hour})
			results := must(c.Amend(t.Context(), []queue.Amendment{must(c.Get(t.Context(), dead.JID))(t).Amend(queue.AmendRetry)}))(t)
			never(t, results[0].Err != nil || results[0].Into != waiting[0], "brought back: %+v", results)
			both := one(t, `["a","b"] [1 2]`)
			count(t, both, -1)
			if groups := must(c.FailedGroups(t.Context()))(t); len(groups) > 0 {
				t.Errorf("there are failed jobs: %v", groups)
			}
		})
		t.Run("L13", func(t *testing.T) { // one out of retries loses its oldest payload only
			begin()
			retries := 1
			for i, data := range []string{`"a"`, `"b"`, `"c"`} {
				score := float64(i)
				_, err := c.PutAll(t.Context(), []queue.Put{{Queue: "q", Klass: "K", Key: "k", Data: []byte(data), Score: &score, Retries: &retries, Tags: []string{"t"}}})
				ok(t, err)
			}
			job := one(t, `["a","b","c"] [0 1 2]`)
			settle(t, s, job, queue.Settlement{Action: queue.Retry, Group: "g", Message: "m"})
			r := settle(t, s, one(t, `["a","b","c"] [0 1 2]`), queue.Settlement{Action: queue.Retry, Group: "g", Message: "m", Record: []byte(`{"r":1}`)})
			never(t, r.Part != job.JID+".1" || r.State != "waiting" || r.Remaining != 1, "settled: %+v", r)
			dead := must(c.Get(t.Context(), r.Part))(t)
			if dead.State != "failed" || dead.Failure.Group != "g" || dead.Failure.Message != "m" || string(dead.Data) != `["a"]` || string(dead.Kept.Record) != `{"r":1}` || !slices.Equal(dead.Tags, []string{"t"}) {
				t.Errorf("the dead payload is %+v", dead)
			}
			again := one(t, `["b","c"] [1 2]`)
			never(t, again.Remaining != 1, "the others have %d retries", again.Remaining)
			die := func(job queue.Taken) queue.SettleResult {
				return settle(t, s, job, queue.Settlement{Action: queue.Retry, Group: "g", Message: "m"})
			}
			die(again)
			if r := die(one(t, `["b","c"] [1 2]`)); r.Part != job.JID+".2" {
				t.Errorf("settled: %+v", r)
			}
			die(one(t, `["c"] [2]`))
			if r := die(one(t, `["c"] [2]`)); r.State != "failed" || r.Part != "" { // one payload left: the job itself
				t.Errorf("the last payload: %+v", r)
			}
			if groups := must(c.FailedGroups(t.Context()))(t); groups["g"] != 3 {
				t.Errorf("failed: %v", groups)
			}
			none(t)
		})
	})
}

// turnOf is the turn of the key k in q.
func turnOf(t *testing.T, c *queue.Client) queue.Turn {
	t.Helper()
	lines := must(c.KeyLines(t.Context(), "q", []string{"k"}))(t)
	return lines[0].Turn
}

// now lets a delayed job wait no longer.
func now(t *testing.T, c *queue.Client, jid string) {
	t.Helper()
	results := must(c.Amend(t.Context(), []queue.Amendment{must(c.Get(t.Context(), jid))(t).Amend(queue.AmendNow)}))(t)
	ok(t, results[0].Err)
}

// TestMergesThatAreNone are refused with a sentence.
func TestMergesThatAreNone(t *testing.T) {
	c := fresh(t)
	nan := math.NaN()
	for says, p := range map[string]queue.Put{
		"merge needs a key": {Merge: queue.MergeAll},
		"score needs a key": {Score: new(float64)},
		`merge must be none, all, last, first or set: "sum"`: {Key: "k", Merge: "sum"},
		"score must be a finite number: NaN":                 {Key: "k", Score: &nan},
		"merge and a jid exclude each other":                 {Key: "k", Merge: queue.MergeSet, JID: "j"},
	} {
		p.Queue, p.Klass = "q", "K"
		if _, err := c.Put(t.Context(), p); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %s", p, err, says)
		}
	}
	if keys := c.Redis().Keys(t.Context(), "ql:*").Val(); len(keys) > 0 {
		t.Errorf("a refused put has left %q", keys)
	}
}

// TestRunsBesideOtherClients pops, completes, cancels and prunes a run as a client does that reads its first payload only.
func TestRunsBesideOtherClients(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		begin := func() string {
			ok(t, c.Redis().FlushDB(t.Context()).Err())
			merging(t, c, queue.KeyOrder{Merge: queue.MergeAll})
			jids, _ := merged(t, c, "k", `1`, 3, `2`, 1, `3`, 2)
			return jids[0]
		}
		jid := begin()
		jobs := must(c.Pop(t.Context(), "q", "foreign", 1))(t)
		stop(t, len(jobs) != 1 || string(jobs[0].Data) != "[1]", "popped %+v, want the first payload", jobs)
		ok(t, c.Complete(t.Context(), jid, "foreign", "q", []byte(`{}`)))
		rest, told := runs(t, s)
		never(t, fmt.Sprint(told) != "[[2,3] [1 2]]" || rest[0].JID != jid+".1" || rest[0].Key != "k", "the others are %s, %+v", told, rest)
		if r := settle(t, s, rest[0], queue.Settlement{Action: queue.Complete}); r.State != "complete" {
			t.Errorf("settled: %+v", r)
		}
		if _, told := runs(t, s); len(told) > 0 {
			t.Errorf("there is more: %s", told)
		}

		// One that knows no keys leaves the turn behind, too: the look makes a job of the others.
		jid = begin()
		_ = must(c.Pop(t.Context(), "q", "foreign", 1))(t)
		ok(t, c.Redis().HSet(t.Context(), "ql:j:"+jid, "state", "complete", "queue", "", "worker", "").Err())
		ok(t, c.Redis().ZRem(t.Context(), "ql:q:q-locks", jid).Err())
		for range 2 {
			must(c.Tend(t.Context(), []string{"q"}, nil, 0))(t)
		}
		if _, told := runs(t, s); fmt.Sprint(told) != "[[2,3] [1 2]]" {
			t.Errorf("the look made %s of the others", told)
		}

		jid = begin()
		ok(t, c.Cancel(t.Context(), jid))
		if left := c.Redis().Keys(t.Context(), "ql:j:*").Val(); len(left) > 0 {
			t.Errorf("after the cancel there is %q", left)
		}
	})
}

// TestWhatDoesNotMerge makes jobs of their own: what differs from the job that waits, and what that has no room for.
func TestWhatDoesNotMerge(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		put := func(p queue.Put) queue.PutResult {
			p.Queue, p.Klass, p.Key = "q", p.Klass+"K", "k"
			return must(c.PutAll(t.Context(), []queue.Put{p}))(t)[0]
		}
		for what, p := range map[string]queue.Put{
			"class": {Klass: "Other"}, "mode": {Merge: queue.MergeAll}, "none": {Merge: queue.MergeNone}, "correlation": {Correlation: "c"},
			"depends": {Depends: []string{"nobody"}}, "throttles": {Throttles: []string{"t"}}, "jid": {JID: "mine"},
		} {
			ok(t, c.Redis().FlushDB(t.Context()).Err())
			merging(t, c, queue.KeyOrder{Merge: queue.MergeSet})
			put(queue.Put{})
			if r := put(p); r.Err != nil || r.Merged != "" {
				t.Errorf("%s: %+v", what, r)
			}
		}
		ok(t, c.Redis().FlushDB(t.Context()).Err())
		merging(t, c, queue.KeyOrder{Merge: queue.MergeSet})
		first := put(queue.Put{Data: []byte("1")})
		jobs, _ := runs(t, s)
		settle(t, s, jobs[0], queue.Settlement{Action: queue.Retry, Checkpoint: []byte(`{}`)})
		if r := put(queue.Put{Data: []byte("2")}); r.Merged != "" {
			t.Errorf("into a job with a checkpoint: %+v", r)
		}
		if r := put(queue.Put{Data: []byte("3")}); r.Merged != queue.MergedIn || r.JID == first.JID {
			t.Errorf("into the one behind it: %+v", r)
		}

		// A delayed put waits with the turn, so that later ones find it; behind another it keeps its time.
		ok(t, c.Redis().FlushDB(t.Context()).Err())
		merging(t, c, queue.KeyOrder{Merge: queue.MergeLast})
		late := put(queue.Put{Data: []byte("1"), Delay: time.Hour})
		if r := put(queue.Put{Data: []byte("2")}); r.Merged != queue.MergedReplaced || r.JID != late.JID {
			t.Errorf("into a delayed job: %+v", r)
		}
		now(t, c, late.JID)
		jobs, _ = runs(t, s)
		behind := put(queue.Put{Data: []byte("3"), Delay: time.Hour})
		settle(t, s, jobs[0], queue.Settlement{Action: queue.Complete})
		if job := must(c.Get(t.Context(), behind.JID))(t); job.Row != "scheduled" || job.Moment < c.Now()+3000 {
			t.Errorf("behind, and delayed: %+v", job)
		}
	})
}

// TestPayloadsGoOnWithoutTheirKey gives the next queue all of a list of which the key was given up, while it waits and while it runs.
func TestPayloadsGoOnWithoutTheirKey(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		for _, when := range []string{"waits", "runs"} {
			merging(t, c, queue.KeyOrder{Merge: queue.MergeSet})
			merged(t, c, "k", `1`, 2, `2`, 1)
			free := func() {
				must(c.FreeKeys(t.Context(), "q"))(t)
			}
			if when == "waits" {
				free()
			}
			jobs, _ := runs(t, s)
			if when == "runs" {
				free()
			}
			settle(t, s, jobs[0], queue.Settlement{Action: queue.Complete, Next: "next"})
			reply, _ := take(t, s, queue.Take{Queues: []string{"next"}, Count: 1})
			if job := reply.Jobs[0]; string(job.Data) != "[2,1]" || job.Merge != "" {
				t.Errorf("freed while it %s: the next queue has %s of %+v", when, job.Data, job)
			}
			settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete})
		}
	})
}

// TestACompleteJobRunsAgainWithAllItsPayloads moves what is complete into its queue and into another; what a client that knew of the
// first payload only has ended is as that left it, as the others are a job of their own.
func TestACompleteJobRunsAgainWithAllItsPayloads(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		move := func(jid, to string) {
			ok(t, amend(t, c, must(c.Get(t.Context(), jid))(t), queue.Amendment{Change: queue.AmendMove, Queue: to}))
		}
		for _, to := range []string{"q", "other"} {
			merging(t, c, queue.KeyOrder{Merge: queue.MergeAll})
			jids, _ := merged(t, c, "k", `1`, 3, `2`, 1)
			jobs, _ := runs(t, s)
			settle(t, s, jobs[0], queue.Settlement{Action: queue.Complete})
			move(jids[0], to)
			reply, _ := take(t, s, queue.Take{Queues: []string{to}, Count: 1})
			if job := reply.Jobs[0]; string(job.Data) != "[2,1]" || fmt.Sprint(job.Scores) != "[1 3]" || job.Merge != queue.MergeAll {
				t.Errorf("moved into %s it has %s of %+v", to, job.Data, job)
			}
			settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete})
		}

		// A client that sees the first payload only moves it by a put of what it sees.
		for _, command := range []string{"put", "requeue"} {
			for _, of := range []string{"complete", "waiting", "failed"} {
				for _, to := range []string{"q", "other"} {
					merging(t, c, queue.KeyOrder{Merge: queue.MergeAll})
					jids, _ := merged(t, c, "k", `{"n": 1}`, 3, `{"n": 2}`, 1)
					if of != "waiting" {
						jobs, _ := runs(t, s)
						settle(t, s, jobs[0], queue.Settlement{Action: map[string]queue.Action{"complete": queue.Complete, "failed": queue.Fail}[of], Group: "g"})
					}
					must(queue.Protocol(queue.Qless).Run(t.Context(), c.Redis(), nil, command, c.Now(), "w", to, jids[0], "K", `[{"n":1}]`, 0).Result())(t)
					reply, _ := take(t, s, queue.Take{Queues: []string{to}, Count: 1})
					if job := reply.Jobs[0]; string(job.Data) != `[{"n": 2},{"n": 1}]` {
						t.Errorf("%s, and moved into %s by a %s of another client it has %s of %+v", of, to, command, job.Data, job)
					}
					settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete})
				}
			}
		}

		merging(t, c, queue.KeyOrder{Merge: queue.MergeAll})
		jids, _ := merged(t, c, "k", `1`, 3, `2`, 1)
		_ = must(c.Pop(t.Context(), "q", "foreign", 1))(t)
		ok(t, c.Complete(t.Context(), jids[0], "foreign", "q", []byte(`{}`)))
		move(jids[0], "other")
		reply, _ := take(t, s, queue.Take{Queues: []string{"other"}, Count: 1})
		if job := reply.Jobs[0]; string(job.Data) != "{}" || job.Merge != "" {
			t.Errorf("ended by who knew of the first only it has %s of %+v", job.Data, job)
		}
		if _, told := runs(t, s); fmt.Sprint(told) != "[[2] [1]]" {
			t.Errorf("the others are %s", told)
		}
	})
}

// TestAListOfPayloadsIsOnlyAddedTo refuses new data for it, and gives the next queue all of it.
func TestAListOfPayloadsIsOnlyAddedTo(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		merging(t, c, queue.KeyOrder{Merge: queue.MergeAll})
		jids, _ := merged(t, c, "k", `1`, 2, `2`, 1)
		jobs, _ := runs(t, s)
		if r := settle(t, s, jobs[0], queue.Settlement{Action: queue.Retry, Data: []byte("[2]")}); r.Err == nil || !strings.Contains(r.Err.Error(), "list of payloads") {
			t.Errorf("retried with other data: %+v", r)
		}
		if r := settle(t, s, jobs[0], queue.Settlement{Action: queue.Complete, Next: "next"}); r.State != "waiting" {
			t.Errorf("goes on: %+v", r)
		}
		reply, _ := take(t, s, queue.Take{Queues: []string{"next"}, Count: 1})
		if job := reply.Jobs[0]; job.JID != jids[0] || string(job.Data) != "[2,1]" || job.Merge != "" {
			t.Errorf("the next queue has %+v", job)
		}
	})
}

// put calls put of the unified script, as a client of the protocol does, with options.
func unifiedPut(t *testing.T, c *queue.Client, dialect queue.Dialect, jid, data string, delay any, options ...any) (string, error) {
	t.Helper()
	word := map[queue.Dialect]string{queue.Qless: "put", queue.Reqless: "queue.put"}[dialect]
	args := append([]any{word, c.Now(), "w", "q", jid, "K", data, delay}, options...)
	return queue.Protocol(dialect).Run(t.Context(), c.Redis(), nil, args...).Text()
}

// TestOtherClientsPutWhatMerges puts by the protocol's own command: the reply is the jid of the job that has the data, and what is wrong is one sentence
// and changes nothing.
func TestOtherClientsPutWhatMerges(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		for _, dialect := range []queue.Dialect{queue.Qless, queue.Reqless} {
			ok(t, c.Redis().FlushDB(t.Context()).Err())
			s := session(t, c, "w")
			put := func(jid, data string, options ...any) string {
				t.Helper()
				got := must(unifiedPut(t, c, dialect, jid, data, 0, options...))(t)
				return got
			}
			all := []any{"key", "k 1", "merge", "all"}
			into := []string{
				put("a", "1", append(all, "score", 5)...), put("b", "2", append(all, "score", 4)...), put("c", "3", all...), put("c", "3", all...), // that again: its answer was lost
				put("d", "4", "key", "k 1"), put("e", "5", all...), put("e", "5", all...), // d is no run: e is one, behind it
			}
			equal(t, string(dialect)+" put", into, []string{"a", "a", "a", "a", "d", "e", "e"})
			var told []string
			for range 3 {
				jobs, some := runs(t, s)
				told = append(told, some...)
				for _, job := range jobs {
					settle(t, s, job, queue.Settlement{Action: queue.Complete})
				}
			}
			if len(told) != 3 || !strings.HasPrefix(told[0], "[2,1,3] [4 5 ") || told[1] != "4 []" || !strings.HasPrefix(told[2], "[5] [") {
				t.Errorf("%s: given were %q", dialect, told)
			}

			before := c.Redis().Keys(t.Context(), "ql:*").Val()
			for says, options := range map[string][]any{
				"merge needs a key": {"merge", "all"},
				"score needs merge": {"score", "1", "key", "k"},
				`merge must be none, all, last, first or set: sum`: {"key", "k", "merge", "sum"},
				`score must be a finite number: nan`:               {"key", "k", "merge", "all", "score", "nan"},
				"key must have 1 to 512 bytes":                     {"key", "", "merge", "all"},
				`merge needs a jid that no job has: a is complete`: {"key", "k", "merge", "all"},
			} {
				jid := "x"
				if strings.Contains(says, "jid") {
					jid = "a"
				}
				if _, err := unifiedPut(t, c, dialect, jid, "{}", 0, options...); err == nil || !strings.Contains(err.Error(), "Put(): "+says) {
					t.Errorf("%s %v: %v, want %s", dialect, options, err, says)
				}
			}
			if after := c.Redis().Keys(t.Context(), "ql:*").Val(); len(after) != len(before) {
				t.Errorf("refused puts have left %q, where %q was", after, before)
			}
			// A run that is over, and is put again by who knows nothing of it, is a job as any other.
			put("a", `{"anew":1}`)
			if jobs, _ := runs(t, s); len(jobs) != 1 || jobs[0].Merge != "" || string(jobs[0].Data) != `{"anew":1}` {
				t.Errorf("%s: put anew, given was %+v", dialect, jobs)
			}
		}
	})
}

// TestOtherClientsPutDelayedWhatMerges: it has the turn at once, so that what is put meanwhile finds it.
func TestOtherClientsPutDelayedWhatMerges(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		must(unifiedPut(t, c, queue.Qless, "late", `"old"`, 3600, "key", "k", "merge", "last"))(t)
		equal(t, "merged into", must(unifiedPut(t, c, queue.Qless, "x", `"new"`, 0, "key", "k", "merge", "last"))(t), "late")
		if jobs, _ := runs(t, s); len(jobs) > 0 {
			t.Errorf("given were %+v", jobs)
		}
		now(t, c, "late")
		if _, told := runs(t, s); len(told) != 1 || !strings.HasPrefix(told[0], `"new" [`) {
			t.Errorf("given was %q", told)
		}
	})
}

// TestNothingMergesWhereALimitIsByAValue: a put that would is refused with a sentence, by whomever; what merges not, or is of a class that the
// limit does not concern, is put.
func TestNothingMergesWhereALimitIsByAValue(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		rules := `{"shape":"1","throttles":["region"],"by":{"region":["path","to","region"],"kind":["klass"]},"klass":{"Free":{"bypass":true}}}`
		must(c.InstallRules(t.Context(), "", queue.NewRules{Doc: "{}", Queues: []queue.RuledQueue{{Queue: "q", Rules: rules}},
			Throttles: []queue.RuledThrottle{{Name: "region", Rules: `{"by":["path","to","region"],"each":1}`}}}))(t)
		const says = `: it would merge in queue q, where throttle region counts by /to/region of the data, and a job that merges may have many; name merge none, ` +
			"or let the throttle count by $klass, $queue or $tag:"
		put := func(p queue.Put) error {
			p.Queue, p.Key = "q", "k"
			_, err := c.Put(t.Context(), p)
			return err
		}
		refused := []error{put(queue.Put{Klass: "K", Merge: queue.MergeAll})}
		_, err := unifiedPut(t, c, queue.Qless, "f", "{}", 0, "key", "k", "merge", "all")
		refused = append(refused, err)
		merging(t, c, queue.KeyOrder{Merge: queue.MergeSet})
		for _, err := range append(refused, put(queue.Put{Klass: "K"})) {
			never(t, err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "put: :"), "refused with %v, want %s", err, says)
		}
		ok(t, put(queue.Put{Klass: "K", Merge: queue.MergeNone}))
		ok(t, put(queue.Put{Klass: "Free"}))
		if keys := c.Redis().Keys(t.Context(), "ql:j:*").Val(); len(keys) != 4 { // two jobs and their histories
			t.Errorf("there are %q", keys)
		}
	})
}

// TestRunsOfASchedule have the key of a tag key:, as they are put, and merge where their queue does: with what others put, and with one another.
func TestRunsOfASchedule(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		for _, of := range []struct {
			order queue.KeyOrder
			told  string
		}{
			{queue.KeyOrder{}, `["mine" []]`},
			{queue.KeyOrder{Merge: queue.MergeSet}, `[["mine","ours"] `},
		} {
			ok(t, c.Redis().FlushDB(t.Context()).Err())
			s := session(t, c, "w")
			merging(t, c, of.order)
			must(c.Put(t.Context(), queue.Put{Queue: "q", Klass: "K", Key: "k", Data: []byte(`"mine"`)}))(t)
			d := makeCron(t, c, queue.Cron{Name: "often", Schedule: "@hourly", CronWork: queue.CronWork{Queue: "q", Klass: "K", Data: []byte(`"ours"`), Tags: []string{"key:k"}}}, 2*time.Hour)
			ran := runCron(t, c, d, 2*time.Hour, time.Hour)
			never(t, ran.Put != 2 || ran.Why != "", "%+v: ran %+v", of.order, ran)
			jobs, told := runs(t, s)
			never(t, !strings.HasPrefix(fmt.Sprint(told), of.told), "%+v: given were %s", of.order, told)
			began := 0
			for ; len(jobs) > 0; jobs, _ = runs(t, s) {
				began += len(jobs)
				never(t, len(jobs) > 1, "%+v: side by side are %+v", of.order, jobs)
				settle(t, s, jobs[0], queue.Settlement{Action: queue.Complete})
			}
			if want := map[bool]int{true: 1, false: 3}[of.order.Merge != ""]; began != want {
				t.Errorf("%+v: %d jobs, want %d", of.order, began, want)
			}
		}
	})
}
