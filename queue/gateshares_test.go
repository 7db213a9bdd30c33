package queue

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// byRegion puts jobs of a region.
func (w *gateWorld) byRegion(queue, region string, n int) {
	w.t.Helper()
	w.put(putsOf(n, func(i int) Put {
		return Put{Queue: queue, Klass: "K", JID: fmt.Sprintf("%s-%s-%04d", queue, region, i), Data: []byte(`{"region":"` + region + `"}`)}
	})...)
}

// regions counts jobs by region.
func regions(jobs []Taken) map[string]int {
	counts := map[string]int{}
	for _, job := range jobs {
		_, rest, _ := strings.Cut(job.JID, "-")
		region, _, _ := strings.Cut(rest, "-")
		counts[region]++
	}
	return counts
}

const regionRules = `{"shape":"a","throttles":["region"],"by":{"region":["path","region"]}}`

// TestSharesAreHard: while east floods, it never has more than its 40 of 100 places.
func TestSharesAreHard(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": regionRules}, map[string]string{
		"region": `{"limit":100,"patience":60,"by":["path","region"],"shares":{"east":0.4,"north":0.3,"west":0.3}}`})
	w.byRegion("q", "east", 150)
	if got := regions(w.take("w", 200, "q")); got["east"] != 40 {
		t.Fatalf("alone east has %v", got)
	}
	w.byRegion("q", "north", 50)
	w.byRegion("q", "west", 50)
	if got := regions(w.take("w", 200, "q")); got["east"] != 0 || got["north"] != 30 || got["west"] != 30 {
		t.Errorf("beside it begin %v", got)
	}
}

// TestThrottleLoads: of a throttle whose values have places of their own is told who waits for any of them, and since when; the values
// are those that somebody has or waits for; without rules there is nothing.
func TestThrottleLoads(t *testing.T) {
	w, ctx := newGateWorld(t), t.Context()
	if loads, err := w.client.ThrottleLoads(ctx, 10); err != nil || len(loads) != 0 {
		t.Errorf("without rules: %+v, %v", loads, err)
	}
	w.rule(map[string]string{"q": regionRules}, map[string]string{
		"region": `{"limit":10,"patience":60,"by":["path","region"],"shares":{"east":0.4,"north":0.3,"we*t":0.3}}`, "idle": `{"limit":2}`, "third": `{"limit":1}`})
	w.byRegion("q", "east", 6)
	w.byRegion("q", "we*t", 4)
	w.take("w", 20, "q")
	began := w.now
	w.now += 5
	loads := must(w.client.ThrottleLoads(ctx, 2))(t)
	want := []ThrottleLoad{{ID: "idle", Maximum: 2, Rules: []byte(`{"limit":2}`)}, {ID: "region", Maximum: 10, Used: 7, Waiting: 3, Since: began, Rules: loads[1].Rules, Parties: map[string]int{"east": 2, "we*t": 1}}}
	if !reflect.DeepEqual(loads, want) || !strings.Contains(string(loads[1].Rules), `"shares":{"east":0.4`) {
		t.Errorf("of two is told %+v, began at %v", loads, began)
	}
	ok(t, w.client.Pause(ctx, "q"))
	if loads, err := w.client.ThrottleLoads(ctx, 2); err != nil || loads[1].Waiting != 3 || loads[1].Since != 0 {
		t.Errorf("while their queue is paused is told %+v, %v", loads, err)
	}
	ok(t, w.client.Resume(ctx, "q"))
	if loads, err := w.client.ThrottleLoads(ctx, 2); err != nil || loads[1].Since != began {
		t.Errorf("when it goes on is told %+v, %v", loads, err)
	}
	values, err := w.client.ThrottleValues(ctx, "region")
	never(t, err != nil || strings.Join(values, " ") != "east we*t", "its values are %q, %v", values, err)
	if odd, err := w.client.ThrottleValues(ctx, "regio?"); err != nil || len(odd) != 0 {
		t.Errorf("a name that is a pattern has the values %q, %v", odd, err)
	}
}

