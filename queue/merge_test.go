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
		results, err := c.PutAll(t.Context(), []queue.Put{{Queue: "q", Klass: "K", Key: key, Data: []byte(payloads[i].(string)), Score: &score}})
		ok(t, err)
		ok(t, results[0].Err)
		jids, words = append(jids, results[0].JID), append(words, results[0].Merged)
	}
	return jids, words
}

// merging says how a queue q merges.
func merging(t *testing.T, c *queue.Client, o queue.KeyOrder) {
	t.Helper()
	o.Queue = "q"
	_, err := c.SetKeyOrder(t.Context(), queue.OrderFile{Owner: "test", Orders: []queue.KeyOrder{o}}, queue.KeepOrders)
	ok(t, err)
}

// runs takes all that can be taken from q, as data and scores of each.
func runs(t *testing.T, s *queue.Session) (jobs []queue.Taken, told []string) {
	t.Helper()
	reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 10})
	for _, job := range reply.Jobs {
		if job.Damage != "" {
			t.Errorf("%s is damaged: %s", job.JID, job.Damage)
		}
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
				if word != "" && jids[i] != jids[0] && jids[i] != jids[max(0, i-1)] {
					t.Errorf("%+v: payload %d went to %s", tt.order, i, jids[i])
				}
			}
			jobs, told := runs(t, s)
			if fmt.Sprint(words) != tt.words || fmt.Sprint(told) != tt.told {
				t.Errorf("%+v: %v became %q, and was given as %s", tt.order, tt.payloads, words, told)
			}
			if settle(t, s, jobs[0], queue.Settlement{Action: queue.Complete}).State != "complete" {
				t.Errorf("%+v: not complete", tt.order)
			}
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
			if len(jobs) != 1 || told[0] != want {
				t.Fatalf("took %s, want %s", told, want)
			}
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
			if r.State != "scheduled" || r.Remaining != 24 {
				t.Errorf("retried: %+v", r)
			}
			if turn := turnOf(t, c); turn != (queue.Turn{Holder: running.JID}) {
				t.Errorf("the turn is %+v", turn)
			}
			if n := c.Redis().Exists(t.Context(), "ql:j:"+waiting[0], "ql:j:"+waiting[0]+"-history").Val(); n != 0 {
				t.Error("the job that waited is there")
			}
			now(t, c, running.JID)
			again := one(t, `["a","b"] [1 2]`)
			count(t, again, 0)
			if again.JID != running.JID {
				t.Errorf("%s has both", again.JID)
			}
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
			if results[0].Err != nil || results[0].Into != waiting[0] {
				t.Errorf("brought back: %+v", results)
			}
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
			if r.Part != job.JID+".1" || r.State != "waiting" || r.Remaining != 1 {
				t.Errorf("settled: %+v", r)
			}
			dead := must(c.Get(t.Context(), r.Part))(t)
			if dead.State != "failed" || dead.Failure.Group != "g" || dead.Failure.Message != "m" || string(dead.Data) != `["a"]` || string(dead.Kept.Record) != `{"r":1}` || !slices.Equal(dead.Tags, []string{"t"}) {
				t.Errorf("the dead payload is %+v", dead)
			}
			again := one(t, `["b","c"] [1 2]`)
			if again.Remaining != 1 {
				t.Errorf("the others have %d retries", again.Remaining)
			}
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
	lines, err := c.KeyLines(t.Context(), "q", []string{"k"})
	ok(t, err)
	return lines[0].Turn
}

// now lets a delayed job wait no longer.
func now(t *testing.T, c *queue.Client, jid string) {
	t.Helper()
	results, err := c.Amend(t.Context(), []queue.Amendment{must(c.Get(t.Context(), jid))(t).Amend(queue.AmendNow)})
	ok(t, err)
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
		if len(jobs) != 1 || string(jobs[0].Data) != "[1]" {
			t.Fatalf("popped %+v, want the first payload", jobs)
		}
		ok(t, c.Complete(t.Context(), jid, "foreign", "q", []byte(`{}`)))
		rest, told := runs(t, s)
		if fmt.Sprint(told) != "[[2,3] [1 2]]" || rest[0].JID != jid+".1" || rest[0].Key != "k" {
			t.Errorf("the others are %s, %+v", told, rest)
		}
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
			_, err := c.Tend(t.Context(), []string{"q"}, nil, 0)
			ok(t, err)
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
				_, err := c.FreeKeys(t.Context(), "q")
				ok(t, err)
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
