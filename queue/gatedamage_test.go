package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// overwrite writes a text over all records of the waitlists of a queue, and tells of how many.
func (w *gateWorld) overwrite(queue, text string) (lists int) {
	ctx := w.t.Context()
	for _, line := range w.redis.HKeys(ctx, "ql:oarlock:waitlists:"+queue).Val() {
		if line != "shape" {
			w.redis.HSet(ctx, "ql:oarlock:waitlists:"+queue, line, text)
			lists++
		}
	}
	return lists
}

// TestARecordThatSomebodyOverwroteHoldsNobodyUp: what a waitlist waits for is told by the throttles, too: a record that cannot be read is written anew
// from these, or, of what none knows, by the next take. Nobody passes a limit, all jobs run, and nothing is left.
func TestARecordThatSomebodyOverwroteHoldsNobodyUp(t *testing.T) {
	many := strings.Repeat("t", 300) // of its waitlists the lines are sums
	for _, text := range []string{"nonsense", "", "nan 1 1:t", "1 1 99:t", "1 1 0:"} {
		for _, unknown := range []bool{false, true} { // whether the throttles know no more than the record
			t.Run(fmt.Sprintf("%q, unknown %v", text, unknown), func(t *testing.T) {
				w := newGateWorld(t)
				w.rule(map[string]string{
					"q": fmt.Sprintf(`{"shape":"a","throttles":["region",%q],"by":{"region":["path","r"]},"klass":{"Heavy":{"weight":2}}}`, many),
					"p": `{"shape":"b","throttles":["region"],"by":{"region":["klass"]}}`,
				}, map[string]string{"region": `{"limit":3,"patience":60,"by":["path","r"],"each":1}`, many: `{"limit":5,"patience":60}`})
				jobs := 12
				put := func(i int) Put {
					return Put{JID: fmt.Sprint("j", i), Queue: []string{"q", "q", "p"}[i%3], Klass: []string{"K", "Heavy"}[i%2], Data: fmt.Appendf(nil, `{"r":"r%d"}`, i%4)}
				}
				w.put(putsOf(jobs, put)...)
				running := w.take("w", jobs, "q", "p")
				stop(t, len(running) == 0 || len(running) == jobs, "%d run", len(running))
				stop(t, w.overwrite("q", text)+w.overwrite("p", text) < 2, "nobody waits")
				if unknown {
					for _, key := range w.redis.Keys(t.Context(), "ql:oarlock:*:*").Val() {
						for _, kind := range []string{"wait:", "rota:", "over:", "eldest:"} {
							if strings.HasPrefix(key, "ql:oarlock:"+kind) {
								w.redis.Del(t.Context(), key)
							}
						}
					}
				}
				for _, jid := range w.redis.ZRange(t.Context(), "ql:q:q-throttled", 0, -1).Val() {
					waits, err := w.client.WaitsFor(t.Context(), jid)
					never(t, err != nil || (waits == nil) != unknown, "%s waits for %+v: %v", jid, waits, err)
				}
				if unknown { // then somebody comes who needs the same
					w.put(putsOf(jobs, func(i int) Put { return put(jobs + i) })...)
					jobs += jobs
				}
				all := len(running)
				for turns := 0; len(running) > 0 || all < jobs; turns++ {
					if turns == 40 {
						t.Fatalf("%d of %d have run; of the rest %v", all, jobs, w.ownKeys())
					}
					w.now++
					if n := w.many("region"); n > 3 {
						t.Fatalf("%d places are taken, of 3", n)
					}
					w.tend("q", "p")
					reply := w.exchange("w", done(running...), Take{Queues: []string{"q", "p"}, Count: jobs})
					running = reply.Jobs
					all += len(running)
				}
				if left := w.ownKeys(); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
			})
		}
	}
}