// TestSharesAreLent: east has all places while it is alone, and once north and west wait nobody beyond his share begins: one
// run of jobs later each has his own.
func TestSharesAreLent(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": regionRules}, map[string]string{
		"region": `{"limit":100,"patience":60,"by":["path","region"],"shares":{"east":0.4,"north":0.3,"west":0.3},"borrow":true}`})
	w.byRegion("q", "east", 300)
	running := w.take("w", 200, "q")
	if got := regions(running); got["east"] != 100 {
		t.Fatalf("alone east has %v", got)
	}
	w.byRegion("q", "north", 100)
	w.byRegion("q", "west", 100)
	for _, job := range running {
		w.now += 0.01
		running = append(running[1:], w.exchange("w", done(job), Take{Queues: []string{"q"}, Count: 200}).Jobs...)
	}
	if got := regions(running); len(running) != 100 || got["east"] != 40 || got["north"] != 30 || got["west"] != 30 {
		t.Errorf("one run later there are %v", got)
	}
}

// TestWhoIsWithinItsShareAgainComesBeforeAll: of more values than are looked at one by one all wait beyond their share; the last of them, whose job has
// ended, is the next to begin.
func TestWhoIsWithinItsShareAgainComesBeforeAll(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["region"],"by":{"region":["path","region"]}}`},
		map[string]string{"region": `{"limit":150,"patience":60,"by":["path","region"],"each":1,"borrow":true}`})
	const values = 150
	for _, which := range []string{"a", "b"} {
		w.put(putsOf(values, func(i int) Put {
			return Put{Queue: "q", Klass: "K", JID: fmt.Sprintf("%s-v%03d-0", which, i), Data: fmt.Appendf(nil, `{"region":"v%03d"}`, i)}
		})...)
	}
	var running []Taken
	for range 10 {
		running = append(running, w.take("w", 2*values, "q")...)
	}
	if got := regions(running); len(running) != values || got["v149"] != 1 {
		t.Fatalf("run %d, of the last value %d", len(running), got["v149"])
	}
	last := slices.IndexFunc(running, func(job Taken) bool { return job.JID == "a-v149-0" })
	if next := w.exchange("w", done(running[last]), Take{Queues: []string{"q"}, Count: 10}).Jobs; len(next) != 1 || next[0].JID != "b-v149-0" {
		t.Errorf("after it begin %v", next)
	}
}

// TestQueuesTakeTurns: of two queues that share one place each worker settles and takes in one call, and they alternate
// all the same; when one pool dies its queue is passed over.
func TestQueuesTakeTurns(t *testing.T) {
	w := newGateWorld(t)
	rules := `{"shape":"a","throttles":["one"]}`
	w.rule(map[string]string{"a": rules, "b": rules}, map[string]string{"one": `{"limit":1,"patience":60}`})
	for _, queue := range []string{"a", "b"} {
		w.put(putsOf(30, func(i int) Put { return Put{Queue: queue, Klass: "K", JID: fmt.Sprintf("%s%02d", queue, i)} })...)
	}
	has := map[string][]Taken{"a": w.take("wa", 1, "a"), "b": w.take("wb", 1, "b")}
	var order strings.Builder
	for range 20 {
		w.now += 0.5
		for _, queue := range []string{"a", "b"} {
			jobs := w.exchange("w"+queue, done(has[queue]...), Take{Queues: []string{queue}, Count: 1}).Jobs
			if has[queue] = jobs; len(jobs) > 0 {
				order.WriteString(queue)
			}
		}
	}
	if all := "a" + order.String(); !strings.Contains(all, "abababababab") {
		t.Errorf("they begin in the order %s", all)
	}
	// b's pool is dead: what it has is given up, and after a while nothing is kept for it.
	for _, queue := range []string{"a", "b"} {
		w.exchange("w"+queue, done(has[queue]...), Take{})
	}
	began := w.now
	for w.now < began+3.5 && len(w.take("wa", 1, "a")) == 0 {
		w.now += 0.5
	}
	if w.now-began > 3.4 || w.many("one") != 1 {
		t.Errorf("after %v s the place of a dead pool is not another's", w.now-began)
	}
}

// TestALightJobPassesAHeavyOne: a place that is too few for the first of a queue is another's who waits there, whether a job
// ends or the limit is raised; but not when the first has waited for longer than patience.
func TestALightJobPassesAHeavyOne(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["erp"],"klass":{"Heavy":{"weight":3}}}`}, map[string]string{"erp": `{"limit":4,"patience":20}`})
	light := func(names ...string) {
		for _, name := range names {
			w.put(Put{Queue: "q", Klass: "K", JID: name, Data: []byte("{}")})
		}
	}
	light("l1", "l2", "l3", "l4")
	running := w.take("w", 4, "q")
	w.put(Put{Queue: "q", JID: "heavy", Klass: "Heavy", Data: []byte("{}")})
	w.now++
	light("l5", "l6", "l7", "l8")
	if jobs := w.take("w", 10, "q"); len(jobs) > 0 {
		t.Fatalf("there is no place, and %d begin", len(jobs))
	}
	begins := func(when string, jobs []Taken, want ...string) {
		t.Helper()
		if got := jidsOf(jobs); !slices.Equal(got, want) {
			t.Errorf("%s %q begin, not %q", when, got, want)
		}
		running = append(running, jobs...)
	}
	end := func(many int) []Taken {
		ended := running[:many]
		running = running[many:]
		return w.exchange("w", done(ended...), Take{Queues: []string{"q"}, Count: 10}).Jobs
	}
	w.now += 2
	begins("a place is free, and", end(1), "l5")
	ok(t, w.client.SetThrottle(t.Context(), Throttle{ID: "erp", Maximum: 5}))
	w.tend("q")
	begins("the limit is raised, and", w.take("w", 10, "q"), "l6")
	w.now += 19
	begins("the heavy one is overdue, a place is free, and", end(1))
	begins("it is overdue, three are free, and", end(2), "heavy")
	begins("it runs, a place is free, and", end(1), "l7")
}

