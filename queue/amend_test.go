package queue_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// changes are all that Amend does, as they are sent.
var changes = []queue.Amendment{
	{Change: queue.AmendRetry}, {Change: queue.AmendMove, Queue: "other"}, {Change: queue.AmendCancel},
	{Change: queue.AmendTimeout}, {Change: queue.AmendPriority, Priority: 7},
}

// amend sends one change to a job as it was seen.
func amend(t *testing.T, c *queue.Client, seen *queue.Job, change queue.Amendment) error {
	t.Helper()
	change.JID, change.State, change.Mark = seen.JID, seen.State, seen.Mark
	results := must(c.Amend(t.Context(), []queue.Amendment{change}))(t)
	equal(t, "job", results[0].JID, seen.JID)
	return results[0].Err
}

// failedJob puts a job that has failed, with all that a job can have.
func failedJob(t *testing.T, c *queue.Client, s *queue.Session, jid string) {
	t.Helper()
	putAll(t, c, queue.Put{Queue: "q", JID: jid, Klass: "K", Data: []byte(`{"a": []}`), Priority: ptr(3.5), Retries: ptr(2),
		Tags: []string{"red"}, Throttles: []string{"t"}, Timeout: 5 * time.Second})
	fail(t, s)
}

func fail(t *testing.T, s *queue.Session) {
	t.Helper()
	reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
	settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Fail, Group: "g", Message: "m", Record: []byte(`{"signal":"KILL"}`),
		Checkpoint: []byte(`{"page":3}`)})
}

// TestAmendLeavesAloneWhatChanged does, between the look and the change, whatever another may do
// to a job; nothing must happen to it then.
func TestAmendLeavesAloneWhatChanged(t *testing.T) {
	for name, meanwhile := range map[string]func(t *testing.T, c *queue.Client, s *queue.Session){
		"it began to run": func(t *testing.T, c *queue.Client, s *queue.Session) {
			must(c.Unfail(t.Context(), "q", "g", 1))(t)
			take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		},
		"it failed again": func(t *testing.T, c *queue.Client, s *queue.Session) {
			must(c.Unfail(t.Context(), "q", "g", 1))(t)
			fail(t, s)
		},
		"it was put again": func(t *testing.T, c *queue.Client, _ *queue.Session) {
			putAll(t, c, queue.Put{Queue: "q", JID: "j", Klass: "K", Data: []byte(`{"v":2}`)})
		},
		"it waits": func(t *testing.T, c *queue.Client, _ *queue.Session) { must(c.Unfail(t.Context(), "q", "g", 1))(t) },
		"it is complete": func(t *testing.T, c *queue.Client, s *queue.Session) {
			must(c.Unfail(t.Context(), "q", "g", 1))(t)
			reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
			settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete})
		},
		"it is gone": func(t *testing.T, c *queue.Client, _ *queue.Session) { ok(t, c.Cancel(t.Context(), "j")) },
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Shared(t)
			c := open(t, server)
			s := session(t, c, "w")
			failedJob(t, c, s, "j")
			seen := must(c.Get(t.Context(), "j"))(t)
			meanwhile(t, c, s)
			before := snapshot(t, server.Client(t))
			for _, change := range changes {
				err := amend(t, c, seen, change)
				if want := queue.ErrChanged; !errors.Is(err, want) && (name != "it is gone" || !errors.Is(err, queue.ErrNoJob)) {
					t.Errorf("%s: %v, want %v", change.Change, err, want)
				}
			}
			equal(t, "keys", snapshot(t, server.Client(t)), before)
		})
	}
}

// A job that runs is taken from its worker in that very attempt, or not at all.
func TestTimeoutTakesBackOneAttempt(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		s := session(t, c, "w")
		putAll(t, c, queue.Put{Queue: "q", JID: "j", Klass: "K"})
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		first := must(c.Get(ctx, "j"))(t)
		for _, change := range changes[:2] {
			if err := amend(t, c, first, change); queue.Class(err) != queue.Refused || !strings.Contains(err.Error(), "j: it is running") {
				t.Errorf("%s of a running job: %v", change.Change, err)
			}
		}
		settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Retry})
		take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		if err := amend(t, c, first, queue.Amendment{Change: queue.AmendTimeout}); !errors.Is(err, queue.ErrChanged) {
			t.Errorf("the next attempt was taken back: %v", err)
		}
		second := must(c.Get(ctx, "j"))(t)
		ok(t, amend(t, c, second, queue.Amendment{Change: queue.AmendTimeout}))
		equal(t, "state", must(c.Get(ctx, "j"))(t).State, "stalled")
	})
}

