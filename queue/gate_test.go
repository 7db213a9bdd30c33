package queue

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/script"
	"oarlock/queue/internal/wire"
)

// gateWorld is a key space with rules, whose time the test tells.
type gateWorld struct {
	*lab
	t      testing.TB
	client *Client
	now    float64
}

func newGateWorld(t testing.TB) *gateWorld {
	t.Helper()
	return gateWorldOn(t, "shared")
}

// gateWorldOn is on a server that is its own if commands are counted or messages are heard.
func gateWorldOn(t testing.TB, server string) *gateWorld {
	t.Helper()
	w := &gateWorld{lab: newLab(t, server, DefaultNamespace), t: t, now: 1763700000}
	w.client = labClient(t, w.lab)
	return w
}

// rule writes compiled rules: of queues, and of throttles with their limits.
func (w *gateWorld) rule(queues, throttles map[string]string) {
	w.t.Helper()
	r := NewRules{Doc: "{}"}
	for name, text := range queues {
		var q struct {
			Limit int `json:"limit_of_queue"`
		}
		ok(w.t, json.Unmarshal([]byte(text), &q))
		r.Queues = append(r.Queues, RuledQueue{Queue: name, Rules: text, Limit: q.Limit})
	}
	for name, text := range throttles {
		var t struct {
			Limit int `json:"limit"`
		}
		ok(w.t, json.Unmarshal([]byte(text), &t))
		r.Throttles = append(r.Throttles, RuledThrottle{Name: name, Rules: text, Limit: t.Limit})
	}
	known := must(w.client.Rules(w.t.Context()))(w.t)
	must(w.client.InstallRules(w.t.Context(), known.Version, r))(w.t)
}

// call runs a script of ours at the world's time.
func (w *gateWorld) call(command string, args ...any) any {
	w.t.Helper()
	if w.change != nil {
		return w.callChanged(command, args)
	}
	raw, err := w.client.run(w.t.Context(), w.client.redis, script.Name{Dialect: Batch, Command: command}, w.now, args...)
	if err != nil {
		w.t.Fatalf("%s at %v: %v", command, w.now, err)
	}
	return raw
}

// callChanged is call, with the script as the lab has it, which may have a mistake.
func (w *gateWorld) callChanged(command string, args []any) any {
	w.t.Helper()
	words := []string{wire.Number(w.now)}
	for _, arg := range args {
		if text, is := arg.([]byte); is {
			arg = string(text)
		}
		words = append(words, fmt.Sprint(arg))
	}
	raw, err := w.eval(w.t.Context(), w.text(Batch, command), nil, words)
	if err != nil {
		w.t.Fatalf("%s at %v: %v", command, w.now, err)
	}
	return raw
}

func (w *gateWorld) put(puts ...Put) {
	w.t.Helper()
	for _, put := range puts {
		w.now += 0.001 // of one moment those with the greater jid come first
		if raw := w.call("put", appendPuts([]any{"w"}, []Put{put})...); !strings.HasPrefix(fmt.Sprint(raw.([]any)[0]), "put") {
			w.t.Fatalf("put of %s: %v", put.JID, raw)
		}
	}
}

// exchange settles jobs and takes others.
func (w *gateWorld) exchange(worker string, done []Settlement, take Take) Reply {
	w.t.Helper()
	sent, puts, results := checkSettlements(done)
	reply := must(readExchange(w.call("ruled", exchangeArgs(worker, sent, puts, take)...), w.now, results, take.Queues))(w.t)
	for _, r := range reply.Results {
		ok(w.t, r.Err)
	}
	for _, b := range reply.Broken {
		w.t.Errorf("broken: %+v", b)
	}
	return reply
}

func (w *gateWorld) take(worker string, count int, queues ...string) []Taken {
	w.t.Helper()
	var jobs []Taken
	for {
		reply := w.exchange(worker, nil, Take{Queues: queues, Count: count - len(jobs)})
		if jobs = append(jobs, reply.Jobs...); !reply.More || len(jobs) == count {
			return jobs
		}
	}
}

func done(jobs ...Taken) []Settlement {
	list := make([]Settlement, len(jobs))
	for i, job := range jobs {
		list[i] = Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: Complete}
	}
	return list
}

func (w *gateWorld) tend(queues ...string) {
	w.t.Helper()
	w.call("tend", append([]any{"0", len(queues)}, wire.Args(queues)...)...)
}

