package queue_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// A queue is nobody's where supervisors work others, and no worker of any kind has taken from it.
func TestServed(t *testing.T) {
	server := redistest.Shared(t)
	c, ctx := openURL(t, server.URL), t.Context()
	nobody := func(name string) bool {
		t.Helper()
		s, err := c.Served(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		return s.Nobody()
	}
	if nobody("typo") {
		t.Error("without any supervisor of ours it accuses a queue")
	}
	if err := c.NoteServed(ctx, []string{"reports", "mail-*"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"reports": false, "mail-7": false, "reportz": true} {
		if nobody(name) != want {
			t.Errorf("%s is nobody's: %v, want %v", name, !want, want)
		}
	}
	putAll(t, c, queue.Put{Queue: "foreign", JID: "a", Klass: "k", Data: []byte("{}")})
	if !nobody("foreign") {
		t.Error("a put counts as work")
	}
	if jobs, err := c.Pop(ctx, "foreign", "another program's", 1); err != nil || len(jobs) != 1 {
		t.Fatalf("popped %v, %v", jobs, err)
	}
	if nobody("foreign") {
		t.Error("what a foreign worker takes from is called nobody's")
	}
	if _, err := server.Client(t).ZAdd(ctx, "ql:oarlock:served", redis.Z{Score: c.Now() - 700, Member: "reports"}).Result(); err != nil {
		t.Fatal(err)
	}
	if !nobody("reports") {
		t.Error("a supervisor that left ten minutes ago still works its queues")
	}
}
