package queue

import (
	"fmt"
	"testing"
)

// TestWhoStandsBehindManyThatSleepBegins: any number of values, or of waitlists of one, may wait at a throttle for a queue that nobody works any more: who
// waits behind them for another goes on.
func TestWhoStandsBehindManyThatSleepBegins(t *testing.T) {
	for name, sleeps := range map[string]func(i int) string{
		"as values":    func(i int) string { return fmt.Sprintf(`{"c":"a%04d","d":"x"}`, i) },
		"as waitlists": func(i int) string { return fmt.Sprintf(`{"c":"b0","d":"x%04d"}`, i) },
	} {
		for _, many := range []int{150, 1250} {
			t.Run(fmt.Sprint(many, " ", name), func(t *testing.T) {
				w := newGateWorld(t)
				rules := `{"shape":"%s","throttles":["one","d"],"by":{"one":["path","c"],"d":["path","d"]}}`
				w.rule(map[string]string{"dead": fmt.Sprintf(rules, "a"), "live": fmt.Sprintf(rules, "b")},
					map[string]string{"one": `{"limit":1,"patience":60,"by":["path","c"]}`, "d": `{"patience":60,"by":["path","d"]}`})
				w.put(putsOf(many, func(i int) Put {
					return Put{Queue: "dead", Klass: "K", JID: fmt.Sprintf("a%04d", i), Data: []byte(sleeps(i))}
				})...)
				running := w.take("wa", 1, "dead")
				w.take("wa", 1, "dead") // the others wait
				w.put(putsOf(3, func(i int) Put {
					return Put{Queue: "live", Klass: "K", JID: fmt.Sprintf("b%d", i), Data: fmt.Appendf(nil, `{"c":"b%d"}`, i)}
				})...)
				w.take("wb", 1, "live")
				w.now += 10
				w.exchange("wa", done(running...), Take{})
				began := 0
				for looks := 0; began < 3; looks++ {
					if looks == 200 {
						t.Fatalf("%d of 3 began", began)
					}
					w.now += 0.987
					w.tend("live")
					jobs := w.take("wb", 1, "live")
					began += len(jobs)
					w.exchange("wb", done(jobs...), Take{})
				}
			})
		}
	}
}

// TestPatienceBehindManyThatSleep: a heavy one whose patience is over gets its places, though many that sleep have waited for longer.
func TestPatienceBehindManyThatSleep(t *testing.T) {
	w := newGateWorld(t)
	rules := `{"shape":"%s","throttles":["erp","d"],"by":{"d":["path","d"]},"klass":{"Heavy":{"weight":2}}}`
	w.rule(map[string]string{"dead": fmt.Sprintf(rules, "a"), "live": fmt.Sprintf(rules, "b")},
		map[string]string{"erp": `{"limit":2,"patience":60}`, "d": `{"patience":60,"by":["path","d"]}`})
	job := func(jid, klass string) Put { return Put{Queue: "live", Klass: klass, JID: jid} }
	w.put(job("l0", "K"), job("l1", "K"))
	running := w.take("wb", 2, "live")
	w.put(putsOf(30, func(i int) Put {
		return Put{Queue: "dead", Klass: "K", JID: fmt.Sprintf("a%02d", i), Data: fmt.Appendf(nil, `{"d":"x%d"}`, i)}
	})...)
	w.take("wa", 1, "dead")
	w.now++
	w.put(job("heavy", "Heavy"))
	w.take("wb", 1, "live")
	w.now += 100
	for i := range 20 { // one of two ends at a time, and a light one is there to take its place
		w.put(job(fmt.Sprint("m", i), "K"))
		w.now++
		jobs := w.exchange("wb", done(running[0]), Take{Queues: []string{"live"}, Count: 2}).Jobs
		if running = append(running[1:], jobs...); len(jobs) > 0 && jobs[0].JID == "heavy" {
			return
		}
		if len(running) == 0 {
			break
		}
	}
	t.Fatalf("it has not begun; of places there are taken %d", w.many("erp"))
}

// TestWhatMayNotRunKeepsNoPlaces: of a queue of which as many run as its setting lets no job can have a place that is free: another queue has it.
func TestWhatMayNotRunKeepsNoPlaces(t *testing.T) {
	w := newGateWorld(t)
	rules := `{"shape":"a","throttles":["two"]}`
	w.rule(map[string]string{"a": rules, "b": rules}, map[string]string{"two": `{"limit":2,"patience":60}`})
	must0(t, w.client.Set(t.Context(), "a-max-concurrency", "1"))
	of := func(queue string, n int) {
		w.put(putsOf(n, func(i int) Put { return Put{Queue: queue, Klass: "K", JID: fmt.Sprintf("%s%02d", queue, i)} })...)
	}
	of("b", 10)
	running := w.take("wb", 2, "b")
	of("a", 3)
	w.take("wa", 2, "a")
	w.now++
	w.take("wb", 2, "b")
	w.exchange("wb", done(running[0]), Take{})
	if jobs := w.take("wa", 2, "a"); len(jobs) != 1 {
		t.Fatalf("of a begins %+v", jobs)
	}
	running = running[1:]
	for began := 2; began < 10; began++ { // while it runs
		w.now += 0.5
		reply := w.exchange("wb", done(running...), Take{Queues: []string{"b"}, Count: 2})
		w.tend("a", "b")
		if running = append(reply.Jobs, w.take("wb", 2, "b")...); len(running) != 1 {
			t.Fatalf("when %d have begun of b there begins %+v", began, running)
		}
	}
}
