package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

const (
	tenantRules    = `{"shape":"a","throttles":["tenant"],"by":{"tenant":["path","tenant"]}}`
	tenantThrottle = `{"limit":100,"patience":60,"by":["path","tenant"]}`
	fairRules      = `{"shape":"a","fair":"fair:q","throttles":["fair:q"],"by":{"fair:q":["path","tenant"]}}`
)

// ofTenant puts jobs of a tenant into q.
func (w *gateWorld) ofTenant(tenant string, n int) {
	w.t.Helper()
	puts := putsOf(n, func(i int) Put {
		return Put{Queue: "q", Klass: "K", JID: fmt.Sprintf("%s-%05d", tenant, i), Data: fmt.Appendf(nil, `{"tenant":%q}`, tenant)}
	})
	for len(puts) > 0 {
		some := puts[:min(100, len(puts))]
		w.now++
		w.call("put", appendPuts([]any{"w"}, some)...)
		puts = puts[len(some):]
	}
}

func tenantOf(job Taken) string {
	tenant, _, _ := strings.Cut(job.JID, "-")
	return tenant
}

// fairConfigurations are ways in which a queue is fair by a tenant, whose limits keep none of four children waiting.
func fairConfigurations() map[string]func(w *gateWorld) {
	throttle := func(rules string) func(w *gateWorld) {
		return func(w *gateWorld) {
			w.rule(map[string]string{"q": tenantRules}, map[string]string{"tenant": rules})
		}
	}
	return map[string]func(w *gateWorld){
		"limit 100": throttle(tenantThrottle),
		"limit 4":   throttle(`{"limit":4,"patience":60,"by":["path","tenant"]}`),
		"each 4":    throttle(`{"each":4,"patience":60,"by":["path","tenant"]}`),
		"fair_by": func(w *gateWorld) {
			w.rule(map[string]string{"q": fairRules}, nil)
		},
		"fair_by, limit 3 of the queue": func(w *gateWorld) {
			w.rule(map[string]string{"q": strings.Replace(fairRules, `{`, `{"limited":true,"limit_of_queue":3,`, 1)}, nil)
		},
	}
}

// TestNoTenantStarvesTheOthers: one has put 2,000 jobs before ten put four each, and there are four children: as soon as those are filed, all of them
// begin within as many starts as take them and one of the first between two rounds.
func TestNoTenantStarvesTheOthers(t *testing.T) {
	for name, configure := range fairConfigurations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newGateWorld(t)
			configure(w)
			w.ofTenant("flood", 2000)
			running := w.take("w", 4, "q")
			for i := range 10 {
				w.ofTenant(fmt.Sprint("small", i), 4)
			}
			begun := map[string]int{}
			starts, small, filed := 0, 0, 0
			for small < 40 && starts < 300 {
				w.now += 0.02
				jobs := w.exchange("w", done(running[0]), Take{Queues: []string{"q"}, Count: 1}).Jobs
				if len(jobs) != 1 {
					t.Fatalf("after %d starts %d begin", starts, len(jobs))
				}
				running = append(running[1:], jobs...)
				starts++
				if tenant := tenantOf(jobs[0]); tenant != "flood" {
					small++
					begun[tenant]++
				}
				if filed == 0 && w.redis.ZCard(t.Context(), "ql:q:q-work").Val() == 0 {
					filed = starts
				}
			}
			t.Logf("%d small ones began within %d starts, all were filed after %d", small, starts, filed)
			if small < 40 || starts-filed > 4*11+4 || filed > 2040/64+2 {
				t.Errorf("%d small ones began within %d starts, all were filed after %d: %v", small, starts, filed, begun)
			}
		})
	}
}

