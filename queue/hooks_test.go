package queue_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/internal/faultproxy"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// told is the data of a job that tells of a failure, as far as tests look at it.
type told struct {
	Event, JID, Queue, Klass, Key, Group, Message string
	Attempts, Crashes                             int
	Data                                          json.RawMessage
	DataBytes                                     int `json:"data_bytes"`
	Record                                        json.RawMessage
	At                                            float64
}

// hooked takes all jobs of the queue of the hooks.
func hooked(t *testing.T, c *queue.Client, from string) (all []told) {
	t.Helper()
	s := c.Session("hooks")
	defer s.Close()
	reply := must(s.Exchange(t.Context(), nil, queue.Take{Queues: []string{from}, Count: 100}))(t)
	for _, job := range reply.Jobs {
		var one told
		if err := json.Unmarshal(job.Data, &one); err != nil || job.Klass != queue.DeadKlass || job.Retries != 25 {
			t.Errorf("%s of class %s with %d retries: %v", job.Data, job.Klass, job.Retries, err)
		}
		all = append(all, one)
	}
	return all
}

// failing takes a job of a queue and settles it so.
func failing(t *testing.T, c *queue.Client, of string, how queue.Settlement) {
	t.Helper()
	s := c.Session("w")
	defer s.Close()
	reply, err := s.Exchange(t.Context(), nil, queue.Take{Queues: []string{of}, Count: 1})
	if err != nil || len(reply.Jobs) != 1 {
		t.Fatalf("taken are %+v (%v)", reply.Jobs, err)
	}
	how.JID, how.Queue, how.Popped = reply.Jobs[0].JID, of, reply.Jobs[0].Popped
	done, err := s.Exchange(t.Context(), []queue.Settlement{how}, queue.Take{})
	if err != nil || done.Results[0].Err != nil {
		t.Fatalf("settled as %+v (%v)", done.Results, err)
	}
}

// Whichever way a script of ours fails a job, one job tells of it, with what is known; a job that is tried again, completed or
// cancelled is no such event, nor is the failure of a job that tells.
func TestAFailureBecomesAJob(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx, none, one := t.Context(), 0, 1
		set := func(h *queue.Hooks) {
			ok(t, c.SetHooks(ctx, "fleet", h))
		}
		put := func(p queue.Put) {
			t.Helper()
			p.Queue, p.Klass = "mail/a.b", "K"
			must(c.Put(ctx, p))(t)
		}
		set(&queue.Hooks{Queue: "hooks", Queues: []string{"mail/?.*", "hooks"}})
		fail := queue.Settlement{Action: queue.Fail, Group: "g \"1\"", Message: "zoë\n", Record: []byte(`{"exit":1}`)}
		put(queue.Put{JID: "a", Data: []byte(`{"n": 12345678901234567890}`), Key: "k 1", Tags: []string{"x"}})
		failing(t, c, "mail/a.b", fail)
		got := hooked(t, c, "hooks")
		if len(got) != 1 || got[0].JID != "a" || got[0].Queue != "mail/a.b" || got[0].Klass != "K" || got[0].Key != "k 1" || got[0].Group != fail.Group || got[0].Message != fail.Message ||
			got[0].Attempts != 1 || string(got[0].Data) != `{"n": 12345678901234567890}` || string(got[0].Record) != `{"exit":1}` || got[0].At == 0 || got[0].Event != "dead" {
			t.Errorf("told is %+v", got)
		}
		put(queue.Put{JID: "b", Retries: &one, Data: []byte(`"` + strings.Repeat("x", 64<<10) + `"`)})
		failing(t, c, "mail/a.b", queue.Settlement{Action: queue.Retry, Group: "g", Message: "m"})
		failing(t, c, "mail/a.b", queue.Settlement{Action: queue.Retry, Group: "g", Message: "m"})
		if got := hooked(t, c, "hooks"); len(got) != 1 || got[0].JID != "b" || got[0].Attempts != 2 || string(got[0].Data) != "null" || got[0].DataBytes != 64<<10+2 {
			t.Errorf("told is %.200s", fmt.Sprintf("%+v", got))
		}
		put(queue.Put{JID: "c"})
		for range 2 {
			failing(t, c, "mail/a.b", queue.Settlement{Action: queue.Release, Counter: queue.CountCrash, MaxCrashes: 1, Group: "died", Message: "m"})
		}
		if got := hooked(t, c, "hooks"); len(got) != 1 || got[0].JID != "c" || got[0].Attempts != 2 || got[0].Crashes != 2 || got[0].Group != "died" {
			t.Errorf("told is %+v", got)
		}
		put(queue.Put{JID: "d", Retries: &none})
		failing(t, c, "mail/a.b", queue.Settlement{Action: queue.Complete})
		if got := hooked(t, c, "hooks"); len(got) != 0 {
			t.Errorf("told is %+v", got)
		}
		must(c.Put(ctx, queue.Put{Queue: "hooks", Klass: "K", Retries: &none}))(t)
		failing(t, c, "hooks", fail)
		if got := hooked(t, c, "hooks"); len(got) != 0 {
			t.Errorf("told of itself is %+v", got)
		}
		set(nil)
		put(queue.Put{JID: "e"})
		failing(t, c, "mail/a.b", fail)
		if got := hooked(t, c, "hooks"); len(got) != 0 {
			t.Errorf("told, though nobody wants it, is %+v", got)
		}
	})
}