func (w *gateWorld) many(tid string) int {
	return int(w.redis.ZCard(w.t.Context(), "ql:th:"+tid+"-locks").Val())
}

// ownKeys are the keys of the gate that are there.
func (w *gateWorld) ownKeys() (keys []string) {
	for _, key := range w.redis.Keys(w.t.Context(), "ql:oarlock:*").Val() {
		switch name := strings.TrimPrefix(key, "ql:oarlock:"); name {
		case "rules", "needs", "seen", "tended", "held": // they stay
		default:
			if !strings.HasPrefix(name, "starts:") && !strings.HasPrefix(name, "fair:") && !strings.HasPrefix(name, "edition:") { // the first two have a time to live, the other stays
				keys = append(keys, name)
			}
		}
	}
	return keys
}

func putsOf(n int, with func(i int) Put) []Put {
	puts := make([]Put, n)
	for i := range puts {
		puts[i] = with(i)
		if puts[i].JID == "" {
			puts[i].JID = fmt.Sprintf("j%04d", i)
		}
		if puts[i].Data == nil {
			puts[i].Data = []byte("{}")
		}
	}
	return puts
}

func TestTheLimitOfAQueue(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","limited":true,"limit_of_queue":10}`}, nil)
	w.put(putsOf(30, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	first := w.take("w1", 100, "q")
	if len(first) != 10 || w.many("ql:q:q") != 10 {
		t.Fatalf("%d run, %d places are taken", len(first), w.many("ql:q:q"))
	}
	w.now++
	reply := w.exchange("w1", done(first[:4]...), Take{Queues: []string{"q"}, Count: 100})
	if len(reply.Jobs) != 4 || w.many("ql:q:q") != 10 {
		t.Errorf("after 4 ended %d began, %d places are taken", len(reply.Jobs), w.many("ql:q:q"))
	}
	rest := append(first[4:], reply.Jobs...)
	for len(rest) > 0 {
		w.now++
		rest = w.exchange("w1", done(rest...), Take{Queues: []string{"q"}, Count: 100}).Jobs
	}
	if keys := w.ownKeys(); len(keys) > 0 || w.many("ql:q:q") != 0 {
		t.Errorf("keys are left: %q", keys)
	}
}

// TestWeights runs what must hold P12, P13 and P14: a limit of ten, jobs that count twice, and both mixed.
func TestWeights(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["erp"],"klass":{"Heavy":{"weight":2},"Free":{"weight":1,"bypass":true}}}`},
		map[string]string{"erp": `{"limit":10,"patience":60}`})
	w.put(putsOf(40, func(i int) Put { return Put{Queue: "q", Klass: []string{"Heavy", "Light"}[i/20]} })...)
	running := w.take("w", 100, "q")
	if len(running) != 5 || w.many("erp") != 10 {
		t.Fatalf("%d heavy ones run in %d places", len(running), w.many("erp"))
	}
	w.put(Put{Queue: "q", JID: "free", Klass: "Free", Data: []byte("{}")})
	if free := w.take("w", 1, "q"); len(free) != 1 || free[0].JID != "free" {
		t.Errorf("beside a full throttle %v runs", free)
	}
	for ended := 0; len(running) > 0; ended++ {
		w.now++
		one := running[0]
		running = append(running[1:], w.exchange("w", done(one), Take{Queues: []string{"q"}, Count: 100}).Jobs...)
		sum := 0
		for _, job := range running {
			sum += map[string]int{"Heavy": 2, "Light": 1}[job.Klass]
		}
		if sum > 10 || sum != w.many("erp") || sum < 9 && ended < 25 {
			t.Fatalf("after %d jobs %d places are taken, and %d said to be", ended, sum, w.many("erp"))
		}
	}
	if keys := w.ownKeys(); len(keys) > 0 {
		t.Errorf("keys are left: %q", keys)
	}
}

// TestWaitlisted: whoever wants to know who waits for a throttle is told of all waitlists, of whatever queue and party, within its
// share or beyond, and of those that wait for another only there.
func TestWaitlisted(t *testing.T) {
	const odd = "o:1 \n\x00%"
	w := newGateWorld(t)
	w.rule(map[string]string{
		"orders": `{"throttles":["erp"]}`, odd: `{"throttles":["erp"],"klass":{"Slow":{"throttles":["db"]}}}`, "mail": `{"throttles":["smtp"],"by":{"smtp":["path","to"]}}`,
	}, map[string]string{"erp": `{"limit":1}`, "db": `{"limit":5}`, "smtp": `{"limit":2,"by":["path","to"],"each":1,"borrow":true}`})
	waits := func(id string, want int) {
		t.Helper()
		lists := must(w.client.Waitlists(t.Context(), id))(t)
		jids, err := w.client.Waitlisted(t.Context(), lists, 3)
		if total := JobsOf(lists); err != nil || total != want || len(jids) != min(3, want) {
			t.Errorf("for %q wait %d, named %q, %v; want %d", id, total, jids, err, want)
		}
		for _, list := range lists {
			if list.Since <= 0 || list.Since > w.now || list.Places != 1 || id == "smtp" && list.Party != "0" && list.Party != "1" || id == "erp" && list.Party != list.Queue {
				t.Errorf("for %q waits %+v", id, list)
			}
		}
	}
	waits("erp", 0)
	w.put(putsOf(8, func(i int) Put { return Put{Queue: "orders", Klass: "K"} })...)
	w.put(putsOf(4, func(i int) Put { return Put{Queue: odd, JID: fmt.Sprint("odd", i), Klass: []string{"K", "Slow"}[i%2]} })...)
	w.put(putsOf(6, func(i int) Put {
		return Put{Queue: "mail", JID: fmt.Sprint("mail", i), Klass: "K", Data: fmt.Appendf(nil, `{"to":"%d"}`, i/4)}
	})...)
	jobs := w.take("w", 12, "orders", odd)
	stop(t, len(jobs) != 1, "%d run", len(jobs))
	waits("erp", 11)
	waits("db", 0)
	if mail := w.take("w", 6, "mail"); len(mail) != 2 {
		t.Fatalf("%d of mail run", len(mail))
	}
	waits("smtp", 4)
	ids, _, err := w.client.ThrottleNames(t.Context(), "", 10)
	ok(t, err)
	some := must(w.client.CountThrottles(t.Context(), ids))(t)
	told := map[string]int{}
	for _, th := range some {
		told[th.ID] = th.Waiters
	}
	never(t, told["erp"] != 11 || told["smtp"] != 4 || told["db"] != 0, "among all: %v", told)
	w.exchange("w", done(jobs...), Take{})
	if next := w.take("w", 1, "orders", odd); len(next) != 1 {
		t.Fatalf("%d run after it", len(next))
	}
	waits("erp", 10)
}

// Which test fails when a rule of the gate is taken out of the scripts, one of each at least:
//
//	pause       TestTheFirstRulesOfTheGate
//	resumed     TestTheFirstRulesOfTheGate (window, rate), TestWhoWaitsHoldsNothing (what it holds counts)
//	window      TestJobsWaitForTheirWindowInOrder, TestNobodyIsTakenOverOutsideOfItsWindow
//	bypass      TestWeights, TestGateModel
//	throttles   TestTheLimitOfAQueue, TestWeights, TestGateModel
//	share       TestSharesAreHard (a cap), TestTheGateSaysSharesAndRates (what is lent)
//	rate        TestRates
//	command     TestACommandDecides, TestWhatACommandHoldsKeepsNoPlaces

// TestTheFirstRulesOfTheGate: a queue that is paused gives nothing, though there are places; and a job that was answered goes on while its window is shut,
// where its rate has no token left, and before all that wait.
func TestTheFirstRulesOfTheGate(t *testing.T) {
	w := newGateWorld(t)
	day := w.now - float64(int64(w.now)%86400)
	w.now = day + 12*3600
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["api"],"windows":[{"name":"noon","spec":"UTC|11:00-13:00"}]}`},
		map[string]string{"api": `{"rate":[1,86400,1],"patience":60}`})
	w.call("learn", openings([]any{"UTC|11:00-13:00"}, w.now)...)
	w.put(Put{Queue: "q", JID: "pays", Klass: "K"})
	ok(t, w.client.Pause(t.Context(), "q"))
	if jobs := w.take("w", 1, "q"); len(jobs) > 0 {
		t.Fatalf("of a paused queue %v begins", jobs)
	}
	ok(t, w.client.Resume(t.Context(), "q"))
	park := done(w.take("w", 1, "q")...)
	park[0].Action, park[0].Correlation, park[0].Delay = Park, "c", 4*time.Hour
	w.put(Put{Queue: "q", JID: "waits", Klass: "K"})
	w.exchange("w", park, Take{Queues: []string{"q"}, Count: 1})
	w.now = day + 14*3600
	w.call("respond", (&Response{Klass: "K", Correlation: "c", Data: []byte("1")}).words()...)
	if jobs := w.take("w", 2, "q"); len(jobs) != 1 || jobs[0].JID != "pays" || jobs[0].Answer == nil {
		t.Errorf("when the answer is there %+v begins", jobs)
	}
}

