package queue_test

import (
	"strconv"
	"strings"
	"testing"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// The trace of a put comes with the job, whatever happens to that in between and in whichever queue, until it is put anew.
func TestATraceStaysWithItsJob(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		trace := queue.Trace{Parent: parent, State: "vendor=1,other=2"}
		must(c.Put(ctx, queue.Put{Queue: "q", JID: "j", Klass: "K", Trace: trace}))(t)
		equal(t, "trace of a job that is looked at", must(c.Get(ctx, "j"))(t).Kept.Trace, trace)
		s := session(t, c, "w")
		amend := func(change queue.Change, to string) {
			t.Helper()
			a := must(c.Get(ctx, "j"))(t).Amend(change)
			a.Queue = to
			if done := must(c.Amend(ctx, []queue.Amendment{a}))(t); done[0].Err != nil {
				t.Fatalf("%s: %+v", change, done[0])
			}
		}
		for _, step := range []struct {
			name string
			ends queue.Settlement
			then func()
		}{
			{name: "released", ends: queue.Settlement{Action: queue.Release}},
			{name: "retried, with a record", ends: queue.Settlement{Action: queue.Retry, Record: []byte(`{}`)}},
			{name: "gone on to another queue", ends: queue.Settlement{Action: queue.Complete, Next: "other"}},
			{name: "requeued", ends: queue.Settlement{Action: queue.Requeue, Next: "q"}},
			{name: "failed and retried by hand", ends: queue.Settlement{Action: queue.Fail, Group: "g"}, then: func() { amend(queue.AmendRetry, "") }},
			{name: "moved by hand", ends: queue.Settlement{Action: queue.Release, Counter: queue.CountInterruption}, then: func() { amend(queue.AmendMove, "other") }},
			{name: "moved by another client", ends: queue.Settlement{Action: queue.Release, Counter: queue.CountInterruption}, then: func() {
				ok(t, c.Requeue(ctx, queue.Put{Queue: "q", JID: "j", Klass: "K"})) // a verb of the protocol, which knows nothing of ours
			}},
		} {
			reply, _ := take(t, s, queue.Take{Queues: []string{"q", "other"}, Count: 1})
			if len(reply.Jobs) != 1 || reply.Jobs[0].Trace != trace {
				t.Fatalf("before it was %s: %+v", step.name, reply.Jobs)
			}
			if r := settle(t, s, reply.Jobs[0], step.ends); r.Err != nil {
				t.Fatalf("%s: %v", step.name, r.Err)
			}
			if step.then != nil {
				step.then()
			}
		}
		must(c.Put(ctx, queue.Put{Queue: "q", JID: "j", Klass: "K"}))(t)
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		equal(t, "trace of a job that was put anew", reply.Jobs[0].Trace, queue.Trace{})
	})
}

// An attempt may begin a trace: the next ones, and what comes behind, are part of it.
func TestATraceThatAnAttemptBegan(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		began, s := queue.Trace{Parent: parent}, session(t, c, "w")
		for name, ends := range map[string]queue.Settlement{
			"retry": {Action: queue.Retry, Trace: began}, "release": {Action: queue.Release, Trace: began},
			"next": {Action: queue.Complete, Next: "q", Trace: began}, "requeue": {Action: queue.Requeue, Trace: began},
		} {
			putAll(t, c, queue.Put{Queue: "q", JID: name, Klass: "K"})
			reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
			settle(t, s, reply.Jobs[0], ends)
			reply, _ = take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
			if len(reply.Jobs) != 1 || reply.Jobs[0].Trace != began {
				t.Fatalf("%s: %+v", name, reply.Jobs)
			}
			settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete})
		}
	})
}

// What is not traced costs nothing: such a job has no field of ours, and Redis works it with not a command more than one that
// a client of the protocol has put.
func TestAJobWithoutATraceCostsNothing(t *testing.T) {
	c := open(t, redistest.Start(t))
	ctx, s := t.Context(), session(t, c, "w")
	work := func(trace queue.Trace, byProtocol bool) (commands int) {
		putAll(t, c, queue.Put{Queue: "q", JID: "j", Klass: "K", Trace: trace})
		if byProtocol {
			ok(t, c.Requeue(ctx, queue.Put{Queue: "q", JID: "j", Klass: "K"}))
		}
		for _, field := range c.Redis().HKeys(ctx, "ql:j:j").Val() {
			never(t, trace == (queue.Trace{}) && strings.HasPrefix(field, "oarlock-"), "it has the field %s", field)
		}
		c.Redis().ConfigResetStat(ctx)
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete})
		for _, m := range commandStat.FindAllStringSubmatch(c.Redis().Info(ctx, "commandstats").Val(), -1) {
			calls, _ := strconv.Atoi(m[2])
			commands += calls
		}
		ok(t, c.Cancel(ctx, "j"))
		return commands
	}
	work(queue.Trace{}, false) // scripts are loaded
	ours, theirs, traced := work(queue.Trace{}, false), work(queue.Trace{}, true), work(queue.Trace{Parent: parent}, false)
	never(t, ours != theirs || traced <= ours, "%d commands for a job without a trace, %d for one of the protocol, %d with a trace", ours, theirs, traced)
}

func TestTraces(t *testing.T) {
	if got := (queue.Trace{Parent: parent}).Span("1111111111111111").Parent; got != "00-4bf92f3577b34da6a3ce929d0e0e4736-1111111111111111-01" {
		t.Errorf("a span passes on %s", got)
	}
	if trace := (queue.Trace{Parent: parent}); trace.ID() != "4bf92f3577b34da6a3ce929d0e0e4736" || trace.SpanID() != "00f067aa0ba902b7" {
		t.Errorf("%s %s", trace.ID(), trace.SpanID())
	}
	for _, bad := range []queue.Trace{
		{State: "a=1"}, {Parent: "x"}, {Parent: strings.ToUpper(parent)}, {Parent: "ff" + parent[2:]}, {Parent: parent + "-more"},
		{Parent: "00-" + strings.Repeat("0", 32) + parent[35:]}, {Parent: parent, State: "a\n"}, {Parent: parent, State: strings.Repeat("a", 513)},
	} {
		never(t, bad.Check() == nil, "%+v is taken for a trace", bad)
	}
	if later := (queue.Trace{Parent: "01" + parent[2:] + "-more"}); later.Check() != nil || later.Span("1111111111111111").Check() != nil {
		t.Errorf("a later version is refused")
	}
}
