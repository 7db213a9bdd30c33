package queue

import (
	"slices"
	"testing"
)

// editionWorld is a key space with rules that concern queue ruled alone, and somebody who works ordinary queues beside it, and knows that.
type editionWorld struct {
	*lab
	t        testing.TB
	c, other *Client // he, and somebody else
	s        *Session
}

func newEditionWorld(t testing.TB) *editionWorld {
	t.Helper()
	l := newLab(t, "redis", DefaultNamespace)
	w := &editionWorld{lab: l, t: t, c: labClient(t, l), other: labClient(t, l)}
	w.s = w.c.Session("w")
	t.Cleanup(func() { _ = w.s.Close() })
	w.install(limitOf("ruled"))
	w.know()
	return w
}

// limitOf are rules by which one job of a queue at a time runs.
func limitOf(queue string) NewRules {
	return NewRules{Doc: "{}", Queues: []RuledQueue{{Queue: queue, Rules: `{"shape":"a","limited":true,"limit_of_queue":1}`, Limit: 1}}}
}

func (w *editionWorld) install(rules NewRules) {
	w.t.Helper()
	known := must(w.other.Rules(w.t.Context()))(w.t)
	must(w.other.InstallRules(w.t.Context(), known.Version, rules))(w.t)
}

// know lets him be told what rules say.
func (w *editionWorld) know() {
	w.t.Helper()
	w.put(Put{Queue: "q", Klass: "K"})
	w.end(w.take("q"))
	now := w.c.clock.Now()
	stop(w.t, w.s.beside.saysNothingOf(now, []string{"q"}) == "" || w.c.beside.saysNothingOf(now, nil) == "", "nobody has told what rules say")
}

func (w *editionWorld) put(puts ...Put) {
	w.t.Helper()
	results := must(w.c.PutAll(w.t.Context(), puts))(w.t)
	for _, r := range results {
		ok(w.t, r.Err)
	}
}

func (w *editionWorld) exchange(done []Settlement, queues ...string) []Taken {
	w.t.Helper()
	reply := must(w.s.Exchange(w.t.Context(), done, Take{Queues: queues, Count: 10}))(w.t)
	for _, r := range reply.Results {
		ok(w.t, r.Err)
	}
	return reply.Jobs
}

func (w *editionWorld) take(queues ...string) []Taken {
	w.t.Helper()
	return w.exchange(nil, queues...)
}

func (w *editionWorld) end(jobs []Taken) { w.exchange(done(jobs...)) }

// commands counts what somebody's calls make Redis do.
func (w *editionWorld) commands(do func()) int {
	w.redis.ConfigResetStat(w.t.Context())
	do()
	return commandsRun(w.t.(*testing.T), w.lab)
}

// TestWhoKnowsRulesAsksNothingOfThem: where rules concern no queue of a call, it runs as many commands as where there are none, until another
// queue comes in.
func TestWhoKnowsRulesAsksNothingOfThem(t *testing.T) {
	w := newEditionWorld(t)
	bare := &editionWorld{lab: newLab(t, "redis", DefaultNamespace), t: t}
	bare.c = labClient(t, bare.lab)
	bare.s = bare.c.Session("w")
	defer bare.s.Close()
	cycle := func(w *editionWorld, queue string) func() {
		return func() {
			w.put(Put{Queue: queue, Klass: "K"})
			w.end(w.take(queue))
		}
	}
	for _, world := range []*editionWorld{w, bare} {
		cycle(world, "q")() // statistics, and the register of queues
	}
	if with, without := w.commands(cycle(w, "q")), bare.commands(cycle(bare, "q")); with != without {
		t.Errorf("beside rules %d commands, without %d", with, without)
	}
	for _, world := range []*editionWorld{w, bare} {
		cycle(world, "other")()
	}
	if with, without := w.commands(cycle(w, "other")), bare.commands(cycle(bare, "other")); with != without {
		t.Errorf("of another queue beside rules %d commands, without %d", with, without)
	}
}

