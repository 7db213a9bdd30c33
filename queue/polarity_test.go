package queue

import (
	"fmt"
	"slices"
	"testing"
)

// low makes lower priorities come first in some queues, whose compiled rules are given.
func (w *gateWorld) low(rules string, queues ...string) {
	w.t.Helper()
	known, err := w.client.Rules(w.t.Context())
	must0(w.t, err)
	r := NewRules{Doc: "{}", LowFirst: queues}
	for _, queue := range queues {
		if rules != "" {
			r.Queues = append(r.Queues, RuledQueue{Queue: queue, Rules: rules})
		}
	}
	_, err = w.client.InstallRules(w.t.Context(), known.Version, r)
	must0(w.t, err)
}

// Lower numbers come first; ours see the number that was said, whoever looks, changes or moves it, and other clients what the protocol
// means by it.
func TestLowFirst(t *testing.T) {
	w := newGateWorld(t)
	ctx, c := t.Context(), w.client
	w.low("", "low", "other")
	p := func(n float64) *float64 { return &n }
	w.put(Put{Queue: "low", JID: "seven", Priority: p(7)}, Put{Queue: "low", JID: "none"}, Put{Queue: "low", JID: "one", Priority: p(1)},
		Put{Queue: "low", JID: "zero", Priority: p(0)}, Put{Queue: "low", JID: "half", Priority: p(0.1)}, Put{Queue: "high", JID: "high", Priority: p(3)})
	priority := func(jid string) float64 {
		t.Helper()
		job, err := c.Get(ctx, jid)
		must0(t, err)
		return job.Priority
	}
	stored := func(jid string) string { return c.redis.HGet(ctx, "ql:j:"+jid, "priority").Val() }
	for jid, want := range map[string]struct {
		shown  float64
		stored string
	}{"seven": {7, "-7"}, "none": {100, "-100"}, "one": {1, "-1"}, "zero": {0, "0"}, "half": {0.1, "-0.10000000000000001"}, "high": {3, "3"}} {
		if got := priority(jid); got != want.shown || stored(jid) != want.stored {
			t.Errorf("%s has %v, stored as %s", jid, got, stored(jid))
		}
	}
	must0(t, c.SetPriority(ctx, "none", 5))
	must0(t, c.SetPriority(ctx, "high", 4))
	seen, err := c.Get(ctx, "seven")
	must0(t, err)
	change := seen.Amend(AmendPriority)
	change.Priority = 0.5
	amended, err := c.Amend(ctx, []Amendment{change})
	must0(t, err)
	if priority("none") != 5 || priority("high") != 4 || priority("seven") != 0.5 {
		t.Errorf("changed: %v, %v, %v; %+v", priority("none"), priority("high"), priority("seven"), amended)
	}
	w.put(Put{Queue: "low", JID: "one"}) // put again without one
	if priority("one") != 1 {
		t.Errorf("put again it has %v", priority("one"))
	}
	var order []string
	for _, job := range w.take("w", 9, "low") {
		order = append(order, fmt.Sprintf("%s %v", job.JID, job.Priority))
	}
	if want := []string{"zero 0", "half 0.1", "seven 0.5", "one 1", "none 5"}; !slices.Equal(order, want) {
		t.Errorf("taken are %q, want %q", order, want)
	}
	args, _ := wishArgs("w", []Wish{{JID: "zero", Popped: w.now, Target: "none", Verb: "priority", Priority: 9}})
	if answer := w.call("wish", args...); priority("none") != 9 || stored("none") != "-9" {
		t.Errorf("wished for it has %v: %v", priority("none"), answer)
	}
	w.put(Put{Queue: "high", JID: "seven"})
	if priority("seven") != 0.5 || stored("seven") != "0.5" {
		t.Errorf("moved it has %v, stored as %s", priority("seven"), stored("seven"))
	}
	one := w.take("w", 1, "high")[0]
	reply := w.exchange("w", []Settlement{{JID: one.JID, Queue: "high", Popped: one.Popped, Action: Complete, Next: "other"}}, Take{})
	if reply.Results[0].State != "waiting" || priority(one.JID) != one.Priority || stored(one.JID) != "-4" {
		t.Errorf("it went on as %+v, with %v, stored as %s", reply.Results[0], priority(one.JID), stored(one.JID))
	}
	last := w.take("w", 1, "other")[0]
	w.exchange("w", done(last), Take{})
	if priority(last.JID) != last.Priority || stored(last.JID) != "-4" { // it is in no queue any more
		t.Errorf("complete it has %v, stored as %s", priority(last.JID), stored(last.JID))
	}
	w.put(Put{Queue: "other", JID: "stays"})
	if cleared, err := c.Clear(ctx, Clearing{Queue: "other", To: "high"}); err != nil || len(cleared.Left) != 1 {
		t.Errorf("all at once: %+v, %v", cleared, err)
	}
}

