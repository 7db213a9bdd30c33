package queue_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// What lowkiq says of its jobs and options, as far as no other test shows how it is here; see integration/FEATURES.md.

// TestWhatAPayloadIsByDefault: a job of a key that merges, of which nothing else is said, is planned for now, has the score of now, the data {} and
// 25 retries, none of which is used; a thousand are put in one call, in their order.
func TestWhatAPayloadIsByDefault(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		merging(t, c, queue.KeyOrder{Merge: queue.MergeAll, RunPayloads: 1000})
		before := c.Now()
		puts := make([]queue.Put, 1000)
		for i := range puts {
			puts[i] = queue.Put{Queue: "q", Klass: "K", Key: "k", Data: fmt.Appendf(nil, "%d", i)}
		}
		puts[0].Data = nil
		for _, r := range must(c.PutAll(t.Context(), puts))(t) {
			ok(t, r.Err)
		}
		after := c.Now()
		reply, _ := take(t, session(t, c, "w"), queue.Take{Queues: []string{"q"}, Count: 1})
		job := reply.Jobs[0]
		never(t, job.Retries != 25 || job.Remaining != 25, "%d retries, and %d remain", job.Retries, job.Remaining)
		if want := "[{},1,2,"; !strings.HasPrefix(string(job.Data), want) || !strings.HasSuffix(string(job.Data), ",998,999]") || len(job.Scores) != 1000 {
			t.Errorf("the data are %.40s…, with %d scores", job.Data, len(job.Scores))
		}
		if put := must(c.Get(t.Context(), job.JID))(t).History[0].When; put < before-1 || put > after+1 {
			t.Errorf("put at %f, between %f and %f", put, before, after)
		}
		for _, score := range job.Scores {
			stop(t, score < before-1 || score > after+1, "the score of one that was put between %f and %f is %f", before, after, score)
		}
	})
}

// TestConnectionsOfAClient: eight are kept for single commands, and whoever finds none free waits as long as for an answer.
func TestConnectionsOfAClient(t *testing.T) {
	s := redistest.Start(t)
	for want, o := range map[int]queue.Options{8: {URL: s.URL}, 3: {URL: s.URL, PoolSize: 3, ReadTimeout: 7 * time.Second}} {
		c := must(queue.Open(t.Context(), o))(t)
		defer c.Close()
		is := c.Redis().(*redis.Client).Options()
		if is.PoolSize != want || is.PoolTimeout != is.ReadTimeout || is.ReadTimeout <= 0 {
			t.Errorf("%d connections, and a wait of %v, where an answer is waited for %v", is.PoolSize, is.PoolTimeout, is.ReadTimeout)
		}
	}
}

// TestNoJIDHasNUL: it is what separates a jid from a number in names of our own. Such a job is refused wherever it is put, and what is put beside it
// is not; an entry of a list that asks for it is no job.
func TestNoJIDHasNUL(t *testing.T) {
	c := fresh(t)
	const says = `jid must have no NUL: "a\x00b"`
	if _, err := c.Put(t.Context(), queue.Put{Queue: "q", JID: "a\x00b", Klass: "K"}); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("put says %v", err)
	}
	results := must(c.PutAll(t.Context(), []queue.Put{{Queue: "q", JID: "a\x00b", Klass: "K"}, {Queue: "q", JID: "b", Klass: "K"}}))(t)
	never(t, results[0].Err == nil || results[1].Err != nil, "puts say %+v", results)
	must(c.PushList(t.Context(), "l", []byte("x")))(t)
	done := must(c.TakeIn(t.Context(), "l", "q", 0, []queue.Intake{{Entry: "x", Put: queue.Put{Queue: "q", JID: "a\x00b", Klass: "K"}}}))(t)
	never(t, done.Broken != 1 || done.Jobs != 0 || !strings.Contains(done.Why, says), "taken in: %+v", done)
	s := session(t, c, "w")
	reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
	r := settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete, Puts: []queue.Put{{Queue: "q", JID: "a\x00b", Klass: "K"}}})
	if n := c.Redis().Exists(t.Context(), "ql:j:a\x00b").Val(); n != 0 {
		t.Errorf("it was put; the settlement says %+v", r)
	}
}
