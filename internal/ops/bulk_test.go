package ops

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// failures are so many puts in a queue, half of them of each of two classes.
func failures(name string, n int) []queue.Put {
	puts := make([]queue.Put, n)
	for i := range puts {
		puts[i] = queue.Put{Queue: name, JID: fmt.Sprintf("%s-%d", name, i), Klass: []string{"Resize", "Thumb"}[i%2]}
	}
	return puts
}

// everything is what is stored, key by key.
func everything(t testing.TB, q *queue.Client) map[string]string {
	t.Helper()
	stored := map[string]string{}
	keys := must.Get(q.Redis().Keys(t.Context(), "*").Result())(t)
	for _, key := range keys {
		stored[key] = must.Get(q.Redis().Dump(t.Context(), key).Result())(t)
	}
	return stored
}

func TestABulkIsPlannedAndDoneByThePlan(t *testing.T) {
	q, ctx := open(t, redistest.Shared(t)), t.Context()
	fail(t, q, "exit-1", "cannot open cat.jpg", failures("img", 40)...)
	fail(t, q, "exit-1", "cannot open dog.jpg", failures("doc", 10)...)
	b := Bulk{Action: "retry", Where: Filter{Group: "exit-1", Klass: "Resize", Message: "cat"}}
	before := everything(t, q)
	plan := must.Get(b.DryRun(ctx, q))(t)
	if !maps.Equal(everything(t, q), before) {
		t.Error("a dry run wrote something")
	}
	if plan.Count != 20 || plan.ByKlass["Resize"] != 20 || plan.ByQueue["img"] != 20 || len(plan.Sample) != 20 || plan.LookedAt != 50 || plan.Of != 50 || plan.Partial || plan.Number {
		t.Errorf("plan: %+v", plan)
	}
	// What fails after the plan was made is not meant, though it matches.
	fail(t, q, "exit-1", "cannot open cat.jpg", queue.Put{Queue: "img", JID: "later", Klass: "Resize"})
	b.Plan = &plan.Plan
	done := must.Get(b.Do(ctx, q))(t)
	if done.Done != 20 || done.Left != 0 || done.Next != "" {
		t.Errorf("done: %+v", done)
	}
	if again := must.Get(b.Do(ctx, q))(t); again.Done != 0 || again.Left != 0 {
		t.Errorf("the same plan again: %+v", again)
	}
	if job := must.Get(q.Get(ctx, "later"))(t); job.State != "failed" {
		t.Errorf("one that failed later is %s", job.State)
	}
}

func TestABulkWantsTheNumber(t *testing.T) {
	q, ctx := open(t, redistest.Shared(t)), t.Context()
	fail(t, q, "g", "m", failures("q", 3)...)
	b := Bulk{Action: "drop", Where: Filter{Group: "g"}}
	plan := must.Get(b.DryRun(ctx, q))(t)
	if !plan.Number {
		t.Error("a drop wants no number")
	}
	b.Plan = &plan.Plan
	for _, typed := range []*int{nil, new(int)} {
		b.Typed = typed
		var wrong *Wrong
		if _, err := b.Do(ctx, q); !errors.As(err, &wrong) || wrong.Argument != "typed" {
			t.Errorf("typed %v: %v", typed, err)
		}
	}
	b.Typed = &plan.Count
	if done := must.Get(b.Do(ctx, q))(t); done.Done != 3 {
		t.Errorf("%+v", done)
	}
}

