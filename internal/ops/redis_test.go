package ops

import (
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// open connects a client to a Redis of the test, which runs beside others.
func open(t *testing.T, server *redistest.Server) *queue.Client {
	t.Helper()
	t.Parallel()
	return openURL(t, server.URL)
}

func openURL(t testing.TB, url string) *queue.Client {
	t.Helper()
	q := must.Get(queue.Open(t.Context(), queue.Options{URL: url, ReadTimeout: time.Minute}))(t)
	t.Cleanup(func() { q.Close() })
	return q
}

// put puts jobs.
func put(t testing.TB, q *queue.Client, puts ...queue.Put) {
	t.Helper()
	results := must.Get(q.PutAll(t.Context(), puts))(t)
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

// fail puts jobs and lets them fail in a group, with a message.
func fail(t testing.TB, q *queue.Client, group, message string, puts ...queue.Put) {
	t.Helper()
	put(t, q, puts...)
	s := q.Session("failing")
	defer s.Close()
	for left := len(puts); left > 0; {
		var queues []string
		for _, p := range puts {
			queues = append(queues, p.Queue)
		}
		reply := must.Get(s.Exchange(t.Context(), nil, queue.Take{Queues: sorted(queues), Count: min(left, 200)}))(t)
		var ends []queue.Settlement
		for _, job := range reply.Jobs {
			ends = append(ends, queue.Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: queue.Fail, Group: group, Message: message})
		}
		if len(ends) == 0 {
			t.Fatalf("%d jobs do not come", left)
		}
		for _, r := range must.Get(s.Exchange(t.Context(), ends, queue.Take{}))(t).Results {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		left -= len(ends)
	}
}