// TestWhatChangesBindsTheNextCall: whatever somebody else changes, the very next call of who knew what was before goes by it.
func TestWhatChangesBindsTheNextCall(t *testing.T) {
	three := func(queue string) []Put {
		return putsOf(3, func(int) Put { return Put{Queue: queue, Klass: "K"} })
	}
	low := limitOf("ruled")
	low.LowFirst = []string{"low"}
	held := limitOf("ruled")
	held.Puts = `{"klass":{"K":{"correlation":["path","id"]}}}`
	for name, test := range map[string]func(t *testing.T, w *editionWorld){
		"a queue becomes ruled": func(t *testing.T, w *editionWorld) {
			w.put(three("q")...)
			w.install(limitOf("q"))
			if jobs := w.take("q"); len(jobs) != 1 {
				t.Errorf("by a limit of 1 there run %d", len(jobs))
			}
		},
		"a queue becomes ruled, and its jobs end": func(t *testing.T, w *editionWorld) {
			w.put(three("q")...)
			w.install(limitOf("q"))
			jobs := w.take("q")
			w.install(limitOf("ruled"))
			for len(jobs) > 0 {
				jobs = w.exchange(done(jobs...), "q")
			}
			if n := w.redis.ZCard(t.Context(), "ql:th:ql:q:q-locks").Val(); n != 0 {
				t.Errorf("%d places are taken in the end", n)
			}
		},
		"a queue has keys by its first put": func(t *testing.T, w *editionWorld) {
			must(w.other.PutAll(t.Context(), putsOf(2, func(int) Put { return Put{Queue: "q", Klass: "K", Key: "k"} })))(t)
			w.put(Put{Queue: "q", Klass: "K", Tags: []string{"key:k"}, JID: "tagged"}) // as clients do that know no keys
			if jobs := w.take("q"); len(jobs) != 1 {
				t.Errorf("of one key there run %d", len(jobs))
			}
		},
		"a queue has keys because a file says so": func(t *testing.T, w *editionWorld) {
			w.put(Put{Queue: "q", Klass: "K", Tags: []string{"key:k"}}, Put{Queue: "q", Klass: "K", Tags: []string{"key:k"}})
			must(w.other.SetKeyOrder(t.Context(), OrderFile{Owner: "file", Orders: []KeyOrder{{Queue: "q"}}}, AllOrders))(t)
			if jobs := w.take("q"); len(jobs) != 1 {
				t.Errorf("of one key there run %d", len(jobs))
			}
		},
		"lower priorities come first": func(t *testing.T, w *editionWorld) {
			w.install(low)
			five := 5.0
			w.put(Put{Queue: "low", Klass: "K", JID: "j", Priority: &five})
			if stored := w.redis.HGet(t.Context(), "ql:j:j", "priority").Val(); stored != "-5" {
				t.Errorf("priority 5 is stored as %s", stored)
			}
			if jobs := w.take("low"); len(jobs) != 1 || jobs[0].Priority != 5 {
				t.Errorf("there run %+v", jobs)
			}
		},
		"a job goes on to where lower priorities come first": func(t *testing.T, w *editionWorld) {
			five := 5.0
			w.install(low)
			w.take("q") // now this is known
			w.put(Put{Queue: "q", Klass: "K", JID: "j", Priority: &five})
			jobs := w.take("q")
			w.exchange([]Settlement{{JID: "j", Queue: "q", Popped: jobs[0].Popped, Action: Complete, Next: "low"}}, "q")
			if stored := w.redis.HGet(t.Context(), "ql:j:j", "priority").Val(); stored != "-5" {
				t.Errorf("priority 5 is stored as %s", stored)
			}
		},
		"new jobs have correlations": func(t *testing.T, w *editionWorld) {
			w.install(held)
			w.put(Put{Queue: "q", Klass: "K", JID: "j", Data: []byte(`{"id":"c"}`)})
			if of := w.redis.HGet(t.Context(), "ql:j:j", "oarlock-correlation").Val(); of != "c" {
				t.Errorf("its correlation is %q", of)
			}
		},
		"a queue is paused": func(t *testing.T, w *editionWorld) {
			w.put(three("q")...)
			ok(t, w.other.Pause(t.Context(), "q"))
			if jobs := w.take("q"); len(jobs) != 0 {
				t.Errorf("of a paused queue there run %d", len(jobs))
			}
		},
		"a newer version needs more": func(t *testing.T, w *editionWorld) {
			w.put(three("q")...)
			w.redis.SAdd(t.Context(), "ql:oarlock:needs", "more") // and ends the edition, as whoever adds a word does
			w.redis.Del(t.Context(), w.redis.Keys(t.Context(), "ql:oarlock:edition:*").Val()...)
			reply := must(w.s.Exchange(t.Context(), nil, Take{Queues: []string{"q"}, Count: 10}))(t)
			if len(reply.Jobs) != 0 || len(reply.Broken) != 1 || reply.Broken[0].Lacks() != "more" {
				t.Errorf("it takes %d, and says %v", len(reply.Jobs), reply.Broken)
			}
		},
		"all is lost, and rules come anew": func(t *testing.T, w *editionWorld) {
			ok(t, w.redis.FlushDB(t.Context()).Err())
			w.install(limitOf("q"))
			w.put(three("q")...)
			if jobs := w.take("q"); len(jobs) != 1 {
				t.Errorf("by a limit of 1 there run %d", len(jobs))
			}
		},
	} {
		t.Run(name, func(t *testing.T) { test(t, newEditionWorld(t)) })
	}
}

