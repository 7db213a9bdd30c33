package queue

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// amend changes a job as whoever looks at it now sees it.
func (w *gateWorld) amend(jid string, change Change) {
	w.t.Helper()
	f := w.redis.HMGet(w.t.Context(), "ql:j:"+jid, "state", "time").Val()
	if raw := w.call("amend", jid, f[0], f[1], string(change), 0); raw.([]any)[0] != "done" {
		w.t.Fatalf("%s of %s: %v", change, jid, raw)
	}
}

// wakesOf does something and tells of which queues was said meanwhile that something can be taken.
func (w *gateWorld) wakesOf(do func()) (queues []string) {
	w.t.Helper()
	w.private(w.t)
	ctx := w.t.Context()
	sub := w.redis.Subscribe(ctx, "ql:oarlock:wake")
	defer sub.Close()
	_, err := sub.Receive(ctx)
	must0(w.t, err)
	do()
	must0(w.t, w.redis.Publish(ctx, "ql:oarlock:wake", "that was all").Err())
	for {
		m, err := sub.ReceiveMessage(ctx)
		must0(w.t, err)
		if m.Payload == "that was all" {
			return queues
		}
		queues = append(queues, m.Payload)
	}
}

// left says that the attempt of a job which was taken from us is over.
func left(job Taken) []Settlement {
	return []Settlement{{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Places: job.Places, Action: LeaveTurn}}
}

// TestPlacesOfAnAttemptThatWasTakenAway: a job that runs is canceled, taken back, or put again by another: its child lives on for a moment, and
// until it is said to be gone, or its lock would have ended, nobody has its places. Then whoever waits is told at once.
func TestPlacesOfAnAttemptThatWasTakenAway(t *testing.T) {
	deeds := map[string]func(w *gateWorld, jid string){
		"cancel":    func(w *gateWorld, jid string) { w.amend(jid, AmendCancel) },
		"take back": func(w *gateWorld, jid string) { w.amend(jid, AmendTimeout) },
		"put": func(w *gateWorld, jid string) {
			w.put(Put{Queue: "elsewhere", JID: jid, Klass: "Heavy", Data: []byte("{}")})
		},
	}
	for name, deed := range deeds {
		for _, said := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", and its end is said: ", said), func(t *testing.T) {
				w := gateWorldOn(t, "redis")
				w.rule(map[string]string{"q": `{"shape":"a","throttles":["erp"],"klass":{"Heavy":{"weight":2}}}`}, map[string]string{"erp": `{"limit":2,"patience":60}`})
				w.put(Put{Queue: "q", JID: "first", Klass: "Heavy", Data: []byte("{}")})
				first := w.take("mine", 1, "q")
				w.put(putsOf(3, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
				if jobs := w.take("w", 3, "q"); len(jobs) > 0 {
					t.Fatalf("beside it run %v", jobs)
				}
				deed(w, "first")
				for range 8 { // mending does not take what may be in use
					w.now += 1
					w.tend("q")
					if jobs := w.take("w", 3, "q"); len(jobs) > 0 || w.many("erp") != 2 {
						t.Fatalf("while its child may live %d begin, and %d places are taken", len(jobs), w.many("erp"))
					}
				}
				if said {
					woken := w.wakesOf(func() { w.exchange("mine", left(first[0]), Take{}) })
					if !slices.Equal(woken, []string{"q"}) || w.many("erp") != 0 {
						t.Errorf("after its end those are woken who work %q, and %d places are taken", woken, w.many("erp"))
					}
					w.exchange("mine", left(first[0]), Take{}) // it may be said twice
				} else {
					for w.now = first[0].Expires + 1; w.many("erp") > 0 && w.now < first[0].Expires+12; w.now++ {
						w.tend("q")
					}
				}
				if jobs := w.take("w", 3, "q"); len(jobs) == 0 || w.many("erp") != 2 {
					t.Errorf("then %d begin, and %d places are taken", len(jobs), w.many("erp"))
				}
			})
		}
	}
}

// TestPlacesOfWhoDoesNotRun: a job that waits for an answer and has places is canceled: nothing of it lives, so they are free at once,
// and so are those of one that lost its lock.
func TestPlacesOfWhoDoesNotRun(t *testing.T) {
	rules := map[string]string{"q": `{"shape":"a","throttles":["erp"]}`}
	limits := map[string]string{"erp": `{"limit":1,"patience":60}`}
	t.Run("parked", func(t *testing.T) {
		w := gateWorldOn(t, "redis")
		w.rule(rules, limits)
		w.put(putsOf(2, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
		first := w.take("w", 1, "q")
		w.exchange("w", []Settlement{{JID: first[0].JID, Queue: "q", Popped: first[0].Popped, Action: Park, Correlation: "c", Delay: time.Hour}}, Take{Queues: []string{"q"}, Count: 1})
		if w.many("erp") != 1 {
			t.Fatal("it gave its place back")
		}
		if woken := w.wakesOf(func() { w.amend(first[0].JID, AmendCancel) }); !slices.Equal(woken, []string{"q"}) || len(w.take("w", 1, "q")) != 1 {
			t.Errorf("woken is %q", woken)
		}
	})
	t.Run("lost", func(t *testing.T) {
		w := gateWorldOn(t, "redis")
		w.rule(rules, limits)
		w.put(putsOf(1, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
		first := w.take("w", 1, "q")
		w.put(Put{Queue: "q", JID: "waits", Klass: "K", Data: []byte("{}")})
		w.take("w", 1, "q")
		w.now = first[0].Expires + 1
		w.tend("q")
		w.call("sweep", 10, "q")
		w.now += 11 // the grace period
		w.tend("q")
		if woken := w.wakesOf(func() { w.call("sweep", 10, "q") }); len(woken) != 1 || w.redis.ZCard(t.Context(), "ql:oarlock:open:q").Val() != 1 {
			t.Errorf("woken is %q", woken)
		}
	})
}

// TestPlacesOfAnAttemptAfterTheRules: rules are gone, and a job that runs has places by them: those of an attempt that is taken away are free all the same when
// its lock would have ended.
func TestPlacesOfAnAttemptAfterTheRules(t *testing.T) {
	w := newForeignWorld(t)
	w.put(Put{Queue: "q", JID: "j", Klass: "K", Throttles: []string{"erp"}})
	mine := w.take("w", 1, "q")
	w.rule(nil, nil)
	w.now += 6
	w.tend("q")
	if len(mine) != 1 || w.many("erp") != 1 {
		t.Fatalf("%v begins, with %d places", mine, w.many("erp"))
	}
	w.amend("j", AmendTimeout)
	for w.now = mine[0].Expires + 1; w.many("erp") > 0 && w.now < mine[0].Expires+12; w.now++ {
		w.tend("q")
	}
	if w.many("erp") > 0 {
		t.Errorf("left is %q", w.redis.ZRange(t.Context(), "ql:th:erp-locks", 0, -1).Val())
	}
}