// Five thousand are retried in two halves, the second of which begins anew as after a kill, while others retry, drop and run
// some of them, and new ones fail.
func TestABulkWhileJobsFailRunAndAreRetriedByOthers(t *testing.T) {
	q, ctx := open(t, redistest.Shared(t)), t.Context()
	const all = 5000
	fail(t, q, "g", "m", failures("q", all)...)
	b := Bulk{Action: "retry", Where: Filter{Group: "g"}}
	plan := must.Get(b.DryRun(ctx, q))(t)
	if plan.Count != all {
		t.Fatalf("%d are planned", plan.Count)
	}
	b.Plan = &plan.Plan
	b.Typed = &plan.Count

	var others sync.WaitGroup
	stop := make(chan struct{})
	meddle := func(what func(i int)) {
		others.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					what(i)
				}
			}
		})
	}
	var mu sync.Mutex
	dropped := map[string]bool{}
	meddle(func(i int) { _, _ = q.Unfail(ctx, "q", "g", 3) }) // others retry the oldest
	meddle(func(i int) {                                      // others drop some in the middle
		jid := fmt.Sprintf("q-%d", 2000+7*i%1000)
		job, err := q.Get(ctx, jid)
		if err != nil || job.State != "failed" {
			return
		}
		if r, err := q.Amend(ctx, []queue.Amendment{job.Amend(queue.AmendCancel)}); err == nil && r[0].Err == nil {
			mu.Lock()
			dropped[jid] = true
			mu.Unlock()
		}
	})
	ran, refailed := map[string]bool{}, map[string]bool{}
	s := q.Session("w")
	meddle(func(i int) { // what is retried runs, and some of it fails again
		reply, err := s.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 5})
		if err != nil {
			return
		}
		var ends []queue.Settlement
		for _, job := range reply.Jobs {
			ran[job.JID] = true
			end := queue.Settlement{JID: job.JID, Queue: "q", Popped: job.Popped, Action: queue.Complete}
			if len(ran)%3 == 0 {
				end.Action, end.Group, end.Message = queue.Fail, "g", "again"
				refailed[job.JID] = true
			} else if len(ran)%3 == 1 {
				continue // it goes on running
			}
			ends = append(ends, end)
		}
		if ends != nil {
			for _, r := range must.Get(s.Exchange(ctx, ends, queue.Take{}))(t).Results {
				if r.Err != nil {
					t.Errorf("what ran was taken away: %v", r.Err)
				}
			}
		}
	})

	half := b
	half.Plan = &Plan{plan.Plan.Until, 2200}
	half.Typed = &half.Plan.Count
	first := must.Get(half.Do(ctx, q))(t) // and then nobody knows how far it came
	second := must.Get(b.Do(ctx, q))(t)
	third := must.Get(b.Do(ctx, q))(t)
	close(stop)
	others.Wait()

	if len(first.Refused)+len(second.Refused)+len(third.Refused) > 0 {
		t.Errorf("refused: %v %v %v", first.Refused, second.Refused, third.Refused)
	}
	if n := first.Done + second.Done + third.Done; n > all {
		t.Errorf("%d were retried, of %d", n, all)
	}
	left := must.Get(b.DryRun(ctx, q))(t)
	for _, job := range left.Sample {
		if !refailed[job.JID] {
			t.Errorf("%s was left behind", job.JID)
		}
	}
	jids := make([]string, all)
	for i := range jids {
		jids[i] = fmt.Sprintf("q-%d", i)
	}
	jobs := must.Get(q.GetMany(ctx, jids...))(t)
	if len(jobs) != all-len(dropped) {
		t.Errorf("there are %d jobs, of %d, of which %d were dropped", len(jobs), all, len(dropped))
	}
	for _, job := range jobs {
		jid := job.JID
		retried := 0
		for _, e := range job.History {
			if e.What == "put" {
				retried++
			}
		}
		if most := 2; retried > most && !refailed[jid] {
			t.Errorf("%s was put again %d times", jid, retried-1)
		}
		if job.State == "failed" && !refailed[jid] {
			t.Errorf("%s is still failed", jid)
		}
	}
	t.Logf("done %d, %d and %d; changed %d; dropped by others %d, ran %d", first.Done, second.Done, third.Done, first.Changed+second.Changed, len(dropped), len(ran))
}

