package queue_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// FuzzKeys puts jobs of a key by the option and by the tag of clients that know of none, whatever is said of the queue's order: each runs once, those of
// a key in their order and one at a time, nothing is left of the key, and what is no key is refused and leaves nothing.
func FuzzKeys(f *testing.F) {
	for _, key := range []string{"k", " ", "a b", ":", "=x", "!0 - ", "1:q:", "a\nb", "\x00", "%d(", "é\u202e", "\xff", "", strings.Repeat("x", 512), strings.Repeat("x", 513)} {
		f.Add(key, "order=key")
	}
	for _, settings := range []string{"", " ", "order=key turns=fair", "order=key after_fail=hold merge=all", "turns=fairer", "merge=set score=max run_payloads=-1 run_bytes=x", "\x00\xff", "order=key run_payloads=99999999999999999999"} {
		f.Add("k", settings)
	}
	s := redistest.Shared(f)
	c := open(f, s)
	w := session(f, c, "w")
	f.Fuzz(func(t *testing.T, key, settings string) {
		ctx := t.Context()
		ok(t, c.Redis().FlushDB(ctx).Err())
		ok(t, c.Redis().HSet(ctx, "ql:oarlock:rules", "o:q", settings).Err())
		valid := utf8.ValidString(key) && len(key) <= 512
		for _, jid := range []string{"1", "2"} {
			_, err := c.Put(ctx, queue.Put{Queue: "q", JID: jid, Klass: "K", Key: key})
			if (err == nil) != valid {
				t.Fatalf("key %q: %v", key, err)
			}
		}
		want := []string{"1", "2"}
		if !valid {
			if n := c.Redis().Exists(ctx, "ql:j:1", "ql:oarlock:turns:q", "ql:queues").Val(); n != 0 {
				t.Errorf("key %q was refused, and something is there", key)
			}
			return
		}
		if key != "" {
			_, err := c.Put(ctx, queue.Put{Queue: "q", JID: "3", Klass: "K", Tags: []string{"key:" + key}})
			ok(t, err)
			want = append(want, "3")
		}
		var began []string
		for range 10 {
			reply, err := w.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 3})
			if err != nil || len(reply.Broken) > 0 || key != "" && len(reply.Jobs) > 1 {
				t.Fatalf("key %q, settings %q: took %+v, %v", key, settings, reply, err)
			}
			for _, job := range reply.Jobs {
				began = append(began, job.JID)
				if r := settle(t, w, job, queue.Settlement{Action: queue.Complete}); r.State != "complete" {
					t.Fatalf("settled: %+v", r)
				}
			}
		}
		if !slices.Equal(began, want) {
			t.Errorf("key %q, settings %q: began %q", key, settings, began)
		}
		if n := c.Redis().Exists(ctx, "ql:oarlock:turns:q", "ql:oarlock:lanes:q", "ql:oarlock:behind").Val(); n != 0 {
			t.Errorf("key %q, settings %q: keys are left", key, settings)
		}
	})
}
