package queue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// fresh returns a client of an empty key space.
func fresh(t testing.TB) *queue.Client {
	t.Helper()
	return open(t, redistest.Shared(t))
}

// private ends a test of what concerns a whole server which others use, too.
func private(t testing.TB, c *queue.Client) {
	t.Helper()
	if one, is := c.Redis().(*redis.Client); is && one.Options().DB > 0 {
		t.Fatal("other tests use this server, too")
	}
}

// open returns a client of a server.
func open(t testing.TB, s *redistest.Server) *queue.Client {
	t.Helper()
	return openURL(t, s.URL)
}

func openURL(t testing.TB, url string) *queue.Client {
	t.Helper()
	queue.Beside(t)
	c, err := queue.Open(t.Context(), queue.Options{URL: url, ReadTimeout: 30 * time.Second}) // the machine may be busy
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func session(t testing.TB, c *queue.Client, worker string) *queue.Session {
	t.Helper()
	s := c.Session(worker)
	t.Cleanup(func() { s.Close() })
	return s
}

func TestJobGoesThroughPutTakeRenewSettle(t *testing.T) {
	c, ctx := fresh(t), t.Context()
	s := session(t, c, "w1")
	payload := []byte(`{"a":[],"n":9007199254740993,"s":"\u00e9\/"}`)
	jid, err := c.Put(ctx, queue.Put{Queue: "q", Klass: "K", Data: payload, Tags: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := s.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 5})
	if err != nil {
		t.Fatal(err)
	}
	if len(reply.Jobs) != 1 {
		t.Fatalf("took %+v, want one job", reply)
	}
	job := reply.Jobs[0]
	if job.JID != jid || job.Klass != "K" || string(job.Data) != string(payload) || fmt.Sprint(job.Tags) != "[x]" ||
		job.Retries != 5 || job.Remaining != 5 || job.Expires != job.Popped+60 {
		t.Errorf("took %+v", job)
	}
	renewed, err := s.Renew(ctx, []queue.RenewItem{{JID: jid, Queue: "q", Popped: job.Popped}})
	if err != nil || renewed[0].Err != nil || renewed[0].Expires <= job.Expires {
		t.Errorf("renewed %+v, %v", renewed, err)
	}
	reply, err = s.Exchange(ctx, []queue.Settlement{{JID: jid, Queue: "q", Popped: job.Popped, Action: queue.Complete}}, queue.Take{})
	if err != nil || reply.Results[0].Err != nil || reply.Results[0].State != "complete" {
		t.Errorf("settled %+v, %v", reply, err)
	}
}