// A lock that ran out for the last time is told of too, by whoever looks after it; two fleets that want it in one queue are told once, in
// two each; globs mean what they mean elsewhere, and a hook that is broken costs nobody a verdict.
func TestLostLocksAreTold(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx, none := t.Context(), 0
		for fleet, h := range map[string]queue.Hooks{
			"one": {Queue: "hooks", Queues: []string{"*"}}, "two": {Queue: "hooks", Queues: []string{"a%b", "q*"}}, "three": {Queue: "others", Queues: []string{"a%b"}},
			"four": {Queue: "odd", Queues: []string{"**"}},
		} {
			ok(t, c.SetHooks(ctx, fleet, &h))
		}
		c.Redis().Set(ctx, "ql:q:odd-work", "no set", 0)
		ok(t, c.Redis().HSet(ctx, "ql:config", "heartbeat", 0.001, "grace-period", 0).Err())
		for i, of := range []string{"a%b", "acb"} {
			must(c.Put(ctx, queue.Put{Queue: of, Klass: "K", Retries: &none, JID: of}))(t)
			s := c.Session("w")
			if reply, err := s.Exchange(ctx, nil, queue.Take{Queues: []string{of}, Count: 1}); err != nil || len(reply.Jobs) != 1 {
				t.Fatal(reply, err)
			}
			for end := time.Now().Add(time.Minute); ; {
				if job, err := c.Get(ctx, of); err != nil {
					t.Fatal(err)
				} else if job.State == "failed" {
					break
				}
				stop(t, time.Now().After(end), "its lock does not run out")
				if i == 0 {
					_, _ = c.Sweep(ctx, []string{of}, 10)
				} else {
					_, _ = s.Exchange(ctx, nil, queue.Take{Queues: []string{of}, Count: 1})
				}
			}
			s.Close()
		}
		c.Redis().HSet(ctx, "ql:config", "heartbeat", 60)
		got, others := hooked(t, c, "hooks"), hooked(t, c, "others")
		names := []string{}
		for _, one := range got {
			names = append(names, one.JID)
		}
		slices.Sort(names)
		if !slices.Equal(names, []string{"a%b", "acb"}) || len(others) != 1 || others[0].JID != "a%b" || others[0].Attempts != 1 || !strings.HasPrefix(others[0].Group, "failed-retries") {
			t.Errorf("told are %+v and %+v", got, others)
		}
	})
}

// A failure whose answer is lost is told once, and is not settled again.
func TestAFailureInDoubtIsToldOnce(t *testing.T) {
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, "unix", server.Addr)
	c := openURL(t, proxy.URL)
	ctx := t.Context()
	ok(t, c.SetHooks(ctx, "fleet", &queue.Hooks{Queue: "hooks", Queues: []string{"*"}}))
	must(c.Put(ctx, queue.Put{Queue: "q", Klass: "K", JID: "j"}))(t)
	s := c.Session("w")
	defer s.Close()
	reply, err := s.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 1})
	if err != nil || len(reply.Jobs) != 1 {
		t.Fatal(reply, err)
	}
	fail := []queue.Settlement{{JID: "j", Queue: "q", Popped: reply.Jobs[0].Popped, Action: queue.Fail, Group: "g", Message: "m"}}
	proxy.Drop(1, "evalsha", 1)
	if _, err := s.Exchange(ctx, fail, queue.Take{}); !errors.Is(err, queue.ErrDoubt) {
		t.Fatalf("it is not in doubt: %v", err)
	}
	proxy.Drop(0, "", 1)
	if told, err := s.Resolve(ctx, fail); err != nil || told[0] != queue.Took {
		t.Errorf("it is resolved as %v (%v)", told, err)
	}
	if again, err := s.Exchange(ctx, fail, queue.Take{}); err != nil || !errors.Is(again.Results[0].Err, queue.ErrLockLost) {
		t.Errorf("once more it is %+v (%v)", again.Results, err)
	}
	if got := hooked(t, c, "hooks"); len(got) != 1 || got[0].JID != "j" {
		t.Errorf("told is %+v", got)
	}
}