// TestWhoWaitedInVainHoldsUpNobody: its deadline is over, and it lacks a place that was free meanwhile: it gives up the others, and who waits for these begins.
func TestWhoWaitedInVainHoldsUpNobody(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","klass":{"Both":{"throttles":["a","b"]},"A":{"throttles":["a"]},"B":{"throttles":["b"]}}}`},
		map[string]string{"a": `{"limit":1,"patience":60}`, "b": `{"limit":1,"patience":60,"free":true}`})
	w.put(Put{Queue: "q", JID: "vain", Klass: "Both"}, Put{Queue: "q", JID: "next", Klass: "A"}, Put{Queue: "q", JID: "other", Klass: "B"})
	park := done(w.take("w", 3, "q")...)
	park[0].Action, park[0].Correlation, park[0].Delay = Park, "c", 10*time.Second
	w.exchange("w", park, Take{})
	if jobs := w.take("w", 3, "q"); len(jobs) != 1 || jobs[0].JID != "other" {
		t.Fatalf("while it is parked %v begin", jobs)
	}
	w.now += 20
	jobs := append(w.take("w", 3, "q"), w.take("w", 3, "q")...)
	if len(jobs) != 1 || jobs[0].JID != "next" {
		t.Errorf("when it has waited in vain %v begin", jobs)
	}
}