// TestPatience: a job that needs five of ten places gets them under an endless stream of others, at last when it is overdue
// and one run is over.
func TestPatience(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["erp"],"klass":{"Heavy":{"weight":5}}}`}, map[string]string{"erp": `{"limit":10,"patience":20}`})
	n := 0
	light := func(many int) {
		w.put(putsOf(many, func(int) Put { n++; return Put{Queue: "q", Klass: "K", JID: fmt.Sprintf("l%05d", n)} })...)
	}
	light(20)
	running := w.take("w", 10, "q")
	w.put(Put{Queue: "q", JID: "heavy", Klass: "Heavy", Data: []byte("{}")})
	began := w.now
	for w.now-began < 40 {
		light(2)
		w.now += 0.5
		one := running[0] // each runs for five seconds
		jobs := w.exchange("w", done(one), Take{Queues: []string{"q"}, Count: 10}).Jobs
		running = append(running[1:], jobs...)
		for _, job := range jobs {
			if job.JID == "heavy" {
				if waited := w.now - began; waited > 27 {
					t.Errorf("it began after %v s", waited)
				}
				return
			}
		}
		if len(running) == 0 {
			t.Fatalf("nothing runs after %v s", w.now-began)
		}
	}
	t.Error("it never began")
}

// TestRates: never more starts in any ten seconds than the rate has, and the burst of a bucket besides.
func TestRates(t *testing.T) {
	for _, tt := range []struct {
		rules string
		most  int
	}{{`{"rate":[100,10,20],"patience":60}`, 120}, {`{"rate":[100,10,1],"sliding":true,"patience":60}`, 100}} {
		w := newGateWorld(t)
		w.rule(map[string]string{"q": `{"shape":"a","throttles":["api"]}`}, map[string]string{"api": tt.rules})
		w.put(putsOf(400, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
		var starts []float64
		began := w.now
		for w.now < began+60 && len(starts) < 400 {
			w.now += 0.05
			jobs := w.take("w", 50, "q")
			for range jobs {
				starts = append(starts, w.now)
			}
			w.exchange("w", done(jobs...), Take{})
		}
		if len(starts) < 400 {
			t.Fatalf("%s: %d began in a minute", tt.rules, len(starts))
		}
		for i := range starts {
			many := 0
			for _, at := range starts[i:] {
				if at < starts[i]+9.999 {
					many++
				}
			}
			stop(t, many > tt.most, "%s: %d starts in ten seconds", tt.rules, many)
		}
		if took := starts[399] - began; took > 40.5 {
			t.Errorf("%s: it took %v s", tt.rules, took)
		}
	}
}

// TestWhoWaitedForAPlaceIsDueWhenARateLetsIt: of a throttle with a limit and a rate the next one waits for the place first. Where that is free before
// there is a token, the call that finds so says when there is one, so that nobody has to look for it.
func TestWhoWaitedForAPlaceIsDueWhenARateLetsIt(t *testing.T) {
	for _, rate := range []string{`"rate":[1,2,1]`, `"rate":[1,2,1],"sliding":true`} {
		w := newGateWorld(t)
		w.rule(map[string]string{"q": `{"shape":"a","throttles":["erp"]}`}, map[string]string{"erp": `{"limit":1,` + rate + `,"patience":60}`})
		w.put(putsOf(10, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
		running := w.take("w", 10, "q")
		for n := 1; n < 10; n++ {
			stop(t, len(running) != 1, "%s: %d run", rate, len(running))
			began := w.now
			w.now += 0.125
			reply := w.exchange("w", done(running...), Take{Queues: []string{"q"}, Count: 10})
			if due := began + 2; len(reply.Jobs) != 0 || reply.NextDue < due-0.01 || reply.NextDue > due+0.01 {
				t.Fatalf("%s: %d begin, others are due %v s after the last began", rate, len(reply.Jobs), reply.NextDue-began)
			}
			w.now = reply.NextDue + 0.01
			running = w.take("w", 10, "q")
		}
	}
}

// TestWhoTakesSeveralOfASlidingRateIsDueWhenAllAreThere: starts of longer ago than the period count for nothing, also while they are not forgotten yet.
// Else one who takes several would be due at once, in vain, and its queue looked at again and again.
func TestWhoTakesSeveralOfASlidingRateIsDueWhenAllAreThere(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["api"],"klass":{"Heavy":{"weight":2}}}`},
		map[string]string{"api": `{"rate":[3,30,3],"sliding":true,"patience":60}`})
	began := w.now
	for _, start := range []float64{0, 20, 21} {
		w.put(Put{Queue: "q", Klass: "K", JID: fmt.Sprint("light", start), Data: []byte("{}")})
		w.now = began + start
		if jobs := w.take("w", 1, "q"); len(jobs) != 1 {
			t.Fatalf("after %v s %d begin", start, len(jobs))
		}
	}
	w.now = began + 35
	w.put(Put{Queue: "q", Klass: "Heavy", JID: "heavy", Data: []byte("{}")})
	reply := w.exchange("w", nil, Take{Queues: []string{"q"}, Count: 1})
	if due := reply.NextDue - began; len(reply.Jobs) != 0 || due < 49.9 || due > 50.1 {
		t.Errorf("%d begin, and one that needs two is due after %v s", len(reply.Jobs), due)
	}
	w.now = began + 50.1
	if jobs := w.take("w", 1, "q"); len(jobs) != 1 {
		t.Errorf("then %d begin", len(jobs))
	}
}