func TestAmendments(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		s := session(t, c, "w")
		see := func(jid string) *queue.Job { return must(c.Get(ctx, jid))(t) }
		failedJob(t, c, s, "j")
		ok(t, amend(t, c, see("j"), queue.Amendment{Change: queue.AmendRetry, Delay: time.Hour}))
		equal(t, "retried", fmt.Sprint(see("j").State, see("j").Queue, see("j").Remaining), "scheduledq2")
		ok(t, amend(t, c, see("j"), queue.Amendment{Change: queue.AmendMove, Queue: "other"}))
		equal(t, "moved", see("j").State+" "+see("j").Queue, "waiting other")
		ok(t, amend(t, c, see("j"), queue.Amendment{Change: queue.AmendPriority, Priority: 9}))
		equal(t, "priority", see("j").Priority, 9.0)
		ok(t, amend(t, c, see("j"), queue.Amendment{Change: queue.AmendCancel}))
		if _, err := c.Get(ctx, "j"); !errors.Is(err, queue.ErrNoJob) {
			t.Errorf("after it was cancelled: %v", err)
		}

		putAll(t, c, queue.Put{Queue: "q", JID: "done", Klass: "K"})
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete})
		for change, want := range map[queue.Change]string{
			queue.AmendCancel: "it is complete", queue.AmendRetry: "it is complete and in no queue",
			queue.AmendTimeout: "not running but complete", "paint": "unknown action",
		} {
			if err := amend(t, c, see("done"), queue.Amendment{Change: change}); queue.Class(err) != queue.Refused || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of a complete job: %v, want %q", change, err, want)
			}
		}
		ok(t, amend(t, c, see("done"), queue.Amendment{Change: queue.AmendMove, Queue: "q"}))
		equal(t, "a complete job that was moved", see("done").State, "waiting")
	})
}

// Jobs that wait for each other go together or not at all, whatever the order, and if one of
// them changed the others it waits for stay.
func TestCancelOfDependentJobs(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		putAll(t, c, queue.Put{Queue: "q", JID: "a", Klass: "K"}, queue.Put{Queue: "q", JID: "b", Klass: "K", Depends: []string{"a"}},
			queue.Put{Queue: "q", JID: "c", Klass: "K", Depends: []string{"b"}}, queue.Put{Queue: "q", JID: "x", Klass: "K"})
		var all []queue.Amendment
		for _, job := range must(c.GetMany(ctx, "a", "b", "c", "x"))(t) {
			all = append(all, job.Amend(queue.AmendCancel))
		}
		says := func(results []queue.AmendResult) (said []string) {
			for _, r := range results {
				said = append(said, fmt.Sprintf("%s: %v", r.JID, r.Err))
			}
			return said
		}
		ok(t, c.Log(ctx, "c", "a line changes nothing", nil))
		putAll(t, c, queue.Put{Queue: "q", JID: "c", Klass: "K", Depends: []string{"b"}})
		equal(t, "answers", says(must(c.Amend(ctx, all))(t)), []string{
			"a: amend: a: b waits for it; cancel both at once", "b: amend: b: c waits for it; cancel both at once",
			"c: c changed since it was looked at: it is depends now", "x: <nil>"})
		all[2] = must(c.Get(ctx, "c"))(t).Amend(queue.AmendCancel)
		equal(t, "answers", says(must(c.Amend(ctx, all[:3]))(t)), []string{"a: <nil>", "b: <nil>", "c: <nil>"})
		equal(t, "left", len(must(c.GetMany(ctx, "a", "b", "c", "x"))(t)), 0)
	})
}