// TestWhoParkedHasItsPlaceInAFullQueue: of a queue all places of which are held by jobs that wait for an answer these go on when it comes, and
// when it has not come in time, and then the others.
func TestWhoParkedHasItsPlaceInAFullQueue(t *testing.T) {
	for _, weight := range []int{1, 2, 9} {
		w := newGateWorld(t)
		w.rule(map[string]string{"q": `{"shape":"a","limited":true,"limit_of_queue":2}`}, nil)
		w.put(Put{Queue: "q", JID: "pays", Klass: "K", Wants: Wants{Weight: weight}}, Put{Queue: "q", JID: "vain", Klass: "K"},
			Put{Queue: "q", JID: "waits", Klass: "K", Wants: Wants{Weight: 2}})
		for _, job := range w.take("w", 3, "q") {
			park := done(job)
			park[0].Action, park[0].Correlation, park[0].Delay = Park, job.JID, time.Hour
			w.exchange("w", park, Take{})
		}
		if jobs := w.take("w", 3, "q"); len(jobs) > 0 {
			t.Fatalf("weight %d: while all places are held %+v begins", weight, jobs)
		}
		w.call("respond", (&Response{Klass: "K", Correlation: "pays", Data: []byte("1")}).words()...)
		jobs := w.take("w", 3, "q")
		stop(t, len(jobs) != 1 || jobs[0].JID != "pays" || jobs[0].Answer == nil, "weight %d: when the answer is there %+v begins", weight, jobs)
		for began := 1; began < 3; began++ {
			w.now += 4000
			if jobs = w.exchange("w", done(jobs...), Take{Queues: []string{"q"}, Count: 1}).Jobs; len(jobs) != 1 {
				t.Fatalf("weight %d: when %d have begun %+v begins", weight, began, jobs)
			}
		}
	}
}