// TestWhatAThrottleForgotIsTried: whatever is deleted of what throttles and queues know of those that wait, all run, and nothing is left.
func TestWhatAThrottleForgotIsTried(t *testing.T) {
	for _, lost := range []string{"rota:", "wait:", "waited", "waitlists:", "rota: wait: waited eldest:", "waitlists: rota: wait: waited eldest:"} {
		for _, comes := range []bool{false, true} { // whether others of the same needs come afterwards
			t.Run(fmt.Sprintf("%s, others come %v", lost, comes), func(t *testing.T) {
				w := newGateWorld(t)
				w.rule(map[string]string{"q": `{"shape":"a","throttles":["t","region"],"by":{"region":["path","r"]},"klass":{"Heavy":{"weight":2}}}`},
					map[string]string{"t": `{"limit":2,"patience":60}`, "region": `{"limit":3,"patience":60,"by":["path","r"],"each":1}`})
				jobs := 12
				put := func(i int) Put {
					return Put{JID: fmt.Sprint("j", i), Queue: "q", Klass: []string{"K", "Heavy"}[i%2], Data: fmt.Appendf(nil, `{"r":"r%d"}`, i%3)}
				}
				w.put(putsOf(jobs, put)...)
				running := w.take("w", jobs, "q")
				all := len(running)
				w.exchange("w", done(running...), Take{}) // all ended, and of those that wait nobody was tried yet
				for _, key := range w.redis.Keys(t.Context(), "ql:oarlock:*").Val() {
					for _, kind := range strings.Fields(lost + " open:") {
						if strings.HasPrefix(key, "ql:oarlock:"+kind) {
							w.redis.Del(t.Context(), key)
						}
					}
				}
				if comes {
					w.put(putsOf(jobs, func(i int) Put { return put(jobs + i) })...)
					jobs += jobs
				}
				running = nil
				for turns := 0; len(running) > 0 || all < jobs; turns++ {
					if turns == 60 {
						t.Fatalf("%d of %d have run; of the rest %v", all, jobs, w.ownKeys())
					}
					w.now++
					w.tend("q")
					if n := w.many("t"); n > 2 {
						t.Fatalf("%d places are taken, of 2", n)
					}
					running = w.exchange("w", done(running...), Take{Queues: []string{"q"}, Count: jobs}).Jobs
					all += len(running)
				}
				w.now += 6
				w.tend("q")
				if left := w.ownKeys(); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
			})
		}
	}
}