// TestTheTableOfTimesAndPriorities: by the minute, and within that the lower number first.
func TestTheTableOfTimesAndPriorities(t *testing.T) {
	w := newGateWorld(t)
	w.low(`{"shape":"a","slice":60}`, "q")
	start := 1763700000.0 - 1763700000%3600
	var want []string
	for _, job := range []struct{ minute, priority float64 }{{40, 7}, {33, 100}, {32, 700}, {40, 1}, {33, 50}} {
		w.now = start + 60*job.minute
		w.put(Put{Queue: "q", JID: fmt.Sprintf("%v/%v", job.minute, job.priority), Priority: &job.priority})
	}
	w.now = start + 3600
	for _, job := range w.take("w", 9, "q") {
		want = append(want, job.JID)
	}
	if !slices.Equal(want, []string{"32/700", "33/50", "33/100", "40/1", "40/7"}) {
		t.Errorf("taken are %q", want)
	}
}

// A job that waits for an answer has no place of a throttle whose rules say so, and asks for it again, before those that came in later.
func TestPlacesThatAreFreeWhileParked(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["free","hold","by"],"by":{"by":["klass"]}}`},
		map[string]string{"free": `{"limit":1,"free":true,"patience":60}`, "hold": `{"limit":9,"patience":60}`, "by": `{"limit":9,"each":1,"by":["klass"],"free":true,"patience":60}`})
	w.put(Put{Queue: "q", JID: "asks", Klass: "K"}, Put{Queue: "q", JID: "second", Klass: "K"}, Put{Queue: "q", JID: "third", Klass: "K"})
	asks := w.take("w", 9, "q")
	if len(asks) != 1 || asks[0].JID != "asks" {
		t.Fatalf("taken are %+v", asks)
	}
	second := w.exchange("w", []Settlement{{JID: "asks", Queue: "q", Popped: asks[0].Popped, Action: Park, Correlation: "c", Delay: 1e12}}, Take{Queues: []string{"q"}, Count: 9}).Jobs
	if len(second) != 1 || second[0].JID != "second" || w.many("free") != 1 || w.many("hold") != 2 || w.many("by=K") != 1 {
		t.Fatalf("taken while it waits: %+v; of free are held %d, of hold %d, of by=K %d", second, w.many("free"), w.many("hold"), w.many("by=K"))
	}
	answered, err := w.client.Respond(t.Context(), Response{Klass: "K", Correlation: "c"})
	must0(t, err)
	if more := w.take("w", 9, "q"); len(more) != 0 || answered.Word != Resumed {
		t.Fatalf("answered (%s) it does not wait for its places: %+v", answered.Word, more)
	}
	w.tend("q")
	last := w.exchange("w", done(second...), Take{Queues: []string{"q"}, Count: 9}).Jobs
	if len(last) != 1 || last[0].JID != "asks" || last[0].Answer == nil || w.many("free") != 1 || w.many("hold") != 1 {
		t.Fatalf("when there is room goes on: %+v; of free are held %d, of hold %d", last, w.many("free"), w.many("hold"))
	}
	third := w.exchange("w", done(last...), Take{Queues: []string{"q"}, Count: 9}).Jobs
	if len(third) != 1 || third[0].JID != "third" {
		t.Fatalf("then: %+v", third)
	}
	w.exchange("w", done(third...), Take{})
	if w.many("free")+w.many("hold")+w.many("by=K") != 0 {
		t.Errorf("at the end are held %d, %d, %d", w.many("free"), w.many("hold"), w.many("by=K"))
	}
}
