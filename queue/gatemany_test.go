package queue

import (
	"fmt"
	"slices"
	"testing"
)

// TestManyBlockedJobsBeforeAFreeOne: in front of a job that may run stand very many that may not. Each call files 64 of them, for three commands
// each and a few besides, the last as the first; then the free one begins, and whoever takes beside them pays nothing for them.
func TestManyBlockedJobsBeforeAFreeOne(t *testing.T) {
	many := Tenth(100_000)
	c := newGateCost(t, true, func(w *gateWorld, do func()) float64 {
		w.redis.ConfigResetStat(t.Context())
		do()
		return float64(commandsRun(t, w.lab))
	})
	c.rule(map[string]string{"q": `{"shape":"a","klass":{"K":{"weight":1,"throttles":["erp"]}}}`}, map[string]string{"erp": `{"limit":1,"patience":60}`})
	take := func() (jobs []Taken, more bool) {
		c.now += 0.001
		reply := c.exchange("w", nil, Take{Queues: []string{"q"}, Count: 1})
		return reply.Jobs, reply.More
	}
	free := func(jid string) { c.put(Put{Queue: "q", JID: jid, Klass: "Free", Data: []byte("{}")}) }
	free("f0")
	alone := c.meter(func() { take() })
	c.fill("q", 1)
	take() // the only place is taken
	c.fill("q", many)
	free("f1")
	var commands []float64
	began := ""
	for more := true; began == "" && more; {
		commands = append(commands, c.meter(func() {
			var jobs []Taken
			if jobs, more = take(); len(jobs) > 0 {
				began = jobs[0].JID
			}
		}))
	}
	if began != "f1" || len(commands) > many/callFiles+2 {
		t.Errorf("after %d calls begins %q", len(commands), began)
	}
	first, last := slices.Max(commands[:10]), slices.Max(commands[len(commands)-10:])
	if first > 240 || last > 1.05*first {
		t.Errorf("the first calls run %v commands, the last %v", first, last)
	}
	free("f2")
	var jobs []Taken
	if beside := c.meter(func() { jobs, _ = take() }); len(jobs) != 1 || beside > alone+4 {
		t.Errorf("a take beside them runs %v commands, and %v without them; began %v", beside, alone, jobs)
	}
}

// TestWhoWaitsBehindOthersStandsAsIfAlone: of those that come to wait behind one like them a call reads less. They stand as if each had been
// judged by a call of its own, and so do those in between that are different.
func TestWhoWaitsBehindOthersStandsAsIfAlone(t *testing.T) {
	stands := func(together bool) map[string]string {
		w := newGateWorld(t)
		w.rule(map[string]string{
			"q": `{"shape":"a","throttles":["region"],"by":{"region":["path","region"]},"klass":{"K":{"weight":1,"throttles":["erp"]},"Free":{"bypass":true}}}`,
		}, map[string]string{"erp": `{"limit":1,"patience":60}`, "region": `{"limit":2,"patience":60,"by":["path","region"],"each":1}`})
		all := map[string]string{}
		take := func() {
			for _, job := range w.exchange("w", nil, Take{Queues: []string{"q"}, Count: 5}).Jobs {
				all[job.JID+" runs"] = fmt.Sprint(job.Klass, job.Data)
			}
		}
		for i := range 40 {
			put := Put{Queue: "q", JID: fmt.Sprintf("j%02d", i), Klass: "K", Data: fmt.Appendf(nil, `{"region":"%c"}`, 'a'+rune(i%3))}
			switch i % 8 {
			case 3:
				put.Klass = "Other"
			case 4:
				put.Klass = "Free"
			case 5:
				put.Wants.Weight = 2
			case 6:
				put.Throttles = []string{"mine"}
			case 7:
				put.Tags = []string{"t"}
			}
			w.put(put)
			if !together {
				take()
			}
		}
		for range 3 {
			take()
		}
		for i := range 40 {
			jid := fmt.Sprintf("j%02d", i)
			f := w.redis.HMGet(t.Context(), "ql:j:"+jid, "state", "throttles", "oarlock-gate").Val()
			all[jid] = fmt.Sprint(f, w.redis.LLen(t.Context(), "ql:j:"+jid+"-history").Val())
		}
		for _, key := range w.redis.Keys(t.Context(), "ql:oarlock:waitlist:*").Val() {
			all[key] = fmt.Sprint(w.redis.ZRange(t.Context(), key, 0, -1).Val())
		}
		all["throttled"] = fmt.Sprint(w.redis.ZCard(t.Context(), "ql:q:q-throttled").Val())
		return all
	}
	alone, together := stands(false), stands(true)
	for name, want := range alone {
		if together[name] != want {
			t.Errorf("%s: %s, alone %s", name, together[name], want)
		}
	}
	if len(together) != len(alone) || len(alone) < 50 {
		t.Errorf("%d stand, alone %d", len(together), len(alone))
	}
}

