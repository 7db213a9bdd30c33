package supervisor

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/queue"
	"oarlock/runner"
)

// ledgerLines are what the children of keyed.py wrote: words of what, key, jid, pid.
func (w *world) ledgerLines() (lines [][]string) {
	text, _ := os.ReadFile(w.ledger) // there is none before the first
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.Split(strings.TrimSpace(line), "\t"))
	}
	return lines
}

// TestJobsOfAKeyRunInOrder lets two supervisors work many keys, whose jobs retry, and whose children die: in
// each key the jobs end in the order in which they were put, and never two live at a time.
func TestJobsOfAKeyRunInOrder(t *testing.T) {
	w := newWorld(t)
	keys, each := scaled(6, 12), scaled(4, 6)
	var puts []queue.Put
	for n := range each {
		for k := range keys {
			data := fmt.Sprintf(`{"ledger": %q, "die": %d, "again": %d}`, w.ledger, (n+k)%5/4, (n+2*k)%7/6)
			puts = append(puts, queue.Put{Queue: "q", JID: fmt.Sprintf("j%d", n*keys+k), Key: fmt.Sprintf("key %d", k), Klass: "K", Data: []byte(data)})
		}
	}
	results, err := w.client.PutAll(t.Context(), puts)
	if err != nil || slices.ContainsFunc(results, func(r queue.PutResult) bool { return r.Err != nil }) {
		t.Fatal(results, err)
	}
	for _, name := range []string{"a", "b"} {
		w.run(Config{Name: name, Pools: []Pool{w.pool(runner.Reuse, "keyed.py", 3)}})
	}
	w.await(keys*each, "complete")
	last := map[string]int{}
	for _, line := range w.ledgerLines() {
		var n int
		fmt.Sscanf(line[2], "j%d", &n)
		switch {
		case line[0] == "beside":
			t.Errorf("%s of %s was at work when the next began", line[2], line[1])
		case line[0] == "begin" && n < last[line[1]]:
			t.Errorf("%s of %s began after j%d", line[2], line[1], last[line[1]])
		case line[0] == "begin" && n > last[line[1]]+keys:
			t.Errorf("%s of %s began right after j%d", line[2], line[1], last[line[1]])
		}
		last[line[1]] = n
	}
	if names, err := w.client.Redis().Keys(t.Context(), "ql:oarlock:turns:*").Result(); err != nil || len(names) > 0 {
		t.Errorf("when all are complete there is still %q, %v", names, err)
	}
}

// TestAKeyWaitsForTheDeathOfACanceledJob cancels a running job whose child is deaf to TERM: the next of its key begins
// when that is dead, and long before its lock would have ended.
func TestAKeyWaitsForTheDeathOfACanceledJob(t *testing.T) {
	w := newWorld(t)
	w.cancelDeaf(queue.Put{Queue: "q", Klass: "K", Key: "k"}, "waiting")
}

// cancelDeaf puts two jobs like one, and cancels the first when it runs and the second waits as it should: its child is deaf to TERM. The second
// is to begin when that is dead, and long before the lock of the first would have ended.
func (w *world) cancelDeaf(like queue.Put, waits string) {
	t := w.t
	t.Helper()
	state := func() string { return w.client.Redis().HGet(t.Context(), "ql:j:j1", "state").Val() }
	must(t, w.client.Set(t.Context(), "heartbeat", "600"))
	for i, data := range []string{`{"ledger": %q, "deaf": true, "sleep": 600}`, `{"ledger": %q}`} {
		put := like
		put.JID, put.Data = fmt.Sprintf("j%d", i), fmt.Appendf(nil, data, w.ledger)
		must(t, errOf(w.client.Put(t.Context(), put)))
	}
	w.run(Config{Pools: []Pool{w.pool(runner.Reuse, "keyed.py", 2)}})
	until(t, "the first begins, and the other waits", func() bool { return len(w.ledgerLines()) > 0 && state() == waits })
	must(t, w.client.Cancel(t.Context(), "j0"))
	until(t, "the next is over", func() bool { return state() == "complete" })
	for _, line := range w.ledgerLines() {
		if line[0] == "beside" {
			t.Errorf("%s was at work when the next began", line[2])
		}
	}
}

// TestAKeyGoesOnBehindOtherClients lets a client that knows no keys complete the job with the turn: the next begins by
// the look, and an event tells of it.
func TestAKeyGoesOnBehindOtherClients(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		put := queue.Put{Queue: "q", JID: fmt.Sprintf("j%d", i), Key: "k", Klass: "K", Data: fmt.Appendf(nil, `{"ledger": %q}`, w.ledger)}
		must(t, errOf(w.client.Put(t.Context(), put)))
	}
	// What such a client leaves of the first.
	redis := w.client.Redis()
	redis.ZRem(t.Context(), "ql:q:q-work", "j0")
	redis.HSet(t.Context(), "ql:j:j0", "state", "complete", "queue", "")
	redis.Do(t.Context(), "zadd", "ql:completed", time.Now().Unix(), "j0")
	told := make(chan Event, 100)
	w.run(Config{Pools: []Pool{w.pool(runner.Reuse, "keyed.py", 2)}, OnEvent: func(e Event) {
		if e.Kind == Tended {
			told <- e
		}
	}})
	w.await(3, "complete")
	if e := <-told; e.Message != "turns that went on (ended): 1" || e.Tended.Mended[queue.TurnEnded] != 1 {
		t.Errorf("told is %q, %+v", e.Message, e.Tended)
	}
}