// TestWhoNeedsNothingAnyMoreHasNoPlace: who was parked, and goes on by rules by which it needs no place, gives up what it had by those before.
func TestWhoNeedsNothingAnyMoreHasNoPlace(t *testing.T) {
	w := newGateWorld(t)
	throttles := map[string]string{"a": `{"limit":1}`}
	w.rule(map[string]string{"q": `{"shape":"a","klass":{"K":{"throttles":["a"]}}}`}, throttles)
	w.put(Put{Queue: "q", JID: "pays", Klass: "K"})
	park := done(w.take("w", 1, "q")...)
	park[0].Action, park[0].Correlation, park[0].Delay = Park, "pays", time.Hour
	w.exchange("w", park, Take{})
	w.rule(map[string]string{"q": `{"shape":"b","klass":{"Other":{"throttles":["a"]}}}`}, throttles)
	w.put(Put{Queue: "q", JID: "other", Klass: "Other"})
	if jobs := w.take("w", 2, "q"); len(jobs) > 0 {
		t.Fatalf("while the place is kept %+v begins", jobs)
	}
	w.call("respond", (&Response{Klass: "K", Correlation: "pays", Data: []byte("1")}).words()...)
	if jobs := w.take("w", 2, "q"); len(jobs) != 2 || w.many("a") != 1 {
		t.Fatalf("when who has the place needs it no more %+v begins, and %d have it", jobs, w.many("a"))
	}
}

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
	stop(t, w.redis.HExists(t.Context(), "ql:oarlock:rules", "q:q").Val(), "the queue is still ruled")
	if keys := w.ownKeys(); len(keys) > 0 {
		t.Errorf("keys are left: %q", keys)
	}
	jids, last := w.redis.ZRangeArgs(t.Context(), redis.ZRangeArgs{Key: "ql:q:q-work", Start: 0, Stop: -1, Rev: true}).Val(), 2
	never(t, len(jids) < n-len(orders)-1, "%d jobs of %d are there", len(jids), n)
	for _, jid := range jids {
		if fields := w.redis.HMGet(t.Context(), "ql:j:"+jid, "throttles", "oarlock-gate").Val(); fields[0] != nil || fields[1] != nil {
			t.Fatalf("%s still has %v", jid, fields)
		}
		var number int
		fmt.Sscanf(jid, "j%d", &number)
		stop(t, number%3 > last, "%s comes behind one of priority %d", jid, last)
		last = number % 3
	}
}

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
					stop(t, looks == 200, "%d of 3 began", began)
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

// TestALostJobCountsUntilItIsTakenBack: while a job that lost its lock has its time of grace, a limit lets no other begin. The setting max-concurrency, as
// in the original, does not count it until it is noticed.
func TestALostJobCountsUntilItIsTakenBack(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"limited": `{"shape":"a","limited":true,"limit_of_queue":1}`}, nil)
	ok(t, w.client.Set(t.Context(), "setting-max-concurrency", "1"))
	for queue, begins := range map[string]int{"limited": 0, "setting": 1} {
		w.put(putsOf(3, func(i int) Put { return Put{Queue: queue, JID: fmt.Sprint(queue, i), Klass: "K"} })...)
		if jobs := w.take("w", 3, queue); len(jobs) != 1 {
			t.Fatalf("%d of %s run", len(jobs), queue)
		}
		w.now += 61
		if jobs := w.take("v", 3, queue); len(jobs) != begins {
			t.Errorf("as the lock of one of %s runs out, %v begin", queue, jidsOf(jobs))
		}
		if jobs := w.take("v", 3, queue); len(jobs) != 0 {
			t.Errorf("in the time of grace of one of %s, %v begin", queue, jidsOf(jobs))
		}
		w.now += 11
		if jobs := w.take("v", 3, queue); len(jobs) != 1-begins || begins == 0 && jobs[0].JID != queue+"0" {
			t.Errorf("after the grace of one of %s, %v begin", queue, jidsOf(jobs))
		}
	}
}

