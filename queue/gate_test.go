package queue

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

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
		must0(w.t, json.Unmarshal([]byte(text), &q))
		r.Queues = append(r.Queues, RuledQueue{Queue: name, Rules: text, Limit: q.Limit})
	}
	for name, text := range throttles {
		var t struct {
			Limit int `json:"limit"`
		}
		must0(w.t, json.Unmarshal([]byte(text), &t))
		r.Throttles = append(r.Throttles, RuledThrottle{Name: name, Rules: text, Limit: t.Limit})
	}
	known, err := w.client.Rules(w.t.Context())
	must0(w.t, err)
	_, err = w.client.InstallRules(w.t.Context(), known.Version, r)
	must0(w.t, err)
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
	reply, err := readExchange(w.call("ruled", exchangeArgs(worker, sent, puts, take)...), w.now, results, take.Queues)
	must0(w.t, err)
	for _, r := range reply.Results {
		must0(w.t, r.Err)
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
			if !strings.HasPrefix(name, "starts:") && !strings.HasPrefix(name, "edition:") { // the first have a time to live, the other stays
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
		lists, err := w.client.Waitlists(t.Context(), id)
		must0(t, err)
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
	if len(jobs) != 1 {
		t.Fatalf("%d run", len(jobs))
	}
	waits("erp", 11)
	waits("db", 0)
	if mail := w.take("w", 6, "mail"); len(mail) != 2 {
		t.Fatalf("%d of mail run", len(mail))
	}
	waits("smtp", 4)
	ids, _, err := w.client.ThrottleNames(t.Context(), "", 10)
	must0(t, err)
	some, err := w.client.CountThrottles(t.Context(), ids)
	must0(t, err)
	told := map[string]int{}
	for _, th := range some {
		told[th.ID] = th.Waiters
	}
	if told["erp"] != 11 || told["smtp"] != 4 || told["db"] != 0 {
		t.Errorf("among all: %v", told)
	}
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
	must0(t, w.client.Pause(t.Context(), "q"))
	if jobs := w.take("w", 1, "q"); len(jobs) > 0 {
		t.Fatalf("of a paused queue %v begins", jobs)
	}
	must0(t, w.client.Resume(t.Context(), "q"))
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
		if len(jobs) != 1 || jobs[0].JID != "pays" || jobs[0].Answer == nil {
			t.Fatalf("weight %d: when the answer is there %+v begins", weight, jobs)
		}
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