// TestNobodyIsHiddenByManyThatAreTriedInVain: of the waitlists that may be tried a call looks at some, those of a higher priority first. So of those
// that could not start all the same none is let try again before its time: else one of a low priority would never be tried, though what it needs is
// there, and is kept for it.
func TestNobodyIsHiddenByManyThatAreTriedInVain(t *testing.T) {
	high, low := 1.0, 0.0
	values := func(w *gateWorld, prefix string, priority *float64, more func(i int, p *Put)) {
		w.put(putsOf(40, func(i int) Put {
			p := Put{Queue: "q", Klass: "K", JID: fmt.Sprintf("%s%02d", prefix, i), Priority: priority, Data: fmt.Appendf(nil, `{"c":"c%02d"}`, i)}
			if more != nil {
				more(i, &p)
			}
			return p
		})...)
	}
	begins := func(w *gateWorld, jid string, ended []Taken) {
		t.Helper()
		for look := range 5 {
			w.now++
			w.tend("q")
			for _, job := range w.exchange("w", done(ended...), Take{Queues: []string{"q"}, Count: 100}).Jobs {
				if job.JID == jid {
					return
				}
				t.Errorf("%s begins, look %d", job.JID, look)
			}
			ended = nil
		}
		t.Errorf("%s does not begin", jid)
	}

	// The eldest of a throttle needs all its places. Behind it waits one of each value, longer than patience, and each value has room.
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["customer"],"by":{"customer":["path","c"]},"klass":{"Heavy":{"weight":40}}}`},
		map[string]string{"customer": `{"limit":40,"patience":5,"by":["path","c"]}`})
	values(w, "r", nil, nil)
	running := w.take("w", 40, "q")
	w.put(Put{Queue: "q", JID: "heavy", Klass: "Heavy", Priority: &low, Data: []byte("{}")})
	w.take("w", 1, "q")
	w.now++
	values(w, "l", &high, nil)
	w.take("w", 1, "q")
	w.now += 100
	if len(running) != 40 {
		t.Fatalf("%d run", len(running))
	}
	begins(w, "heavy", running)

	// Of those that wait for a rate none may begin for minutes: there is no token, or one, and each takes two.
	for _, tt := range []struct{ weight, rate string }{{"1", "[1,600,1]"}, {"2", "[2,1200,2]"}} {
		w = newGateWorld(t)
		w.rule(map[string]string{"q": `{"shape":"a","by":{"api":["path","c"]},"klass":{"K":{"weight":` + tt.weight + `,"throttles":["api"]},"One":{"throttles":["api"]},"Erp":{"throttles":["erp"]}}}`},
			map[string]string{"erp": `{"limit":1,"patience":60}`, "api": `{"rate":` + tt.rate + `,"patience":60,"by":["path","c"]}`})
		erp := func(jid string) { w.put(Put{Queue: "q", JID: jid, Klass: "Erp", Priority: &low, Data: []byte("{}")}) }
		erp("first")
		running = w.take("w", 1, "q")
		w.put(Put{Queue: "q", JID: "one", Klass: "One", Data: []byte("{}")})
		if jobs := w.take("w", 1, "q"); len(jobs) != 1 {
			t.Fatalf("%s: %d begin of one", tt.rate, len(jobs))
		}
		erp("second")
		values(w, "a", &high, func(i int, p *Put) {
			p.Throttles = []string{fmt.Sprint("own", i%4)}
			p.Data = fmt.Appendf(nil, `{"c":"c%d"}`, i/4)
		})
		w.take("w", 2, "q")
		begins(w, "second", running)
	}
}