// TestTheFairQueueEndsAll: everything that is put into a fair queue runs once, and nothing of the gate is left.
func TestTheFairQueueEndsAll(t *testing.T) {
	for name, configure := range fairConfigurations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newGateWorld(t)
			configure(w)
			for i := range 20 {
				w.ofTenant(fmt.Sprint("t", i), 1+i%7)
			}
			ran, running := map[string]bool{}, w.take("w", 4, "q")
			for len(running) > 0 {
				for _, job := range running {
					if ran[job.JID] {
						t.Fatalf("%s runs twice", job.JID)
					}
					ran[job.JID] = true
				}
				w.now++
				running = w.exchange("w", done(running...), Take{Queues: []string{"q"}, Count: 4}).Jobs
			}
			if keys := w.ownKeys(); len(keys) > 0 || len(ran) != 77 {
				t.Errorf("%d ran, keys are left: %q", len(ran), keys)
			}
		})
	}
}

// TestTurnsKeepTheOrderOfAValue: values take turns among jobs of one priority, those of the higher one come first, and within a value and a priority
// jobs begin in the order in which they were put.
func TestTurnsKeepTheOrderOfAValue(t *testing.T) {
	for name, configure := range fairConfigurations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newGateWorld(t)
			configure(w)
			w.put(putsOf(120, func(i int) Put {
				urgent := float64(i / 10 % 2)
				return Put{Queue: "q", Klass: "K", JID: fmt.Sprintf("t%d-%v-%04d", i%3, urgent, i), Priority: &urgent, Data: fmt.Appendf(nil, `{"tenant":"t%d"}`, i%3)}
			})...)
			var began []string
			running := w.take("w", 2, "q")
			for len(running) > 0 {
				for _, job := range running {
					began = append(began, job.JID)
				}
				w.now++
				running = w.exchange("w", done(running...), Take{Queues: []string{"q"}, Count: 2}).Jobs
			}
			last, counts := map[string]string{}, map[string]int{}
			for i, jid := range began {
				value := jid[:4] // tenant and priority
				if urgent := jid[3] == '1'; urgent != (i < 60) {
					t.Errorf("%s is the %dth to begin", jid, i)
				}
				if jid < last[value] {
					t.Errorf("%s begins after %s", jid, last[value])
				}
				last[value] = jid
				counts[value]++
				for other, n := range counts {
					if other[3] == value[3] && counts[value]-n > 3 {
						t.Errorf("after %d starts %s has had %d turns and %s %d", i, value, counts[value], other, n)
					}
				}
			}
			if len(began) != 120 {
				t.Errorf("%d began", len(began))
			}
		})
	}
}

// TestFairRulesAreGone: a queue with fair_by has the word for that written, before it has jobs that wait for their turns, and when it has no rules any more all
// come back to where any worker takes them, in the order in which they were put.
func TestFairRulesAreGone(t *testing.T) {
	w := newGateWorld(t)
	fairConfigurations()["fair_by"](w)
	if words := must(w.client.Needs(t.Context()))(t); !slices.Contains(words, NeedFair) {
		t.Errorf("the words are %q", words)
	}
	w.ofTenant("a", 150)
	w.ofTenant("b", 50)
	first := w.take("w", 2, "q")
	w.rule(nil, nil)
	for range 10 {
		w.now++
		w.exchange("w", nil, Take{Queues: []string{"q"}, Count: 1})
	}
	if keys := w.ownKeys(); len(keys) > 0 {
		t.Errorf("keys are left: %q", keys)
	}
	if n := w.redis.ZCard(t.Context(), "ql:q:q-throttled").Val(); n > 0 {
		t.Errorf("%d jobs are still throttled", n)
	}
	if waits := w.redis.ZCard(t.Context(), "ql:q:q-work").Val(); int(waits)+int(w.redis.ZCard(t.Context(), "ql:q:q-locks").Val()) != 200 || len(first) != 2 {
		t.Errorf("%d wait, %d began at first", waits, len(first))
	}
	for _, jid := range w.redis.ZRangeArgs(t.Context(), redis.ZRangeArgs{Key: "ql:q:q-work", Start: 0, Stop: -1, Rev: true}).Val() {
		if f := w.redis.HMGet(t.Context(), "ql:j:"+jid, "state", "throttles", "oarlock-gate").Val(); f[0] != "waiting" || f[1] != nil || f[2] != nil {
			t.Fatalf("%s is %v", jid, f)
		}
	}
}