// TestWhatIsForgottenKeepsNoPlace: of a waitlist that ended after something of it was deleted nothing is left that keeps a place from the others.
func TestWhatIsForgottenKeepsNoPlace(t *testing.T) {
	for _, lost := range []string{"waited", "rota:t", "waitlists:q", "wait:1:tq", "waitlists:q wait:1:tq"} {
		t.Run(lost, func(t *testing.T) {
			w := newGateWorld(t)
			w.rule(map[string]string{"q": `{"shape":"a","throttles":["t"],"klass":{"Heavy":{"weight":2}}}`}, map[string]string{"t": `{"limit":1,"patience":60}`})
			w.put(Put{JID: "first", Queue: "q", Klass: "K"}, Put{JID: "heavy", Queue: "q", Klass: "Heavy"}, Put{JID: "light", Queue: "q", Klass: "K"})
			running := w.take("w", 1, "q")
			w.take("w", 1, "q") // the others wait
			w.exchange("w", done(running...), Take{})
			for _, key := range strings.Fields(lost + " open:q") {
				w.redis.Del(t.Context(), "ql:oarlock:"+key)
			}
			began := []string{"first"}
			running = nil
			for range 30 {
				w.now++
				w.tend("q")
				running = w.exchange("w", done(running...), Take{Queues: []string{"q"}, Count: 2}).Jobs
				for _, job := range running {
					began = append(began, job.JID)
				}
			}
			if !slices.Equal(began, []string{"first", "heavy", "light"}) {
				t.Errorf("%q began; of the rest %v", began, w.ownKeys())
			}
			if left := w.ownKeys(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestAListWithoutRecordWaitsOnce deletes the record of a wait list, lets a job join the list, and has the list wait for another throttle.
// The throttle for which the list waited before must keep no permit for it.
func TestAListWithoutRecordWaitsOnce(t *testing.T) {
	for name, q := range map[string]string{
		"plain": `{"shape":"a","throttles":["first","second"]}`,
		"fair":  `{"shape":"a","throttles":["turns","first","second"],"fair":"turns","by":{"turns":["path","v"]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newGateWorld(t)
			w.rule(map[string]string{"q": q, "r": `{"shape":"b","throttles":["first"]}`, "s": `{"shape":"c","throttles":["second"]}`},
				map[string]string{"first": `{"limit":1,"patience":60}`, "second": `{"limit":1,"patience":60}`, "turns": `{"by":["path","v"]}`})
			take := func(jid, queue string) []Taken {
				w.put(Put{JID: jid, Queue: queue, Klass: "K", Data: []byte(`{"v":"x"}`)})
				return w.take("w", 1, queue)
			}
			first := take("r1", "r")
			take("q1", "q") // waits for first
			take("s1", "s") // runs, and has the permit of second
			w.exchange("w", done(first...), Take{})
			w.redis.Del(t.Context(), "ql:oarlock:waitlists:q", "ql:oarlock:open:q")
			w.put(Put{JID: "q2", Queue: "q", Klass: "K", Data: []byte(`{"v":"x"}`)})
			take("q3", "q")
			w.take("w", 1, "q") // the list waits for second
			if jobs := take("r2", "r"); len(jobs) != 1 {
				t.Errorf("first is free and r2 waits; Redis has %v", w.ownKeys())
			}
		})
	}
}

// TestWhoWaitsNoMoreKeepsNoPlace: of a waitlist whose last job is taken away, or is put off, nothing is left, though its line is a sum. What the throttles
// that the job had passed know of it keeps no place from others, even where nobody knows any more which these were.
func TestWhoWaitsNoMoreKeepsNoPlace(t *testing.T) {
	for _, how := range []string{"it is canceled", "its window shuts"} {
		t.Run(how, func(t *testing.T) {
			w := newGateWorld(t)
			w.rule(map[string]string{
				"q": fmt.Sprintf(`{"shape":"a","throttles":["passed","t",%q],"klass":{"K":{"windows":[{"name":"n","spec":"UTC|n"}]}}}`, strings.Repeat("x", 300)),
				"p": `{"shape":"b","throttles":["t"]}`,
				"r": `{"shape":"c","throttles":["passed"]}`,
			}, map[string]string{"passed": `{"limit":1,"patience":5}`, "t": `{"limit":1,"patience":5}`})
			w.redis.HSet(t.Context(), "ql:oarlock:windows", "UTC|n", fmt.Sprintf("o 2000000000 %.0f", w.now+20))
			w.put(Put{JID: "other", Queue: "p", Klass: "P", Data: []byte("{}")}, Put{JID: "waits", Queue: "q", Klass: "K", Data: []byte("{}")})
			other := w.take("w", 1, "p")
			if jobs := w.take("w", 1, "q"); len(jobs) > 0 || len(other) != 1 {
				t.Fatalf("%v run, and %v", jobs, other)
			}
			w.now += 10
			if how == "it is canceled" {
				w.foreign(Qless, "cancel", "waits")
			} else {
				w.now += 20
			}
			w.exchange("w", done(other...), Take{Queues: []string{"q"}, Count: 1})
			w.now++
			w.take("w", 1, "q")
			if left := w.redis.Exists(t.Context(), "ql:oarlock:eldest:passed").Val(); left > 0 && how != "it is canceled" {
				t.Error("what it had passed knows of it still")
			}
			w.put(Put{JID: "next", Queue: "r", Klass: "R", Data: []byte("{}")})
			if jobs := w.take("w", 1, "r", "q"); len(jobs) != 1 {
				t.Errorf("the next waits for a place that is free, with %v", w.ownKeys())
			}
			if left := w.redis.Exists(t.Context(), "ql:oarlock:eldest:passed").Val(); left > 0 {
				t.Error("in the end the throttle knows of it still")
			}
		})
	}
}

// TestANonsenseMarkHoldsNobodyUp: what is no mark in the line of a throttle keeps no place.
func TestANonsenseMarkHoldsNobodyUp(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["t"]}`}, map[string]string{"t": `{"limit":1,"patience":60}`})
	w.put(putsOf(3, func(i int) Put { return Put{Queue: "q", Klass: "K"} })...)
	running := w.take("w", 3, "q")
	ctx := t.Context()
	w.redis.ZAdd(ctx, "ql:oarlock:wait:1:tq", redis.Z{Score: 1, Member: "nonsense"})
	w.redis.ZAdd(ctx, "ql:oarlock:eldest:t", redis.Z{Score: 1, Member: "nonsense"})
	for all := 1; all < 3; all++ {
		w.now += 100
		if running = w.exchange("w", done(running...), Take{Queues: []string{"q"}, Count: 3}).Jobs; len(running) != 1 {
			t.Fatalf("%d run, of one place", len(running))
		}
	}
}

// TestRulesThatCannotBeRead: nothing of a queue whose rules are damaged is taken, whoever asks first, and nothing behind a job
// that needs a throttle whose rules are; what runs there is settled all the same, and other queues go on.
func TestRulesThatCannotBeRead(t *testing.T) {
	for field, texts := range map[string][]string{
		"q:bad": {"", "{", "null", "7", `"x"`, "[]garbage", `{"klass":7}`, `{"globs":[{"klass":1}]}`, `{"throttles":7}`},
		"t:erp": {"", "{", "7", `{"limit":1,"rate":7}`, "\x00"},
	} {
		for _, text := range texts {
			t.Run(field+text, func(t *testing.T) { damageRules(t, field, text) })
		}
	}
}

func damageRules(t *testing.T, field, text string) {
	w := newGateWorld(t)
	ctx := t.Context()
	w.rule(map[string]string{"bad": `{"shape":"a","throttles":["erp"]}`, "good": `{"shape":"a","limited":true,"limit_of_queue":1}`},
		map[string]string{"erp": `{"limit":2,"patience":60}`})
	for _, name := range []string{"bad", "good", "plain"} {
		w.put(putsOf(4, func(i int) Put { return Put{Queue: name, JID: fmt.Sprint(name, i), Klass: "K"} })...)
	}
	session := w.client.Session("w")
	defer session.Close()
	began := must(session.Exchange(ctx, nil, Take{Queues: []string{"bad"}, Count: 1}))(t)
	w.redis.HSet(ctx, "ql:oarlock:rules", field, text)
	for _, s := range []*Session{session, w.client.Session("new")} {
		reply := must(s.Exchange(ctx, nil, Take{Queues: []string{"bad"}, Count: 9}))(t)
		if len(reply.Jobs) > 0 || reply.More || len(reply.Broken) != 1 || reply.Broken[0].Queue != "bad" || !strings.Contains(reply.Broken[0].Reason, "cannot be read") {
			t.Fatalf("of the queue %d were taken, more %v, left out %+v", len(reply.Jobs), reply.More, reply.Broken)
		}
	}
	reply := must(session.Exchange(ctx, done(began.Jobs...), Take{Queues: []string{"bad", "good", "plain"}, Count: 9}))(t)
	if reply.Results[0].State != "complete" || len(reply.Jobs) != 5 || reply.Jobs[0].Queue != "good" {
		t.Errorf("settled %+v, taken %+v", reply.Results, reply.Jobs)
	}
	damaged := must(w.client.DamagedRules(ctx, "bad"))(t)
	others := must(w.client.DamagedRules(ctx, "good"))(t)
	if len(damaged) != 1 || "q:"+damaged[0].Queue != field && "t:"+damaged[0].Throttle != field || len(others) != 0 {
		t.Errorf("said to be damaged: %+v; of another queue: %+v", damaged, others)
	}
	// Rules that are written anew count, and nothing was lost.
	w.rule(map[string]string{"bad": `{"shape":"a","throttles":["erp"]}`}, map[string]string{"erp": `{"limit":2,"patience":60}`})
	if jobs := w.take("w", 9, "bad"); len(jobs) != 2 || w.many("erp") != 2 {
		t.Errorf("then %d run, and %d places are taken", len(jobs), w.many("erp"))
	}
}

// TestRulesOfAnotherType: where the key of all rules is no hash nobody knows which queues have any, so nothing is taken; what runs
// is settled, jobs are put, and looking at all queues says why.
func TestRulesOfAnotherType(t *testing.T) {
	for _, knows := range []bool{false, true} {
		w := newGateWorld(t)
		ctx := t.Context()
		w.rule(map[string]string{"ruled": `{"shape":"a","limited":true,"limit_of_queue":2}`}, nil)
		w.put(putsOf(3, func(i int) Put { return Put{Queue: "ruled", Klass: "K"} })...)
		w.put(Put{Queue: "plain", JID: "p", Klass: "K", Data: []byte("{}")})
		s := w.client.Session("w")
		defer s.Close()
		from := map[bool]string{false: "plain", true: "ruled"}[knows]
		began := must(s.Exchange(ctx, nil, Take{Queues: []string{from}, Count: 1}))(t)
		w.redis.Set(ctx, "ql:oarlock:rules", "gone", 0)
		w.put(Put{Queue: "plain", JID: "late", Klass: "K", Data: []byte("{}")})
		reply := must(s.Exchange(ctx, done(began.Jobs...), Take{Queues: []string{"ruled", "plain"}, Count: 9}))(t)
		if len(began.Jobs) != 1 || reply.Results[0].State != "complete" || len(reply.Jobs) > 0 || len(reply.Broken) != 2 {
			t.Errorf("settled %+v, taken %+v, left out %+v", reply.Results, reply.Jobs, reply.Broken)
		}
		outlook, _, err := w.client.Outlook(ctx, []string{"ruled", "plain", "empty"})
		ok(t, err)
		for _, q := range outlook {
			never(t, !strings.Contains(q.Damage, "WRONGTYPE"), "of %s is said %q", q.Queue, q.Damage)
		}
		if damaged, err := w.client.DamagedRules(ctx, "plain"); err != nil || len(damaged) != 1 || damaged[0].Queue+damaged[0].Throttle != "" {
			t.Errorf("said to be damaged: %+v, %v", damaged, err)
		}
	}
}

// TestAJobThatWaitsForAPlaceCannotBePutAgain: where a command fails as a job that waits is put again, it waits on, and has its place in the end.
func TestAJobThatWaitsForAPlaceCannotBePutAgain(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","limited":true,"limit_of_queue":1}`}, nil)
	w.put(putsOf(2, func(i int) Put { return Put{Queue: "q", JID: fmt.Sprint("j", i), Klass: "K"} })...)
	first := w.take("w", 2, "q")
	w.redis.Set(t.Context(), "ql:q:q-depends", "none", 0)
	results := must(w.client.PutAll(t.Context(), []Put{{Queue: "other", JID: "j1", Klass: "K"}}))(t)
	stop(t, results[0].Err == nil, "it was put")
	w.redis.Del(t.Context(), "ql:q:q-depends")
	w.exchange("w", done(first...), Take{})
	if jobs := w.take("w", 2, "q"); len(jobs) != 1 || jobs[0].JID != "j1" {
		t.Errorf("then %v run", jidsOf(jobs))
	}
}

// TestNoWaitlistButItsShape: what a call leaves that was cut off as the last waitlist went does not stop the queue when its rules change.
func TestNoWaitlistButItsShape(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"new","limited":true,"limit_of_queue":1}`}, nil)
	w.redis.HSet(t.Context(), "ql:oarlock:waitlists:q", "shape", "old")
	w.put(Put{Queue: "q", JID: "j", Klass: "K"})
	if jobs := w.take("w", 1, "q"); len(jobs) != 1 {
		t.Errorf("%v run", jidsOf(jobs))
	}
}

// TestALimitThatSomebodyDeletedHolds: where the key is deleted that has the limit of a throttle or a queue, that of the rules holds, and the next look
// writes it again.
func TestALimitThatSomebodyDeletedHolds(t *testing.T) {
	for _, tid := range []string{"t", "t=a", "ql:q:q"} {
		t.Run(tid, func(t *testing.T) {
			w := newGateWorld(t)
			w.rule(map[string]string{"q": map[string]string{
				"t": `{"shape":"a","throttles":["t"]}`, "t=a": `{"shape":"a","throttles":["t"],"by":{"t":["klass"]}}`, "ql:q:q": `{"shape":"a","limited":true,"limit_of_queue":2}`,
			}[tid]}, map[string]string{"t": map[bool]string{true: `{"limit":9,"by":["klass"],"each":2}`, false: `{"limit":2}`}[tid == "t=a"]})
			ctx := t.Context()
			w.redis.Del(ctx, "ql:th:"+tid)
			w.put(putsOf(6, func(int) Put { return Put{Queue: "q", Klass: "a"} })...)
			running := w.take("w", 6, "q")
			w.now += 6
			w.tend("q")
			if limit := w.redis.HGet(ctx, "ql:th:"+tid, "maximum").Val(); limit != "2" && tid != "t=a" {
				t.Errorf("after a look the limit is %q", limit)
			}
			for all := len(running); all < 6; all += len(running) {
				if len(running) != 2 {
					t.Fatalf("%d run, of 2 places", len(running))
				}
				w.redis.Del(ctx, "ql:th:"+tid) // while they run
				w.now += 6
				w.tend("q")
				running = w.exchange("w", done(running...), Take{Queues: []string{"q"}, Count: 6}).Jobs
			}
			w.exchange("w", done(running...), Take{})
			w.now += 6
			w.tend("q")
			if left := w.ownKeys(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
