package queue_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"oarlock/queue"
)

// Each word in the face of a job in each state.
func TestIfExists(t *testing.T) {
	bring := map[string]func(t *testing.T, c *queue.Client, s *queue.Session){
		"waiting":   func(*testing.T, *queue.Client, *queue.Session) {},
		"scheduled": func(t *testing.T, c *queue.Client, _ *queue.Session) { ok(t, c.Move(t.Context(), "j", "q", time.Hour)) },
		"depends": func(t *testing.T, c *queue.Client, _ *queue.Session) {
			putAll(t, c, queue.Put{Queue: "other", JID: "first", Klass: "K"}, queue.Put{Queue: "q", JID: "j", Klass: "K", Depends: []string{"first"}})
		},
		"running": func(t *testing.T, _ *queue.Client, s *queue.Session) {
			take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		},
		"stalled": func(t *testing.T, c *queue.Client, s *queue.Session) {
			reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
			settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Release, Front: true})
		},
		"complete": func(t *testing.T, c *queue.Client, s *queue.Session) {
			reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
			settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete})
		},
		"failed": func(t *testing.T, c *queue.Client, s *queue.Session) {
			reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
			settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Fail, Group: "g", Message: "m"})
		},
	}
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		for state, bring := range bring {
			for _, word := range []queue.IfExists{"", queue.Replace, queue.Final, queue.Never} {
				t.Run(fmt.Sprintf("%s/%s", state, word), func(t *testing.T) {
					s := session(t, c, "w")
					putAll(t, c, queue.Put{Queue: "q", JID: "j", Klass: "K", Data: []byte(`"old"`)})
					bring(t, c, s)
					before := must(c.Get(t.Context(), "j"))(t)
					result := must(c.PutAll(t.Context(), []queue.Put{{Queue: "q", JID: "j", Klass: "K", Data: []byte(`"new"`), IfExists: word}}))(t)[0]
					left := word == queue.Never || word == queue.Final && state != "complete" && state != "failed"
					if result.Err != nil || result.Existed != left || result.Replaced == left || result.State != state {
						t.Fatalf("answered %+v; want it left alone: %v", result, left)
					}
					if left {
						equal(t, "the job", must(c.Get(t.Context(), "j"))(t), before)
						ok(t, c.Cancel(t.Context(), "j"))
						return
					}
					job := must(c.Get(t.Context(), "j"))(t)
					never(t, string(job.Data) != `"new"` || job.State != "waiting" && job.State != "depends", "it is %s with %s", job.State, job.Data)
					ok(t, c.Cancel(t.Context(), "j"))
				})
			}
		}
		if r := must(c.PutAll(t.Context(), []queue.Put{{Queue: "q", JID: "x", Klass: "K", IfExists: "always"}}))(t)[0]; r.Err == nil {
			t.Error("if_exists = always was accepted")
		}
	})
}

// A job is replaced only in the queues that the put names, or in none: one that was moved meanwhile is left alone.
func TestReplaceIn(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		put := func(to string, in ...string) queue.PutResult {
			t.Helper()
			return must(c.PutAll(t.Context(), []queue.Put{{Queue: to, JID: "j", Klass: "K", ReplaceIn: in}}))(t)[0]
		}
		equal(t, "of a new job", put("q", []string{}...), queue.PutResult{JID: "j"})
		equal(t, "where it is", put("other", "seen", "q"), queue.PutResult{JID: "j", Replaced: true, State: "waiting"})
		before := must(c.Get(t.Context(), "j"))(t)
		for _, in := range [][]string{{"q"}, {}} {
			if r := put("q", in...); !errors.Is(r.Err, queue.ErrChanged) || r.Replaced || r.Existed {
				t.Errorf("in %q it is answered by %+v", in, r)
			}
		}
		equal(t, "the job", must(c.Get(t.Context(), "j"))(t), before)
		reply, _ := take(t, s, queue.Take{Queues: []string{"other"}, Count: 1})
		settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete})
		equal(t, "in none", put("q", "q"), queue.PutResult{JID: "j", Replaced: true, State: "complete"})
	})
}

// A job that puts itself again with its ack runs again, each time; one that is alive does not.
func TestFinalPutsOfAChild(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		putAll(t, c, queue.Put{Queue: "q", JID: "itself", Klass: "K"}, queue.Put{Queue: "held", JID: "alive", Klass: "K"})
		for i := range 21 {
			reply, jids := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
			equal(t, "taken", jids, []string{"itself"})
			r := settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete, Puts: []queue.Put{
				{Queue: "q", JID: "itself", Klass: "K", Data: fmt.Appendf(nil, "%d", i), IfExists: queue.Final},
				{Queue: "q", JID: "alive", Klass: "K", IfExists: queue.Final},
			}})
			equal(t, "answers", r.Puts, []queue.PutResult{{JID: "itself", Replaced: true, State: "complete"}, {JID: "alive", Existed: true, State: "waiting"}})
		}
		equal(t, "its data", string(must(c.Get(t.Context(), "itself"))(t).Data), "20")
	})
}

// A failed job that is replaced leaves its record in the history, and is a new job.
func TestReplacedFailureStaysInTheHistory(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		for name, record := range map[string]string{
			"short": `{"ending":"exited","group":"g","message":"m","stderr":"no","pid":7}`,
			"long":  `{"ending":"exited","group":"g","message":"m","stderr":"` + strings.Repeat("x", 8000) + `"}`,
			"none":  `{"ending":NaN}`, // what a foreign client wrote there is no reason to refuse
		} {
			s := session(t, c, "w")
			putAll(t, c, queue.Put{Queue: name, JID: name, Klass: "K"})
			reply, _ := take(t, s, queue.Take{Queues: []string{name}, Count: 1})
			settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Fail, Group: "g", Message: "m", Record: []byte(record)})
			putAll(t, c, queue.Put{Queue: name, JID: name, Klass: "K"})
			job := must(c.Get(t.Context(), name))(t)
			equal(t, "state", job.State, "waiting")
			if len(job.Kept.Record) > 0 {
				t.Errorf("%s: the new job has the record %s", name, job.Kept.Record)
			}
			last := job.History[len(job.History)-1]
			stop(t, (last.What == "replaced") != (name != "none"), "%s: the history ends with %+v", name, last)
			if name == "none" {
				continue
			}
			var kept struct{ Group, Message, Stderr string }
			ok(t, json.Unmarshal(last.More["record"], &kept))
			never(t, kept.Group != "g" || kept.Message != "m" || (kept.Stderr == "no") != (name == "short"), "%s: kept %+v", name, kept)
		}
	})
}
