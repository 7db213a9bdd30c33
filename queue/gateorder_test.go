package queue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// order takes all jobs of queue q, one by one, and tells them in that order.
func (w *gateWorld) order() string {
	w.t.Helper()
	var jids []string
	for {
		jobs := w.take("w", 1, "q")
		if len(jobs) == 0 {
			return strings.Join(jids, " ")
		}
		jids = append(jids, jobs[0].JID)
		w.exchange("w", done(jobs...), Take{})
	}
}

func (w *gateWorld) putAt(at float64, jid string, priority float64) {
	w.t.Helper()
	w.now = at
	w.put(Put{Queue: "q", JID: jid, Klass: "K", Data: []byte("{}"), Priority: &priority})
}

// TestTimeBeforePriority is the table of hipq: within a minute the priority counts, lower first, which is a higher one
// stored with another sign.
func TestTimeBeforePriority(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","slice":60}`}, nil)
	minute := func(n int) float64 { return 1763700000 + float64(60*n) }
	w.putAt(minute(40)+2, "10:40/7", -7)
	w.putAt(minute(40)+1, "10:40/1", -1)
	w.putAt(minute(33)+1, "10:33/100", -100)
	w.putAt(minute(33)+2, "10:33/50", -50)
	w.putAt(minute(32)+50, "10:32/700", -700)
	w.now = minute(50)
	if got, want := w.order(), "10:32/700 10:33/50 10:33/100 10:40/1 10:40/7"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// TestAgeing: a job is preceded only by those that were put before its time and what a point of priority is worth.
func TestAgeing(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","ageing":60}`}, nil)
	at := 1763700000.0
	w.putAt(at, "low", 0)
	w.putAt(at+599, "high-soon", 10)
	w.putAt(at+601, "high-late", 10)
	w.putAt(at+602, "low-late", 0)
	if got, want := w.order(), "high-soon low high-late low-late"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// TestOrderChanges puts jobs under one order after another: each holds for all of them, and in the end the queue is an
// ordinary one again, with nothing left of rules.
func TestOrderChanges(t *testing.T) {
	w := newGateWorld(t)
	at, n := 1763700000.0, 0
	more := func() {
		for range 150 {
			n++
			w.putAt(at+float64(n), fmt.Sprintf("j%04d", n), float64(n%3))
		}
	}
	orders := []string{`{"shape":"a","slice":60}`, `{"shape":"b","ageing":30,"throttles":["x"]}`, `{"shape":"b","slice":3600,"throttles":["x"]}`,
		`{"shape":"c","throttles":["x"]}`}
	for _, rules := range orders {
		w.rule(map[string]string{"q": rules}, map[string]string{"x": `{"limit":1,"patience":60}`})
		more()
		w.exchange("w", done(w.take("w", 1, "q")...), Take{})
	}
	w.rule(nil, nil)
	for range 100 {
		if w.redis.HExists(t.Context(), "ql:oarlock:rules", "q:q").Val() {
			w.exchange("w", nil, Take{Queues: []string{"q"}, Count: 1})
		}
	}
	if w.redis.HExists(t.Context(), "ql:oarlock:rules", "q:q").Val() {
		t.Fatal("the queue is still ruled")
	}
	if keys := w.ownKeys(); len(keys) > 0 {
		t.Errorf("keys are left: %q", keys)
	}
	jids, last := w.redis.ZRangeArgs(t.Context(), redis.ZRangeArgs{Key: "ql:q:q-work", Start: 0, Stop: -1, Rev: true}).Val(), 2
	if len(jids) < n-len(orders)-1 {
		t.Errorf("%d jobs of %d are there", len(jids), n)
	}
	for _, jid := range jids {
		if fields := w.redis.HMGet(t.Context(), "ql:j:"+jid, "throttles", "oarlock-gate").Val(); fields[0] != nil || fields[1] != nil {
			t.Fatalf("%s still has %v", jid, fields)
		}
		var number int
		fmt.Sscanf(jid, "j%d", &number)
		if number%3 > last {
			t.Fatalf("%s comes behind one of priority %d", jid, last)
		}
		last = number % 3
	}
}