// TestAnEditionIsBelievedForSoLong: who changes rules by hand ends none, and is heard some seconds later; whoever works them meanwhile gives
// a name to what is there, if the key of the last was lost.
func TestAnEditionIsBelievedForSoLong(t *testing.T) {
	var e editions
	e.learn(100, "1@1", []string{"a"})
	e.learn(105, "1@1", []string{"b"})
	for _, tt := range []struct {
		now    float64
		queues []string
		want   string
	}{
		{105, nil, "1@1"}, {105, []string{"a", "b"}, "1@1"}, {105, []string{"a", "c"}, ""}, {109.9, []string{"b"}, "1@1"}, {110, nil, ""}, {110, []string{"b"}, ""},
	} {
		if got := e.saysNothingOf(tt.now, tt.queues); got != tt.want {
			t.Errorf("at %v of %v: %q, want %q", tt.now, tt.queues, got, tt.want)
		}
	}
	e.learn(106, "2@1", []string{"c"})
	if got := e.saysNothingOf(106, []string{"a"}); got != "" {
		t.Errorf("of what another edition said: %q", got)
	}
}

// TestATendNamesWhatHasNoName: of the edition whose key is gone, or was never there, nothing is believed; the next tend gives another.
func TestATendNamesWhatHasNoName(t *testing.T) {
	w := newEditionWorld(t)
	names := func() []string { return w.redis.Keys(t.Context(), "ql:oarlock:edition:*").Val() }
	before := names()
	stop(t, len(before) != 1, "there are editions %q", before)
	must(w.other.Tend(t.Context(), nil, nil, 0))(t)
	if after := names(); !slices.Equal(before, after) {
		t.Errorf("of one that is there a tend makes %q", after)
	}
	w.redis.Del(t.Context(), before[0])
	w.know()
	must(w.other.Tend(t.Context(), nil, nil, 0))(t)
	if after := names(); len(after) != 1 || after[0] == before[0] {
		t.Errorf("after %q there are %q", before, after)
	}
	w.install(limitOf("other"))
	if after := names(); len(after) != 1 {
		t.Errorf("after new rules there are %q", after)
	}
}

// TestRulesThatAreGone: where Redis has lost its keys, nobody takes more than rules let him that he knew, for as long as whoever has them in his file
// needs to say them again. If nobody does, there are none.
func TestRulesThatAreGone(t *testing.T) {
	for _, again := range []bool{true, false} {
		w := newEditionWorld(t)
		w.put(putsOf(1, func(int) Put { return Put{Queue: "ruled", Klass: "K"} })...)
		before := w.take("ruled")
		w.redis.FlushDB(t.Context())
		w.put(putsOf(3, func(int) Put { return Put{Queue: "ruled", Klass: "K"} })...)
		reply := must(w.s.Exchange(t.Context(), done(before...), Take{Queues: []string{"ruled", "q"}, Count: 9}))(t)
		if len(reply.Jobs) != 0 || reply.Results[0].Err == nil {
			t.Errorf("of a queue whose rules are gone %d were taken; a job that is gone was settled: %v", len(reply.Jobs), reply.Results[0].Err)
		}
		if jobs := w.take("ruled"); len(jobs) != 0 {
			t.Errorf("at the next call %d were taken", len(jobs))
		}
		want := 1
		if again {
			w.install(limitOf("ruled"))
		} else {
			want = 3
			w.s.ruledBy.Store(&ruling{"1@1", w.c.clock.Now() - rulesReturn})
			w.take("ruled")
		}
		if jobs := w.take("ruled"); len(jobs) != want {
			t.Errorf("said again %v: %d were taken", again, len(jobs))
		}
	}
}

// TestWhoHasPlacesIsForRuled: the edition says nothing of a queue, but a job of it has a throttle, for a place of which others may wait.
func TestWhoHasPlacesIsForRuled(t *testing.T) {
	c := newGateCost(t, true, nil)
	c.fill("ordinary", 2)
	has := c.by("exchange", nil, "ordinary", 1)
	ok(t, c.redis.HSet(t.Context(), "ql:j:"+has[0].JID, "throttles", `["t"]`).Err())
	sent, puts, _ := checkSettlements(done(has...))
	args := append(exchangeArgs("w", sent, puts, Take{Queues: []string{"ordinary"}, Count: 1}), c.takes)
	if said := c.call("exchange", args...); c.takes == "" || said != "ruled" {
		t.Errorf("knowing %q: %v", c.takes, said)
	}
}