// So do more of them than go in one call, in whichever order.
func TestCancelOfManyDependentJobs(t *testing.T) {
	c, ctx := fresh(t), t.Context()
	puts := make([]queue.Put, 700)
	jids := make([]string, len(puts))
	for i := range puts {
		jids[i] = fmt.Sprint("j", i)
		puts[i] = queue.Put{Queue: "q", JID: jids[i], Klass: "K"}
		if i > 0 {
			puts[i].Depends = []string{"j0", jids[i-1]}
		}
	}
	putAll(t, c, puts...)
	var changes []queue.Amendment
	for _, job := range must(c.GetMany(ctx, jids...))(t) {
		changes = append(changes, job.Amend(queue.AmendCancel))
	}
	kept := must(c.Amend(ctx, changes[:600]))(t) // the last 100 of the chain are not named
	for _, r := range kept {
		if r.Err == nil {
			t.Fatalf("%s was cancelled, and others wait for it", r.JID)
		}
	}
	for _, r := range must(c.Amend(ctx, changes))(t) {
		ok(t, r.Err)
	}
	equal(t, "left", len(must(c.GetMany(ctx, jids...))(t)), 0)
}

// Much data goes in more than one call, and many jobs do.
func TestAmendIsSliced(t *testing.T) {
	server := redistest.Start(t)
	c, raw := open(t, server), server.Client(t)
	big := []byte(strconv.Quote(strings.Repeat("x", 3<<20)))
	var seen []queue.Amendment
	for i := range 5 {
		putAll(t, c, queue.Put{Queue: "q", JID: fmt.Sprint("big", i), Klass: "K", Data: big})
	}
	for i := range 450 {
		putAll(t, c, queue.Put{Queue: "q", JID: fmt.Sprint("j", i), Klass: "K"})
	}
	for _, job := range must(c.Peek(t.Context(), "q", 0, 500))(t) {
		seen = append(seen, job.Amend(queue.AmendMove))
		seen[len(seen)-1].Queue = "other"
	}
	must(c.Amend(t.Context(), nil))(t)
	ok(t, raw.ConfigResetStat(t.Context()).Err())
	results := must(c.Amend(t.Context(), seen))(t)
	equal(t, "answers", len(results), 455)
	for _, r := range results {
		ok(t, r.Err)
	}
	calls := regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`).FindStringSubmatch(raw.Info(t.Context(), "commandstats").Val())
	// Two of the big ones are more than a call moves; others go by 200.
	if n, _ := strconv.Atoi(calls[1]); n < 5 {
		t.Errorf("%d calls for 455 jobs with 15 MiB, want at least 5", n)
	}
	equal(t, "moved", must(c.Length(t.Context(), "other"))(t), 455)
}

// TestNoFieldIsForgotten asks of every field that a job can have, those of ours as BATCH.md lists
// them and one of a stranger, what becomes of it by each of our verbs that let a job go on.
func TestNoFieldIsForgotten(t *testing.T) {
	const same, gone, now, zero = "same", "gone", "now", "0"
	verbs := []string{"retry", "move", "next", "put"}
	want := map[string][]string{ // by field, in the order of verbs
		"jid": {same, same, same, same}, "klass": {same, same, same, "K2"}, "data": {same, same, same, "{}"},
		"priority": {same, same, same, same}, "tags": {same, same, same, same}, "retries": {same, same, same, same},
		// That of the queue counts as one that a rule gave, by oarlock-gate.
		"throttles": {same, `["t","ql:q:other"]`, `["t"]`, `["t","ql:q:other"]`},
		"resources": {same, same, same, same}, "spawned_from_jid": {same, same, same, same},
		"state": {"waiting", "waiting", "waiting", "waiting"}, "queue": {"q", "other", "other", "other"},
		"worker": {"", "", "", ""}, "expires": {zero, zero, zero, zero}, "remaining": {"2", "2", "2", "2"}, "time": {now, now, now, now},
		"failure": {same, same, "{}", same},

		"oarlock-queue":   {"q", "other", "other", "other"},
		"oarlock-timeout": {same, same, same, same},
		"oarlock-crashes": {gone, gone, gone, gone}, "oarlock-interruptions": {gone, gone, gone, gone},
		"oarlock-deaths":     {gone, gone, gone, gone},
		"oarlock-standstill": {gone, gone, gone, gone},
		"oarlock-spared":     {gone, gone, gone, gone}, "oarlock-unstarted": {gone, gone, gone, gone}, "oarlock-unknown": {gone, gone, gone, gone},
		"oarlock-batch": {gone, gone, gone, gone},
		"oarlock-gate":  {gone, gone, gone, gone}, "oarlock-window": {gone, gone, gone, gone},
		"oarlock-failed":     {gone, gone, gone, gone},
		"oarlock-checkpoint": {same, gone, gone, gone},
		"oarlock-record":     {same, same, gone, gone},

		"oarlock-lane":        {same, same, same, same}, // a key that counts in this queue alone: here of none
		"oarlock-correlation": {same, same, same, same}, "oarlock-trace": {same, same, same, gone},
		"oarlock-wants": {same, same, same, same},
		"oarlock-park":  {gone, gone, gone, gone},
		"oarlock-early": {same, same, same, same}, // an answer to this job alone, to a correlation of which it knows not yet
		"oarlock-merge": {same, same, gone, gone}, "oarlock-first": {same, same, gone, gone}, "oarlock-load": {same, same, gone, gone}, "oarlock-parts": {same, same, gone, gone}, "oarlock-crons": {same, same, gone, gone},
		"oarlock-then":     {same, same, gone, gone},
		"oarlock-response": {same, same, gone, gone}, "oarlock-response-given": {same, same, gone, gone},
		"oarlock-life": {now, now, gone, gone},
	}
	page := must(os.ReadFile("BATCH.md"))(t)
	var ours []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(oarlock-[a-z-]+)`").FindAllSubmatch(page, -1) {
		ours = append(ours, string(m[1]))
		if want[string(m[1])] == nil {
			t.Errorf("%s: say here what becomes of it, and in carry_over", m[1])
		}
	}
	stop(t, len(ours) < 8, "BATCH.md lists only %v", ours)
	for i, verb := range verbs {
		t.Run(verb, func(t *testing.T) {
			server := redistest.Shared(t)
			c, ctx := open(t, server), t.Context()
			s := session(t, c, "w")
			failedJob(t, c, s, "j")
			raw := server.Client(t)
			fields := []any{"resources", `["r"]`, "spawned_from_jid", "parent"}
			for _, field := range ours {
				if value := raw.HGet(ctx, "ql:j:j", field).Val(); value == "" {
					fields = append(fields, field, "1")
				}
			}
			ok(t, raw.HSet(ctx, "ql:j:j", fields...).Err())
			before := raw.HGetAll(ctx, "ql:j:j").Val()
			switch verb {
			case "retry":
				ok(t, amend(t, c, must(c.Get(ctx, "j"))(t), queue.Amendment{Change: queue.AmendRetry}))
			case "move":
				ok(t, amend(t, c, must(c.Get(ctx, "j"))(t), queue.Amendment{Change: queue.AmendMove, Queue: "other"}))
			case "put":
				putAll(t, c, queue.Put{Queue: "other", JID: "j", Klass: "K2"})
			case "next":
				must(c.Unfail(ctx, "q", "g", 1))(t)
				reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
				settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete, Next: "other"})
			}
			after := raw.HGetAll(ctx, "ql:j:j").Val()
			for _, field := range slices.Sorted(keysOf(before, after)) {
				expected := want[field]
				value, there := after[field]
				switch {
				case expected == nil:
					t.Errorf("%s: nobody said what becomes of it", field)
				case expected[i] == gone && there, expected[i] != gone && !there,
					expected[i] == same && value != before[field], expected[i] == now && value == before[field],
					!slices.Contains([]string{same, gone, now}, expected[i]) && value != expected[i]:
					t.Errorf("%s was %q and is %q (there: %v), want %s", field, before[field], value, there, expected[i])
				}
			}
		})
	}
}

// keysOf yields the names in either map, each once.
func keysOf(a, b map[string]string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range a {
			if !yield(name) {
				return
			}
		}
		for name := range b {
			if _, both := a[name]; !both && !yield(name) {
				return
			}
		}
	}
}
