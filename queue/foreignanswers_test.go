package queue

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// refusedAbroad is the text with which a command of another client is refused.
func (w *gateWorld) refusedAbroad(words ...string) string {
	w.t.Helper()
	before := dump(w.t.Context(), w.redis)
	reply, err := callUnified(w.t.Context(), w.lab, Qless, step{Argv: append([]string{words[0], fmt.Sprintf("%.3f", w.now)}, words[1:]...)})
	if err == nil {
		w.t.Fatalf("%q is answered %v", words, reply)
	}
	for key, now := range dump(w.t.Context(), w.redis) {
		if before[key] != now {
			w.t.Errorf("%q is refused, and changes %s", words, key)
		}
	}
	return err.Error()
}

// TestAnotherClientParks: a worker of another client lets a job wait for an answer, by the unified script; whoever answers, by whichever door, it comes back to
// the front, and its worker reads the answer, also when it was tried again or its first worker died; in a queue with rules it has kept its places.
func TestAnotherClientParks(t *testing.T) {
	for dialect, pop := range pops {
		for _, queue := range []string{"plain", "q"} {
			t.Run(string(dialect)+" "+queue, func(t *testing.T) {
				w := newForeignWorld(t)
				w.foreign(dialect, map[Dialect]string{Qless: "put", Reqless: "queue.put"}[dialect], "other", queue, "j", "Pay", `{"order":17}`, "0")
				run := func(worker string) {
					t.Helper()
					if jobs := w.pop(dialect, pop, queue, worker, 2); len(jobs) != 1 || jobs[0].JID != "j" {
						t.Fatalf("%s pops %v", worker, jobs)
					}
				}
				response := func(worker string) (data string) {
					t.Helper()
					var told struct {
						Correlation string
						Data        json.RawMessage
					}
					if text := w.foreign(dialect, "oarlock.response", "j", worker); text != nil {
						must0(t, json.Unmarshal([]byte(text.(string)), &told))
						if told.Correlation != "order-17" {
							t.Errorf("answered is %v", text)
						}
					}
					return string(told.Data)
				}
				run("ruby")
				if got := response("ruby"); got != "" {
					t.Errorf("before it parks it is answered %s", got)
				}
				places := w.many("erp")
				if got := w.foreign(dialect, "oarlock.park", "j", "ruby", queue, "order-17", "3600", "data", `{"asked":true}`); got != "scheduled" || w.many("erp") != places {
					t.Fatalf("it is %v, with %d places of %d", got, w.many("erp"), places)
				}
				w.now += 10
				if jobs := w.pop(dialect, pop, queue, "ruby", 2); len(jobs) > 0 {
					t.Fatalf("popped is %v, which waits", jobs)
				}
				if got := w.foreign(dialect, "oarlock.respond", "Pay", "order-17", `{"paid": 1}`); got != "resumed" {
					t.Errorf("its answer is %v", got)
				}
				if got := w.foreign(dialect, "oarlock.respond", "Pay", "order-17", `{"paid": 2}`); got != "again" {
					t.Errorf("its second answer is %v", got)
				}
				run("ruby")
				if got := response("other"); got != "" {
					t.Errorf("another worker is told %s", got)
				}
				if got := response("ruby"); got != `{"paid": 1}` || w.redis.HGet(t.Context(), "ql:j:j", "data").Val() != `{"asked":true}` {
					t.Errorf("it is answered %s", got)
				}
				w.foreign(dialect, map[Dialect]string{Qless: "retry", Reqless: "job.retry"}[dialect], "j", queue, "ruby", "0")
				run("python")
				if got := response("python"); got != `{"paid": 1}` {
					t.Errorf("when it is tried again it is answered %q", got)
				}
				w.lose(queue, "j")
				run("php")
				if got := response("php"); got != `{"paid": 1}` {
					t.Errorf("after a death it is answered %q", got)
				}
				// An answer that an attempt was given is none to what it asks next.
				if got := w.foreign(dialect, "oarlock.park", "j", "php", queue, "order-17", "60"); got != "scheduled" {
					t.Errorf("it asks again, and is %v", got)
				}
				w.now += 61
				run("php")
				if got := response("php"); got != "" {
					t.Errorf("when it has waited in vain it is answered %q", got)
				}
				if got := w.foreign(dialect, map[Dialect]string{Qless: "complete", Reqless: "job.complete"}[dialect], "j", "php", queue, "{}"); got != "complete" || w.many("erp") != 0 {
					t.Errorf("it is %v, with %d places", got, w.many("erp"))
				}
				if got := w.foreign(dialect, "oarlock.respond", "Pay", "order-17", "3"); got != "late" {
					t.Errorf("an answer to what is over is %v", got)
				}
			})
		}
	}
}