// TestAValueHasThePatienceOfItsThrottle: a heavy job of a value comes first as soon as it has waited for longer than the throttle's patience.
func TestAValueHasThePatienceOfItsThrottle(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["r"],"by":{"r":["path","r"]},"klass":{"Heavy":{"weight":2}}}`},
		map[string]string{"r": `{"limit":10,"patience":5,"by":["path","r"],"each":2}`})
	put := func(jid, class string) { w.put(Put{Queue: "q", JID: jid, Klass: class, Data: []byte(`{"r":"a"}`)}) }
	put("light 0", "K")
	put("light 1", "K")
	running := w.take("w", 9, "q")
	put("heavy", "Heavy")
	for i := range 12 {
		w.now++
		put(fmt.Sprint("light ", 2+i), "K")
		var ended []Settlement
		if len(running) > 0 {
			ended, running = done(running[0]), running[1:]
		}
		began := w.exchange("w", ended, Take{Queues: []string{"q"}, Count: 9}).Jobs
		if slices.Contains(jidsOf(began), "heavy") {
			return
		}
		if len(began) == 0 && i < 4 {
			t.Fatalf("after %d s a place is kept", i+1)
		}
		running = append(running, began...)
	}
	t.Errorf("the heavy one waits, with %v", w.ownKeys())
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
	ok(t, w.client.Set(t.Context(), "a-max-concurrency", "1"))
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

// counted adds what the gate said in a reply to counts, by queue and word.
func counted(counts map[string]int, replies ...Reply) map[string]int {
	for _, reply := range replies {
		for _, c := range reply.Gate {
			counts[c.Queue+" "+string(c.Word)] += c.Jobs
		}
	}
	return counts
}

// TestTheGateSaysWhatItDid: of each job that runs, is filed or is put off it says why, once, whatever the queue is named.
func TestTheGateSaysWhatItDid(t *testing.T) {
	for _, name := range []string{"q", "a b:\n\x00%"} {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			w := newGateWorld(t)
			w.rule(map[string]string{name: `{"shape":"a","throttles":["erp"],"klass":{"Free":{"weight":1,"bypass":true}}}`, "other": `{"shape":"a"}`},
				map[string]string{"erp": `{"limit":2,"patience":60}`})
			w.put(putsOf(5, func(int) Put { return Put{Queue: name, Klass: "K"} })...)
			w.put(Put{Queue: name, JID: "free", Klass: "Free"}, Put{Queue: "other", JID: "o", Klass: "K"})
			reply := w.exchange("w", nil, Take{Queues: []string{name, "other"}, Count: 100})
			want := map[string]int{name + " free": 2, name + " bypass": 1, name + " full": 1, name + " behind": 2, "other free": 1}
			if got := counted(map[string]int{}, reply); !maps.Equal(got, want) {
				t.Errorf("of jobs that come in it says %v, want %v", got, want)
			}
			w.now++
			reply = w.exchange("w", done(reply.Jobs...), Take{Queues: []string{name}, Count: 100})
			if got, want := counted(map[string]int{}, reply), map[string]int{name + " waited": 2}; !maps.Equal(got, want) {
				t.Errorf("of jobs from a waitlist it says %v, want %v", got, want)
			}
			w.now++
			reply = w.exchange("w", nil, Take{Queues: []string{name}, Count: 100})
			never(t, len(reply.Gate) != 0, "where nothing happens it says %v", reply.Gate)
		})
	}
}

// TestTheGateSaysSharesAndRates: what waits for a share or a rate is told from what waits for a place, and what is lent from what is had.
func TestTheGateSaysSharesAndRates(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{
		"hard": `{"shape":"a","throttles":["region"],"by":{"region":["path","region"]}}`,
		"lent": `{"shape":"a","throttles":["loan"],"by":{"loan":["path","region"]}}`,
		"rate": `{"shape":"a","throttles":["api"]}`,
	}, map[string]string{
		"region": `{"limit":4,"patience":60,"by":["path","region"],"shares":{"east":0.5,"west":0.5}}`,
		"loan":   `{"limit":4,"patience":60,"by":["path","region"],"shares":{"east":0.5,"west":0.5},"borrow":true}`,
		"api":    `{"limit":0,"patience":60,"rate":[2,10,2]}`,
	})
	for _, queue := range []string{"hard", "lent", "rate"} {
		w.put(putsOf(5, func(i int) Put {
			return Put{Queue: queue, JID: fmt.Sprint(queue, i), Klass: "K", Data: []byte(`{"region":"east"}`)}
		})...)
	}
	got := map[string]int{}
	for range 3 { // lent is only once all that came in is sorted
		w.now++
		counted(got, w.exchange("w", nil, Take{Queues: []string{"hard", "lent", "rate"}, Count: 100}))
	}
	for word, want := range map[string]int{"hard free": 2, "hard share": 1, "hard behind": 2, "lent free": 2, "lent lent": 2, "rate free": 2, "rate rate": 1, "rate behind": 2} {
		never(t, got[word] != want, "%s: %d, want %d; it says %v", word, got[word], want, got)
	}
}

// TestTheGateSaysWindowsAndAnswers: a job that its window puts off is told of once a move, and one that goes on with its answer as that.
func TestTheGateSaysWindowsAndAnswers(t *testing.T) {
	w := newGateWorld(t)
	w.now = float64(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC).Unix())
	w.windowed("q", 0, "UTC|05:00-07:00")
	w.call("learn", openings([]any{"UTC|05:00-07:00", "UTC|00:00-24:00"}, w.now)...)
	w.put(putsOf(3, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	w.put(Put{Queue: "q", JID: "pay", Klass: "Free"})
	reply := w.exchange("w", nil, Take{Queues: []string{"q"}, Count: 100})
	if got, want := counted(map[string]int{}, reply), map[string]int{"q window": 3, "q free": 1}; !maps.Equal(got, want) {
		t.Errorf("it says %v, want %v", got, want)
	}
	parks := done(reply.Jobs...)
	parks[0].Action, parks[0].Correlation, parks[0].Delay = Park, "order-1", time.Hour
	w.exchange("w", parks, Take{})
	w.now++
	if raw := w.call("respond", "Free", "order-1", "", "data", "1", ""); raw.([]any)[0] != "resumed" {
		t.Fatalf("the answer is %v", raw)
	}
	reply = w.exchange("w", nil, Take{Queues: []string{"q"}, Count: 100})
	if got, want := counted(map[string]int{}, reply), map[string]int{"q resumed": 1}; !maps.Equal(got, want) {
		t.Errorf("of an answer it says %v, want %v", got, want)
	}
}

// TestTendSaysWhatItGaveBack: places by throttle, those of a value as those of the throttle that counts by it.
func TestTendSaysWhatItGaveBack(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["region"],"by":{"region":["path","region"]},"klass":{"Heavy":{"weight":2}}}`},
		map[string]string{"region": `{"limit":4,"patience":60,"by":["path","region"],"shares":{"east":0.5,"west":0.5}}`})
	w.put(Put{Queue: "q", JID: "a", Klass: "Heavy", Data: []byte(`{"region":"east"}`)})
	if jobs := w.take("w", 1, "q"); len(jobs) != 1 {
		t.Fatalf("took %v", jobs)
	}
	w.redis.HSet(t.Context(), "ql:j:a", "state", "complete")
	w.redis.ZRem(t.Context(), "ql:q:q-locks", "a")
	now := w.client.Now()
	tended, err := w.client.Tend(t.Context(), nil, []string{"q"}, 0)
	never(t, err != nil || !maps.Equal(tended.Places, map[string]int{"region": 4}) || tended.Mended != nil, "at %v: %+v, %v", now, tended, err)
	if tended, err = w.client.Tend(t.Context(), nil, []string{"q"}, 0); err != nil || tended.Places != nil {
		t.Errorf("again: %+v, %v", tended, err)
	}
}

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
	must(sub.Receive(ctx))(w.t)
	do()
	ok(w.t, w.redis.Publish(ctx, "ql:oarlock:wake", "that was all").Err())
	for {
		m := must(sub.ReceiveMessage(ctx))(w.t)
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
		stop(t, w.many("erp") != 1, "it gave its place back")
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

// TestAQueueWhoseJobsNeedNothing hands its jobs out as one without rules does, whatever they have, however large they are, and if somebody damaged some: two key spaces have
// the same jobs, and rules for one of them say nothing of most.
func TestAQueueWhoseJobsNeedNothing(t *testing.T) {
	for seed := range Seeds(t, 20) {
		plain, ruled := newGateWorld(t), newGateWorld(t)
		ruled.rule(map[string]string{"q": `{"shape":"a","klass":{"Other":{"throttles":["wide"]}}}`}, map[string]string{"wide": `{"limit":1000,"patience":60}`})
		var had [2][]Taken
		random := rand.New(rand.NewPCG(seed, 1))
		for range 12 {
			puts, harm := somePuts(random), random.IntN(6)
			take := Take{Queues: []string{"q"}, Count: 1 + random.IntN(30), MaxJob: []int64{0, 0, 1000}[random.IntN(3)], Order: []Order{Ordered, RoundRobin}[random.IntN(2)]}
			var replies [2]Reply
			var left [2][]string
			for i, w := range []*gateWorld{plain, ruled} {
				w.now++
				w.call("put", appendPuts([]any{"w"}, puts)...)
				w.harm(harm, puts[0].JID)
				sent, settled, results := checkSettlements(done(had[i]...))
				raw := w.call([]string{"exchange", "ruled"}[i], exchangeArgs("w", sent, settled, take)...)
				var err error
				replies[i], err = readExchange(raw, w.now, results, take.Queues)
				ok(t, err)
				replies[i].Gate, had[i] = nil, nil
				for k := range replies[i].Jobs {
					job := &replies[i].Jobs[k]
					if job.Damage == "" {
						had[i] = append(had[i], *job)
					}
					job.Places = "" // of class Other
				}
				left[i] = w.redis.ZRange(t.Context(), "ql:q:q-work", 0, -1).Val()
			}
			if !reflect.DeepEqual(replies[0], replies[1]) {
				t.Fatalf("seed %d: %+v answers, without rules\n%s\nwith\n%s", seed, take, shortly(replies[0]), shortly(replies[1]))
			}
			stop(t, !reflect.DeepEqual(left[0], left[1]), "seed %d: %+v leaves %q without rules, and with %q", seed, take, left[0], left[1])
		}
	}
}

// somePuts are jobs of many kinds; the first is as most are.
func somePuts(random *rand.Rand) []Put {
	return putsOf(1+random.IntN(30), func(i int) Put {
		p := Put{Queue: "q", JID: fmt.Sprintf("j%08x", random.Uint32()), Klass: []string{"K", "K", "K", "Other"}[random.IntN(4)]}
		if i == 0 {
			p.Klass = "K"
			return p
		}
		switch random.IntN(12) {
		case 0:
			p.Data = []byte(`"` + strings.Repeat("x", random.IntN(3000)) + `"`)
		case 1:
			p.Data = []byte(`"` + strings.Repeat("x", call4MiB/2) + `"`)
		case 2:
			p.Timeout = Duration(5)
		case 3:
			p.Tags = []string{"a"}
		case 4:
			p.Delay = Duration(random.Float64() * 3)
		}
		return p
	})
}

// call4MiB is how many bytes of data a call hands out.
const call4MiB = 4 << 20

// harm does something to a job that no client does.
func (w *gateWorld) harm(kind int, jid string) {
	ctx, key := w.t.Context(), "ql:j:"+jid
	switch kind {
	case 0:
		w.redis.Del(ctx, key)
	case 1:
		w.redis.HDel(ctx, key, "data")
	case 2:
		w.redis.HDel(ctx, key, "jid")
	case 3:
		w.redis.Del(ctx, key)
		w.redis.Set(ctx, key, "no hash", 0)
	}
}

// shortly is a reply without the data of its jobs.
func shortly(reply Reply) string {
	var jobs []string
	for _, job := range reply.Jobs {
		jobs = append(jobs, fmt.Sprintf("%s %s %d %q %q", job.JID, job.Klass, job.Size, job.Damage, job.Places))
	}
	reply.Jobs = nil
	return fmt.Sprintf("%q %+v", jobs, reply)
}

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
	never(t, began != "f1" || len(commands) > many/callFiles+2, "after %d calls begins %q", len(commands), began)
	first, last := slices.Max(commands[:10]), slices.Max(commands[len(commands)-10:])
	never(t, first > 240 || last > 1.05*first, "the first calls run %v commands, the last %v", first, last)
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
			for _, job := range w.exchange("w", nil, Take{Queues: []string{"q"}, Count: 50}).Jobs { // there is room for all, or values would take turns
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
			if all[jid] = fmt.Sprint(f); f[0] != "running" { // who waits by itself may stand in its waitlist for a moment before it runs
				all[jid] += fmt.Sprint(w.redis.LLen(t.Context(), "ql:j:"+jid+"-history").Val())
			}
		}
		for _, key := range w.redis.Keys(t.Context(), "ql:oarlock:waitlist:*").Val() {
			all[key] = fmt.Sprint(w.redis.ZRange(t.Context(), key, 0, -1).Val())
		}
		all["throttled"] = fmt.Sprint(w.redis.ZCard(t.Context(), "ql:q:q-throttled").Val())
		return all
	}
	alone, together := stands(false), stands(true)
	for name, want := range alone {
		never(t, together[name] != want, "%s: %s, alone %s", name, together[name], want)
	}
	never(t, len(together) != len(alone) || len(alone) < 50, "%d stand, alone %d", len(together), len(alone))
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
	stop(t, len(running) != 40, "%d run", len(running))
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