func TestEachBulkAction(t *testing.T) {
	q, ctx := open(t, redistest.Shared(t)), t.Context()
	level := 7.5
	for _, tt := range []struct {
		bulk Bulk
		of   string // the state that the job is in before
		want func(queue.Job) bool
	}{
		{Bulk{Action: "retry"}, "failed", func(j queue.Job) bool { return j.State == "waiting" }},
		{Bulk{Action: "move", To: "else"}, "failed", func(j queue.Job) bool { return j.State == "waiting" && j.Queue == "else" }},
		{Bulk{Action: "drop"}, "failed", func(j queue.Job) bool { return j.JID == "" }},
		{Bulk{Action: "cancel"}, "waiting", func(j queue.Job) bool { return j.JID == "" }},
		{Bulk{Action: "priority", Level: &level}, "waiting", func(j queue.Job) bool { return j.Priority == level }},
		{Bulk{Action: "tag", Tags: []string{"a", "b"}}, "waiting", func(j queue.Job) bool { return slices.Equal(j.Tags, []string{"old", "a", "b"}) }},
		{Bulk{Action: "untag", Tags: []string{"old", "no"}}, "scheduled", func(j queue.Job) bool { return len(j.Tags) == 0 }},
		{Bulk{Action: "now"}, "scheduled", func(j queue.Job) bool { return j.State == "waiting" }},
		{Bulk{Action: "take_back"}, "running", func(j queue.Job) bool { return j.State == "stalled" }},
	} {
		t.Run(tt.bulk.Action+" "+tt.of, func(t *testing.T) {
			q.Redis().FlushDB(ctx)
			p := queue.Put{Queue: "q", JID: "j", Klass: "K", Tags: []string{"old"}}
			b := tt.bulk
			b.Where = Filter{Queue: "q", State: tt.of}
			switch tt.of {
			case "failed":
				fail(t, q, "g", "m", p)
			case "scheduled":
				p.Delay = 1e12
				put(t, q, p)
			case "running":
				put(t, q, p)
				must.Get(q.Session("w").Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 1}))(t)
			default:
				put(t, q, p)
			}
			plan := must.Get(b.DryRun(ctx, q))(t)
			b.Plan, b.Typed = &plan.Plan, &plan.Count
			done := must.Get(b.Do(ctx, q))(t)
			jobs := must.Get(q.GetMany(ctx, "j"))(t)
			job := append(jobs, queue.Job{})[0]
			if plan.Count != 1 || done.Done != 1 || !tt.want(job) {
				t.Errorf("planned %d, done %+v: %+v", plan.Count, done, job)
			}
			if again := must.Get(b.DryRun(ctx, q))(t); again.Count != 0 {
				t.Errorf("it would be done again")
			}
		})
	}
}

func TestWhatIsNoBulk(t *testing.T) {
	q, ctx := open(t, redistest.Shared(t)), t.Context()
	for name, b := range map[string]Bulk{
		"action": {Action: "retyr", Where: Filter{Group: "g"}}, "": {Action: "retry"}, "state": {Action: "retry", Where: Filter{Queue: "q", State: "lost"}},
		"priority": {Action: "priority", Where: Filter{Group: "g"}}, "tags": {Action: "tag", Where: Filter{Group: "g"}},
	} {
		var wrong *Wrong
		if _, err := b.DryRun(ctx, q); !errors.As(err, &wrong) || wrong.Argument != name {
			t.Errorf("%+v: %v", b, err)
		}
	}
	var wrong *Wrong
	if _, err := (Bulk{Action: "retry", Where: Filter{Group: "g"}}).Do(ctx, q); !errors.As(err, &wrong) || wrong.Argument != "plan" {
		t.Errorf("without a plan: %v", err)
	}
	if _, err := (Bulk{Action: "retry", Where: Filter{Group: "g"}, Plan: &Plan{1, 1}, Cursor: "x"}).Do(ctx, q); !errors.As(err, &wrong) || wrong.Argument != "cursor" {
		t.Errorf("a cursor that is none: %v", err)
	}
}

