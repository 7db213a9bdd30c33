package supervisor

import (
	"fmt"
	"testing"
	"time"

	"oarlock/queue"
	"oarlock/runner"
)

// TestAPlaceWaitsForTheDeathOfACanceledJob cancels a running job that has the only place and whose child is deaf to TERM: the next begins
// when that is dead, and long before its lock would have ended.
func TestAPlaceWaitsForTheDeathOfACanceledJob(t *testing.T) {
	w := newWorld(t)
	_, err := w.client.InstallRules(t.Context(), "", queue.NewRules{
		Doc:       "{}",
		Queues:    []queue.RuledQueue{{Queue: "q", Rules: `{"shape":"a","throttles":["one"]}`}},
		Throttles: []queue.RuledThrottle{{Name: "one", Rules: `{"limit":1,"patience":60}`, Limit: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, data := range []string{`{"ledger": %q, "deaf": true, "sleep": 600}`, `{"ledger": %q}`} {
		put := queue.Put{Queue: "q", JID: fmt.Sprintf("j%d", i), Klass: "K", Data: fmt.Appendf(nil, data, w.ledger)}
		if _, err := w.client.Put(t.Context(), put); err != nil {
			t.Fatal(err)
		}
	}
	w.run(Config{Pools: []Pool{w.pool(runner.Reuse, "keyed.py", 2)}})
	until(t, "the first begins, and the other waits", func() bool {
		return len(w.ledgerLines()) > 0 && w.client.Redis().HGet(t.Context(), "ql:j:j1", "state").Val() == "throttled"
	})
	began := time.Now()
	if err := w.client.Cancel(t.Context(), "j0"); err != nil {
		t.Fatal(err)
	}
	until(t, "the next is over", func() bool {
		return w.client.Redis().HGet(t.Context(), "ql:j:j1", "state").Val() == "complete"
	})
	for _, line := range w.ledgerLines() {
		if line[0] == "beside" {
			t.Errorf("%s was at work when the next began", line[2])
		}
	}
	if took := time.Since(began); took > 30*time.Second { // its lock is of 60 s
		t.Errorf("it took %v", took)
	}
}