// TestOddValuesTakeTurns: whatever stands where the value is looked for, each kind of it is one value, all run, and nothing of the gate is left.
func TestOddValuesTakeTurns(t *testing.T) {
	for name, configure := range fairConfigurations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newGateWorld(t)
			configure(w)
			long, large := strings.Repeat("x", 300), strings.Repeat("y", 70_000)
			datas := []string{
				`{"tenant":1}`, `{"tenant":null}`, `{"tenant":[1]}`, `{"tenant":{"a":1}}`, `{"tenant":true}`, `{"tenant":""}`, `{"tenant":"=v"}`, `{"tenant":"-"}`, `{"tenant":"*"}`,
				`{"tenant":"a\u0000b"}`, `{"tenant":"\u001b[31m\n"}`, `{"tenant":"x-locks"}`, `{"tenant":"` + long + `"}`, `{"tenant":"` + long + `-locks"}`, `{"tenant":"a","l":"` + large + `"}`,
				`{"tenant":"` + large + `"}`, `{}`, `[]`, `nothing`, `{"tenant":"\"]"}`, `{"tenant":"v"}`, `{"tenant":"n"}`, `{"tenant":12345678901234567890}`,
			}
			number := 0
			for range 4 {
				for _, data := range datas {
					number++
					w.put(Put{Queue: "q", Klass: "K", JID: fmt.Sprintf("j%04d", number), Data: []byte(data), Throttles: [][]string{nil, nil, {"mine"}}[number%7%3]})
				}
			}
			ran, running := map[string]bool{}, w.take("w", 3, "q")
			for len(running) > 0 {
				for _, job := range running {
					never(t, ran[job.JID], "%s runs twice", job.JID)
					ran[job.JID] = true
				}
				w.now++
				w.tend("q")
				running = w.exchange("w", done(running...), Take{Queues: []string{"q"}, Count: 3}).Jobs
			}
			if keys := w.ownKeys(); len(keys) > 0 || len(ran) != number {
				t.Errorf("%d of %d ran, keys are left: %q", len(ran), number, keys)
			}
		})
	}
}

// TestManyValues: of values without jobs nothing is kept but of those that began just now, however many came, and a take beside many that wait costs no more than
// beside few.
func TestManyValues(t *testing.T) {
	w := gateWorldOn(t, "redis")
	fairConfigurations()["fair_by"](w)
	w.ofTenant("flood", 100)
	running := w.take("w", 2, "q")
	cost := map[int]int{}
	for i := range 600 {
		w.put(Put{Queue: "q", Klass: "K", JID: fmt.Sprintf("v%d-", i), Data: fmt.Appendf(nil, `{"tenant":"v%d"}`, i)})
		if i%10 == 9 {
			w.now++
			w.exchange("w", nil, Take{Queues: []string{"q"}, Count: 0})
			w.redis.ConfigResetStat(t.Context())
			reply := w.exchange("w", done(running[0]), Take{Queues: []string{"q"}, Count: 1})
			cost[i] = commandsRun(t, w.lab)
			running = append(running[1:], reply.Jobs...)
		}
	}
	if cost[599] > cost[49]+20 {
		t.Errorf("beside 5 values a take ran %d commands, beside 540 %d", cost[49], cost[599])
	}
	for len(running) > 0 {
		w.now++
		running = append(running[1:], w.exchange("w", done(running[0]), Take{Queues: []string{"q"}, Count: 1}).Jobs...)
	}
	if n := w.redis.ZCard(t.Context(), "ql:oarlock:fair:1:q:0").Val(); n > 5 {
		t.Errorf("of %d values something is kept", n)
	}
	if keys := w.ownKeys(); len(keys) > 0 {
		t.Errorf("keys are left: %q", keys)
	}
}