// TestOneParksAnotherGoesOn: what a worker of ours parked goes on with one of another client, and the other way round; each is told the answer.
func TestOneParksAnotherGoesOn(t *testing.T) {
	for _, queue := range []string{"plain", "q"} {
		t.Run(queue, func(t *testing.T) {
			w := newForeignWorld(t)
			w.put(Put{Queue: queue, JID: "ours", Klass: "K"}, Put{Queue: queue, JID: "theirs", Klass: "K"})
			park := done(w.take("w", 1, queue)...)
			park[0].Action, park[0].Correlation, park[0].Delay = Park, "a", time.Hour
			w.exchange("w", park, Take{})
			w.pop(Qless, "pop", queue, "ruby", 1)
			w.foreign(Qless, "oarlock.park", "theirs", "ruby", queue, "b", "3600")
			w.foreign(Qless, "oarlock.respond", "K", "a", "1")
			if jobs := w.pop(Qless, "pop", queue, "ruby", 1); len(jobs) != 1 || !strings.Contains(fmt.Sprint(w.foreign(Qless, "oarlock.response", "ours", "ruby")), `"data":1`) {
				t.Errorf("with the answer to ours goes on %v", jobs)
			}
			w.call("respond", (&Response{Klass: "K", Correlation: "b", Data: []byte("2")}).words()...)
			if jobs := w.take("w", 1, queue); len(jobs) != 1 || jobs[0].JID != "theirs" || jobs[0].Answer == nil || string(jobs[0].Answer.Data) != "2" {
				t.Errorf("with the answer to theirs goes on %+v", jobs)
			}
		})
	}
}

// TestParkingByNameGivesPlacesBack: of a throttle that is free while a job is parked, and whoever waits for the place has it.
func TestParkingByNameGivesPlacesBack(t *testing.T) {
	w := gateWorldOn(t, "redis")
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["erp"]}`}, map[string]string{"erp": `{"limit":1,"free":true,"patience":60}`})
	w.put(putsOf(2, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	if jobs := w.pop(Qless, "pop", "q", "ruby", 2); len(jobs) != 1 {
		t.Fatalf("%v begin", jobs)
	}
	if queues := w.wakesOf(func() { w.foreign(Qless, "oarlock.park", "j0000", "ruby", "q", "c", "60") }); len(queues) != 1 || w.many("erp") != 0 {
		t.Errorf("woken are %v, and %d places are taken", queues, w.many("erp"))
	}
	if jobs := w.pop(Qless, "pop", "q", "ruby", 2); len(jobs) != 1 || jobs[0].JID != "j0001" {
		t.Errorf("then begins %v", jobs)
	}
}

// TestParkAndRespondAreRefused: with a reason, and nothing changes.
func TestParkAndRespondAreRefused(t *testing.T) {
	w := newForeignWorld(t)
	w.put(Put{Queue: "q", JID: "j", Klass: "K"}, Put{Queue: "q", JID: "waits", Klass: "K"})
	w.pop(Qless, "pop", "q", "ruby", 1)
	for _, tt := range []struct{ words, says string }{
		{"oarlock.park", "Job(): no jid provided"},
		{"oarlock.park j", `Park(): Arg "worker" missing`},
		{"oarlock.park j ruby q", `Park(): Arg "correlation" missing`},
		{"oarlock.park j ruby q c", `Park(): Arg "seconds" missing or not a number`},
		{"oarlock.park j ruby q c inf", `Park(): Arg "seconds" not a finite number`},
		{"oarlock.park j ruby q c 0", "Park(): a park without an end"},
		{"oarlock.park j ruby q c 9 then fail", "Park(): then must be complete: fail"},
		{"oarlock.park j ruby q c 9 data {", "Expected object key string"},
		{"oarlock.park j other q c 9", "Park(): given to another worker: ruby"},
		{"oarlock.park waits ruby q c 9", "Park(): not running but waiting"},
		{"oarlock.park gone ruby q c 9", "Park(): the job does not exist"},
		{"oarlock.respond K c", `Respond(): Arg "data" missing`},
		{"oarlock.respond K c {", "Respond(): the answer is no JSON"},
		{"oarlock.respond K c nan", "Respond(): the answer is no JSON"},
		{"oarlock.respond K c 1 end well", "Respond(): bad end: it is complete or fail, not well"},
		{"oarlock.response", "Job(): no jid provided"},
	} {
		if text := w.refusedAbroad(strings.Fields(tt.words)...); !strings.Contains(text, tt.says) {
			t.Errorf("%s: %s", tt.words, text)
		}
	}
	if text := w.refusedAbroad("oarlock.park", "j", "ruby", "q", "", "9"); !strings.Contains(text, "Park(): the correlation is empty") {
		t.Error(text)
	}
}