// Jobs that wait for each other are canceled together, in whichever order they are met.
func TestABulkCancelsWhatWaitsForEachOther(t *testing.T) {
	q, ctx := open(t, redistest.Shared(t)), t.Context()
	tagged := func(jid string, on ...string) queue.Put {
		return queue.Put{Queue: "q", JID: jid, Klass: "K", Tags: []string{"all"}, Depends: on}
	}
	put(t, q, tagged("parent"))
	for i := range 300 {
		put(t, q, tagged(fmt.Sprint("filler", i)))
	}
	put(t, q, tagged("child", "parent"))
	b := Bulk{Action: "cancel", Where: Filter{Tag: "all"}}
	plan := must.Get(b.DryRun(ctx, q))(t)
	b.Plan, b.Typed = &plan.Plan, &plan.Count
	if done := must.Get(b.Do(ctx, q))(t); done.Done != 302 || len(done.Refused) > 0 {
		t.Errorf("%+v", done)
	}
}

// parkOne lets a job of queue q and class K wait for an answer to order-17, for so long.
func parkOne(t *testing.T, q *queue.Client, jid string, wait time.Duration) {
	t.Helper()
	put(t, q, queue.Put{Queue: "q", JID: jid, Klass: "K"})
	s := q.Session("w")
	job := must.Get(s.Exchange(t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 1}))(t).Jobs[0]
	must.Get(s.Exchange(t.Context(), []queue.Settlement{{JID: jid, Queue: "q", Popped: job.Popped, Action: queue.Park, Correlation: "order-17", Delay: wait}}, queue.Take{}))(t)
}

// Nobody makes a parked job due: it waits for an answer, and is told of as that.
func TestABulkLeavesParkedJobs(t *testing.T) {
	q, ctx := open(t, redistest.Shared(t)), t.Context()
	parkOne(t, q, "parked", time.Hour)
	put(t, q, queue.Put{Queue: "q", JID: "delayed", Klass: "K", Delay: time.Hour})
	if found := must.Get(Find(ctx, q, Filter{Queue: "q", State: "parked"}, Window{}))(t); len(found.Items) != 1 || found.Items[0].JID != "parked" || found.Items[0].State != "parked" {
		t.Errorf("parked: %+v", found.Items)
	}
	b := Bulk{Action: "now", Where: Filter{Queue: "q", State: "scheduled"}}
	plan := must.Get(b.DryRun(ctx, q))(t)
	b.Plan = &plan.Plan
	if done := must.Get(b.Do(ctx, q))(t); plan.Count != 1 || done.Done != 1 {
		t.Errorf("%+v, %+v", plan, done)
	}
	parked := must.Get(q.Get(ctx, "parked"))(t)
	r := must.Get(q.Amend(ctx, []queue.Amendment{parked.Amend(queue.AmendNow)}))(t)
	if r[0].Err == nil || must.Get(q.Get(ctx, "parked"))(t).Row != "parked" {
		t.Errorf("a parked one was made due: %v", r[0].Err)
	}
}

// A job waits longer for its answer though its time is over, as long as nobody has found that: its queue is paused, say.
func TestAParkThatIsOverIsExtended(t *testing.T) {
	q, ctx := open(t, redistest.Shared(t)), t.Context()
	parkOne(t, q, "j", time.Millisecond)
	put(t, q, queue.Put{Queue: "q", JID: "delayed", Klass: "K", Delay: time.Millisecond})
	for _, jid := range []string{"j", "delayed"} {
		for must.Get(q.Get(ctx, jid))(t).Row != "waiting" {
		}
	}
	for _, names := range [][]string{{"j"}, {"K", "order-17"}} {
		if _, err := ExtendParked(ctx, q, names, time.Hour); err != nil {
			t.Errorf("%v: %v", names, err)
		}
	}
	if row := must.Get(q.Get(ctx, "j"))(t).Row; row != "parked" {
		t.Errorf("it is %s", row)
	}
	if _, err := ExtendParked(ctx, q, []string{"delayed"}, time.Hour); err == nil || err.Error() != "delayed: it is not parked but waiting" {
		t.Errorf("of one that never parked: %v", err)
	}
}