// TestRatesThatRulesChange: what was taken at an old rate comes back at the new one, so who corrects a rate that was far too low waits for nothing of
// it, and who lowers one gets no more than it lets.
func TestRatesThatRulesChange(t *testing.T) {
	for _, tt := range []struct {
		old, rate string
		due       float64 // so long after the first began the next does, by half and by twice: rules are installed by the clock
	}{
		{`"rate":[1,36000,1]`, `"rate":[1,100,1]`, 100},
		{`"rate":[1,100,1]`, `"rate":[1,36000,1]`, 36000},
		{`"rate":[1,36000,1],"sliding":true`, `"rate":[1,100,1],"sliding":true`, 100},
		{`"rate":[1,36000,1]`, `"limit":1`, 0},
	} {
		w := newGateWorld(t)
		w.now = w.client.Now()
		rule := func(rate string) {
			w.rule(map[string]string{"q": `{"shape":"a","throttles":["api"]}`}, map[string]string{"api": `{` + rate + `,"patience":60}`})
		}
		rule(tt.old)
		w.put(putsOf(2, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
		first := w.take("w", 2, "q")
		if len(first) != 1 {
			t.Fatalf("%s: %d begin", tt.old, len(first))
		}
		began := w.now
		w.exchange("w", done(first...), Take{})
		rule(tt.rate)
		if w.now = began + tt.due/2; tt.due > 0 {
			w.tend("q")
			if jobs := w.take("w", 2, "q"); len(jobs) != 0 {
				t.Errorf("%s, then %s: the next begins within %v s", tt.old, tt.rate, tt.due/2)
			}
		}
		w.now = began + 2*tt.due + 0.01
		w.tend("q")
		if jobs := w.take("w", 2, "q"); len(jobs) != 1 {
			t.Errorf("%s, then %s: after %v s %d begin", tt.old, tt.rate, 2*tt.due, len(jobs))
		}
	}
}

// TestRatesWhereTheClockGoesBack: when the clock of Redis goes back by an hour, jobs go on to start at the rate.
func TestRatesWhereTheClockGoesBack(t *testing.T) {
	for _, rules := range []string{`{"rate":[10,10,5],"patience":60}`, `{"rate":[10,10,1],"sliding":true,"patience":60}`} {
		w := newGateWorld(t)
		w.rule(map[string]string{"q": `{"shape":"a","throttles":["api"]}`}, map[string]string{"api": rules})
		w.put(putsOf(200, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
		work := func(seconds float64) (started int) {
			for until := w.now + seconds; w.now < until; w.now += 0.5 {
				w.tend("q")
				jobs := w.take("w", 50, "q")
				started += len(jobs)
				w.exchange("w", done(jobs...), Take{})
			}
			return started
		}
		if n := work(30); n < 25 {
			t.Fatalf("%s: %d began in 30 s", rules, n)
		}
		w.now -= 3600
		if n := work(40); n < 15 || n > 50 {
			t.Errorf("%s: %d began in the 40 s after the clock went back", rules, n)
		}
	}
}

// TestBlockedJobsHideNoOthers: in front of a job that may run are many that may not. Each is looked at once; no call does more
// than 64, and later takes do not look at them again.
func TestBlockedJobsHideNoOthers(t *testing.T) {
	w := gateWorldOn(t, "redis")
	w.rule(map[string]string{"q": `{"shape":"a","klass":{"Big":{"weight":1,"throttles":["big"]}}}`}, map[string]string{"big": `{"limit":1,"patience":60}`})
	w.put(putsOf(1001, func(int) Put { return Put{Queue: "q", Klass: "Big"} })...)
	w.put(Put{Queue: "q", JID: "free1", Klass: "K", Data: []byte("{}")}, Put{Queue: "q", JID: "free2", Klass: "K", Data: []byte("{}")})
	calls, jids := 0, []string{}
	for more := true; more; calls++ {
		w.redis.ConfigResetStat(t.Context())
		reply := w.exchange("w", nil, Take{Queues: []string{"q"}, Count: 2 - len(jids)})
		for _, job := range reply.Jobs {
			jids = append(jids, job.JID)
		}
		if n := commandsRun(t, w.lab); n > 240 {
			t.Errorf("a call ran %d commands", n)
		}
		more = reply.More && len(jids) < 2
	}
	if got := strings.Join(jids, " "); got != "j0000 free1" || calls > 17 {
		t.Errorf("%d calls found %s", calls, got)
	}
	w.redis.ConfigResetStat(t.Context())
	if jobs := w.take("w", 1, "q"); len(jobs) != 1 || jobs[0].JID != "free2" {
		t.Errorf("then comes %v", jobs)
	}
	if n := commandsRun(t, w.lab); n > 40 {
		t.Errorf("a take beside a thousand that are blocked ran %d commands", n)
	}
}

// TestForeignersHaveTheirPlacesMended: who ends a job without a word to its throttles leaks its places until somebody looks.
func TestForeignersHaveTheirPlacesMended(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["erp"],"klass":{"Heavy":{"weight":2}}}`}, map[string]string{"erp": `{"limit":2,"patience":60}`})
	w.put(putsOf(2, func(int) Put { return Put{Queue: "q", Klass: "Heavy"} })...)
	first := w.take("w", 2, "q")
	stop(t, len(first) != 1, "took %v", first)
	w.redis.HSet(t.Context(), "ql:j:"+first[0].JID, "state", "complete")
	w.redis.ZRem(t.Context(), "ql:q:q-locks", first[0].JID)
	w.now += 6
	w.tend("q")
	if next := w.take("w", 2, "q"); len(next) != 1 || w.many("erp") != 2 {
		t.Errorf("after mending %v began, %d places are taken", next, w.many("erp"))
	}
}

// TestValuesThatAreOverAreForgotten: of a throttle with a value for each job, as an order's number, only those are looked at whose jobs run: a place that
// is left taken is found as soon as where there were few.
func TestValuesThatAreOverAreForgotten(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["order"],"by":{"order":["path","id"]}}`}, map[string]string{"order": `{"patience":60,"by":["path","id"],"each":1}`})
	var run []Taken
	for i := range 300 {
		w.put(Put{Queue: "q", JID: fmt.Sprint("o", i), Klass: "K", Data: fmt.Appendf(nil, `{"id":%d}`, i)})
		run = w.exchange("w", done(run...), Take{Queues: []string{"q"}, Count: 1}).Jobs
	}
	last := run[0]
	if known := w.redis.SMembers(t.Context(), "ql:oarlock:held").Val(); len(known) != 2 {
		t.Errorf("%d throttles are known to have holders, and two have", len(known))
	}
	w.redis.HSet(t.Context(), "ql:j:"+last.JID, "state", "complete")
	w.redis.ZRem(t.Context(), "ql:q:q-locks", last.JID)
	w.now += 6
	w.tend("q")
	if many := w.many("order=299"); many != 0 {
		t.Errorf("the place of a job that ended without a word is taken after mending")
	}
}

// TestWhatHasNoHoldersIsForgottenSoon: throttles that were left without holders by a call that could not say so, or by older scripts, a hundred each time.
func TestWhatHasNoHoldersIsForgottenSoon(t *testing.T) {
	w := newForeignWorld(t)
	for i := range 1000 {
		w.redis.SAdd(t.Context(), "ql:oarlock:held", fmt.Sprintf("gone=%d", i))
	}
	for range 10 {
		w.now += 6
		w.tend("q")
	}
	if left := w.redis.SCard(t.Context(), "ql:oarlock:held").Val(); left != 0 {
		t.Errorf("of a thousand %d are left after ten looks", left)
	}
}

// TestWhoIsLentAPlaceKeepsNone: of two that have waited for longer than patience one waits for what is lent and has passed where the other waits, which
// has passed where the first does. If both kept places, neither would ever begin.
func TestWhoIsLentAPlaceKeepsNone(t *testing.T) {
	w := newGateWorld(t)
	rules := `{"shape":"s","throttles":%s,"by":{"lent":["path","v"]},"klass":{"Two":{"weight":2},"Three":{"weight":3},"Four":{"weight":4}}}`
	w.rule(map[string]string{
		"lent": fmt.Sprintf(rules, `["lent"]`), "a": fmt.Sprintf(rules, `["a"]`), "a lent": fmt.Sprintf(rules, `["a","lent"]`), "lent a": fmt.Sprintf(rules, `["lent","a"]`),
	}, map[string]string{
		"a":    `{"limit":6,"patience":5}`,
		"lent": `{"limit":8,"patience":5,"by":["path","v"],"shares":{"x":0.5,"y":0.3},"others":0.2,"borrow":true}`,
	})
	begin := func(queue, jid, klass, v string, want int) []Taken {
		t.Helper()
		w.put(Put{Queue: queue, JID: jid, Klass: klass, Data: []byte(`{"v":"` + v + `"}`)})
		jobs := w.take("w", 1, queue)
		stop(t, len(jobs) != want, "of %s begin %v", jid, jobs)
		return jobs
	}
	begin("lent", "stays", "Two", "y", 1)
	ends, before := begin("lent", "ends", "Three", "x", 1), begin("lent", "ends before", "Two", "x", 1)
	begin("a", "stays too", "Two", "x", 1)
	begin("a lent", "first", "Four", "y", 0)
	w.exchange("w", done(before...), Take{}) // and now it waits for what is lent
	ends = append(ends, begin("a", "ends too", "Two", "x", 1)...)
	w.now++
	begin("lent a", "second", "Three", "z", 0)
	w.now += 10
	w.tend("a lent", "lent a")
	last := w.exchange("w", done(ends...), Take{Queues: []string{"a lent", "lent a"}, Count: 2}).Jobs
	for range 3 {
		w.now++
		w.tend("a lent", "lent a")
		last = append(last, w.exchange("w", nil, Take{Queues: []string{"a lent", "lent a"}, Count: 2}).Jobs...)
	}
	stop(t, len(last) != 1 || last[0].JID != "second", "where both have room begin %v", last)
	if last = w.exchange("w", done(last...), Take{Queues: []string{"a lent", "lent a"}, Count: 2}).Jobs; len(last) != 1 || last[0].JID != "first" {
		t.Errorf("then begin %v", last)
	}
}

// TestTheEldestDoNotWaitForEachOther: two jobs that have waited for longer than patience need the same two throttles, in the order in which each
// names them. One came first while it was beyond its share; it is within that later, and then comes before the other at both.
func TestTheEldestDoNotWaitForEachOther(t *testing.T) {
	w := newGateWorld(t)
	by := `"by":{"lent":["path","v"]}`
	w.rule(map[string]string{
		"both": `{"shape":"s","throttles":["lent","a"],` + by + `,"klass":{"Three":{"weight":3},"Four":{"weight":4}}}`,
		"lent": `{"shape":"s","throttles":["lent"],` + by + `}`,
		"a":    `{"shape":"s","throttles":["a"]}`,
	}, map[string]string{
		"a":    `{"limit":3,"patience":5}`,
		"lent": `{"limit":6,"patience":5,"by":["path","v"],"shares":{"x":0.5,"y":0.3},"others":0.2,"borrow":true,"keep":4}`,
	})
	z, x := []byte(`{"v":"z"}`), []byte(`{"v":"x"}`)
	began := func(what string, jobs []Taken, want ...string) []Taken {
		t.Helper()
		var jids []string
		for _, job := range jobs {
			jids = append(jids, job.JID)
		}
		stop(t, !slices.Equal(jids, want), "%s: %q began, want %q", what, jids, want)
		return jobs
	}
	w.put(Put{Queue: "lent", JID: "r", Klass: "K", Data: z})
	r := began("others have their share", w.take("w", 1, "lent"), "r")
	w.put(Put{Queue: "both", JID: "first", Klass: "Three", Data: z, Throttles: []string{"a"}})
	began("who is beyond it waits", w.take("w", 1, "both"))
	w.put(Put{Queue: "a", JID: "s", Klass: "K"})
	s := began("a place of a", w.take("w", 1, "a"), "s")
	w.now++
	w.put(Put{Queue: "both", JID: "second", Klass: "Four", Data: x})
	began("who waits for a", w.take("w", 1, "both"))
	w.now += 10
	w.tend("both", "lent", "a")
	last := w.exchange("w", done(append(r, s...)...), Take{Queues: []string{"both"}, Count: 4}).Jobs
	for range 3 {
		w.now++
		w.tend("both")
		last = append(last, w.exchange("w", nil, Take{Queues: []string{"both"}, Count: 4}).Jobs...)
	}
	began("when all is free", last, "first")
	w.now++
	began("then", w.exchange("w", done(last...), Take{Queues: []string{"both"}, Count: 4}).Jobs, "second")
}
