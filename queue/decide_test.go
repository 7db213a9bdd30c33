package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const asksClosed, asksOpen = `{"asks":"closed","patience":60}`, `{"asks":"open","patience":60}`

// asks makes queue q one in which the command of planner decides, beside other throttles.
func (w *gateWorld) asks(planner string, others map[string]string) {
	names := `"planner"`
	throttles := map[string]string{"planner": planner}
	for name, text := range others {
		names += fmt.Sprintf(`,%q`, name)
		throttles[name] = text
	}
	w.rule(map[string]string{
		"q": `{"shape":"a","throttles":[` + names + `],"asks":{"planner":true}}`,
		"p": `{"shape":"a","throttles":["erp"],"asks":{"planner":true}}`,
	}, throttles)
}

func (w *gateWorld) ask(asker string) Question {
	w.t.Helper()
	q := must(readQuestion(w.call("decider.look", "planner", asker, "7")))(w.t)
	for some := range slices.Chunk(q.Running, runningChunk) {
		var jids []any
		for _, r := range some {
			jids = append(jids, r.JID)
		}
		if err := readRunning(w.call("decider.running", jids...), some); err != nil {
			w.t.Fatal(err)
		}
	}
	return q
}

func (w *gateWorld) decide(number int, d Decision) []any {
	w.t.Helper()
	return w.call("decider.rule", decisionArgs("planner", number, d)...).([]any)
}

func verdict(jid, verb string, seconds float64) Verdict {
	return Verdict{jid, "q", verb, time.Duration(seconds * float64(time.Second)), "node 7 drains"}
}

func (q Question) jids() (jids []string) {
	for _, c := range q.Candidates {
		jids = append(jids, c.JID)
	}
	return jids
}

// P16: a command sees who waits and who runs, and lets start, declines or puts off.
func TestACommandDecides(t *testing.T) {
	w := newGateWorld(t)
	w.asks(asksClosed, nil)
	w.put(putsOf(4, func(i int) Put { return Put{Queue: "q", Klass: "Render", Data: []byte(`{"n":` + fmt.Sprint(i) + `}`)} })...)
	if got := w.take("w1", 10, "q"); len(got) != 0 {
		t.Fatalf("%d run that nobody was asked about", len(got))
	}
	q := w.ask("web1")
	if !slices.Equal(q.jids(), []string{"j0000", "j0001", "j0002", "j0003"}) || string(q.Candidates[1].Data) != `{"n":1}` || q.Candidates[1].Klass != "Render" ||
		q.Candidates[0].Attempt != 1 || q.Candidates[0].Places != 1 || len(q.Running) != 0 {
		t.Fatalf("asked: %+v", q)
	}
	if other := w.ask("web2"); other.Number != 0 || other.Again != w.now+7 {
		t.Errorf("two ask at a time: %+v", other)
	}
	told := w.decide(q.Number, Decision{Verdicts: []Verdict{
		verdict("j0000", VerdictStart, 10), verdict("j0001", VerdictHold, 30), verdict("j0002", VerdictDelay, 3600), verdict("gone", VerdictStart, 10)}})
	never(t, !slices.Equal(told, []any{"done", "done", "done", "done", "gone"}), "told %v", told)
	if told := w.decide(q.Number, Decision{Verdicts: []Verdict{verdict("j0003", VerdictStart, 10)}}); !slices.Equal(told, []any{"else"}) {
		t.Errorf("a question was answered twice: %v", told)
	}
	first := w.take("w1", 10, "q")
	if len(first) != 1 || first[0].JID != "j0000" || w.many("planner") != 1 {
		t.Fatalf("%v run, %d places", first, w.many("planner"))
	}
	if state := w.redis.HGet(t.Context(), "ql:j:j0002", "state").Val(); state != "scheduled" {
		t.Errorf("who was put off is %s", state)
	}
	q = w.ask("web2")
	if !slices.Equal(q.jids(), []string{"j0003"}) || len(q.Running) != 1 || q.Running[0].JID != "j0000" || q.Running[0].Since == 0 || q.Places != 1 {
		t.Errorf("asked the second time: %+v", q)
	}
	w.decide(q.Number, Decision{Verdicts: []Verdict{verdict("j0003", VerdictStart, 10)}, Pause: 3 * time.Second})
	if q := w.ask("web1"); q.Number != 0 || q.Again != w.now+3 {
		t.Errorf("asked in spite of the pause: %+v", q)
	}
	w.now += 31
	w.exchange("w1", done(first...), Take{Queues: []string{"q"}, Count: 0})
	w.tend("q") // somebody has a free child
	if q := w.ask("web1"); !slices.Equal(q.jids(), []string{"j0001"}) || len(q.Running) != 0 {
		t.Errorf("asked the third time: %+v", q)
	}
}

// A command sees of each running job what it sees of those that wait, of a thousand of them, and how many more there are.
func TestACommandSeesWhatRuns(t *testing.T) {
	w := newGateWorld(t)
	w.asks(asksClosed, nil)
	pipe := w.redis.Pipeline()
	for i := range 1005 {
		jid := fmt.Sprintf("r%04d", i)
		data := fmt.Sprintf(`{"region":"r%d"}`, i%3)
		switch i {
		case 1000:
			data = `"` + strings.Repeat("x", 4095) + `"` // of 4,097 bytes
		case 1001:
			data = `"` + strings.Repeat("x", 4094) + `"`
		}
		pipe.HSet(t.Context(), "ql:j:"+jid, "jid", jid, "state", "running", "queue", "q", "klass", "Render", "data", data, "tags", `["fast","eu"]`, "priority", "7", "time", "1763700000.5")
		pipe.ZAdd(t.Context(), "ql:th:planner-locks", redis.Z{Score: 1763700000 + float64(i), Member: jid}, redis.Z{Score: 1763700000 + float64(i), Member: jid + "\x002"})
	}
	pipe.HSet(t.Context(), "ql:j:r1003", "state", "complete", "queue", "") // since then
	pipe.HSet(t.Context(), "ql:j:r1002", "state", "throttled")
	_, err := pipe.Exec(t.Context())
	stop(t, err != nil, "%v", err)
	w.put(Put{JID: "waits", Queue: "q", Klass: "Render", Data: []byte("{}")})
	w.take("w1", 1, "q")
	q := w.ask("web1")
	stop(t, len(q.Running) != 1000 || q.More != 5 || q.Places != 2010, "%d run, %d more, %d places", len(q.Running), q.More, q.Places)
	want := Running{JID: "r0500", Queue: "q", Klass: "Render", Data: []byte(`{"region":"r2"}`), Size: 15, Priority: 7, Tags: []string{"fast", "eu"}, Places: 2, Since: 1763700000.5}
	if r := q.Running[504]; fmt.Sprint(r) != fmt.Sprint(want) {
		t.Errorf("a job that runs: %+v, want %+v", r, want)
	}
	if r := q.Running[4]; r.JID != "r1000" || r.Data != nil || r.Size != 4097 {
		t.Errorf("one of 4,097 bytes: %d of %d", len(r.Data), r.Size)
	}
	if r := q.Running[3]; r.JID != "r1001" || len(r.Data) != 4096 || r.Size != 4096 {
		t.Errorf("one of 4 KiB: %d of %d", len(r.Data), r.Size)
	}
	if r := q.Running[2]; r.Since != 0 || r.Places != 2 {
		t.Errorf("one that may start: %+v", r)
	}
	if r := q.Running[1]; r.Places != 0 {
		t.Errorf("one that has ended: %+v", r)
	}
}

// TestACommandIsAskedAboutWhoBorrows: who would run by places that another throttle lends is asked about as all are.
func TestACommandIsAskedAboutWhoBorrows(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["planner","lent"],"asks":{"planner":true},"by":{"lent":["path","r"]}}`},
		map[string]string{"planner": asksClosed, "lent": `{"limit":3,"patience":60,"by":["path","r"],"shares":{"east":0.4},"borrow":true}`})
	w.put(putsOf(3, func(i int) Put { return Put{Queue: "q", Klass: "K", Data: []byte(`{"r":"east"}`)} })...)
	for i := range 3 {
		w.take("w", 3, "q")
		q := w.ask("web1")
		if len(q.jids()) != 3-i {
			t.Fatalf("when %d run it is asked about %v", i, q.jids())
		}
		w.decide(q.Number, Decision{Verdicts: []Verdict{verdict(q.jids()[0], VerdictStart, 10)}})
		if jobs := w.take("w", 3, "q"); len(jobs) != 1 {
			t.Fatalf("when %d run %+v begins", i, jobs)
		}
	}
}

// TestWhatACommandHoldsHidesNobody: however many waitlists and queues have nothing but jobs that it holds, it is asked about those behind them.
func TestWhatACommandHoldsHidesNobody(t *testing.T) {
	for _, queues := range []int{1, 30} {
		w := newGateWorld(t)
		ruled, names := map[string]string{}, []string{}
		for i := range queues {
			names = append(names, fmt.Sprint("q", i))
			ruled[names[i]] = `{"shape":"a","throttles":["c","planner"],"asks":{"planner":true},"by":{"c":["path","c"]}}`
		}
		w.rule(ruled, map[string]string{"planner": asksClosed, "c": `{"patience":60,"by":["path","c"],"each":1}`})
		w.put(putsOf(30, func(i int) Put {
			return Put{Queue: names[i%queues], Klass: "K", Data: fmt.Appendf(nil, `{"c":"c%d"}`, i)}
		})...)
		asked := map[string]bool{}
		for range 4 {
			for _, name := range names {
				w.take("w", 1, name)
			}
			q := w.ask("web1")
			var verdicts []Verdict
			for _, c := range q.Candidates {
				asked[c.JID] = true
				verdicts = append(verdicts, Verdict{c.JID, c.Queue, VerdictHold, time.Hour, ""})
			}
			w.decide(q.Number, Decision{Verdicts: verdicts})
			w.now++
		}
		never(t, len(asked) != 30, "of 30 jobs of %d queues it was asked about %d", queues, len(asked))
	}
}

// TestAskedWhereTheClockGoesBack: when the clock of Redis goes back by an hour, the command is asked again at once, about all.
func TestAskedWhereTheClockGoesBack(t *testing.T) {
	w := newGateWorld(t)
	w.asks(asksClosed, nil)
	w.put(putsOf(2, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	w.take("w1", 10, "q")
	q := w.ask("web1")
	w.decide(q.Number, Decision{Verdicts: []Verdict{verdict("j0000", VerdictHold, 30)}, Pause: 3 * time.Second})
	w.now -= 3600
	w.tend("q")
	if q := w.ask("web1"); !slices.Equal(q.jids(), []string{"j0000", "j0001"}) {
		t.Errorf("asked %+v", q)
	}
	if q := w.ask("web2"); q.Number != 0 {
		t.Errorf("two ask at a time: %+v", q)
	}
}

// Who may start and is not taken may no longer, and the place is given back.
func TestLeaveToStartLapses(t *testing.T) {
	w := newGateWorld(t)
	w.asks(asksClosed, nil)
	w.put(Put{JID: "j1", Queue: "q", Klass: "K", Data: []byte("{}")})
	w.take("w1", 1, "q")
	w.decide(w.ask("web1").Number, Decision{Verdicts: []Verdict{verdict("j1", VerdictStart, 10)}})
	w.tend("q")
	stop(t, w.many("planner") != 1, "leave to start was taken away at once")
	w.now += 11
	w.tend("q")
	if n := w.many("planner"); n != 0 {
		t.Errorf("%d places are taken by a job that did not start", n)
	}
	if got := w.take("w1", 1, "q"); len(got) != 0 {
		t.Errorf("it started all the same: %v", got)
	}
	w.now += 1
	if q := w.ask("web1"); !slices.Equal(q.jids(), []string{"j1"}) {
		t.Errorf("it is not asked about again: %+v", q)
	}
}

// While the command cannot be asked nobody starts, or everybody does, as the rules say.
func TestACommandThatNobodyHas(t *testing.T) {
	w := newGateWorld(t)
	w.asks(asksClosed, nil)
	w.put(putsOf(3, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	w.now += 3600
	if got := w.take("w1", 10, "q"); len(got) != 0 {
		t.Fatalf("closed, and %d run", len(got))
	}
	w.asks(asksOpen, nil)
	q := w.ask("web1")
	if got := w.take("w1", 10, "q"); len(got) != 0 {
		t.Fatalf("somebody has the command, and %d run", len(got))
	}
	w.decide(q.Number, Decision{Open: 5 * time.Second, Pause: 5 * time.Second, Trouble: "it did not answer"})
	w.tend("q")
	if got := w.take("w1", 1, "q"); len(got) != 1 {
		t.Fatalf("it failed, and %d run", len(got))
	}
	w.now += 6
	if got := w.take("w1", 10, "q"); len(got) != 0 {
		t.Fatalf("it is to be asked again, and %d run", len(got))
	}
	w.now += DeciderMissed.Seconds()
	w.tend("q")
	if got := w.take("w1", 10, "q"); len(got) != 2 {
		t.Errorf("nobody has it any more, and %d run", len(got))
	}
}

// No place of another throttle is kept for a job while a command holds it; and leave to start does not get it past a full one.
func TestWhatACommandHoldsKeepsNoPlaces(t *testing.T) {
	w := newGateWorld(t)
	w.asks(asksClosed, map[string]string{"erp": `{"limit":1,"patience":60}`})
	w.put(Put{JID: "held", Queue: "q", Klass: "K", Data: []byte("{}")})
	w.take("w1", 1, "q")
	w.now += 300
	w.put(Put{JID: "other", Queue: "p", Klass: "K", Data: []byte("{}")})
	other := w.take("w1", 1, "p", "q")
	stop(t, len(other) != 1, "a job that a command holds keeps a place of erp")
	w.tend("q")
	w.decide(w.ask("web1").Number, Decision{Verdicts: []Verdict{verdict("held", VerdictStart, 10)}})
	if got := w.take("w1", 1, "q"); len(got) != 0 {
		t.Fatal("it started though erp is full")
	}
	if q := w.ask("web1"); len(q.Candidates) != 0 {
		t.Errorf("a command is asked about a job that could not start: %+v", q)
	}
	reply := w.exchange("w1", done(other...), Take{Queues: []string{"q"}, Count: 1})
	if len(reply.Jobs) != 1 || w.many("erp") != 1 || w.many("planner") != 1 {
		t.Errorf("%d run when erp is free; %d and %d places", len(reply.Jobs), w.many("erp"), w.many("planner"))
	}
}

// With rules nothing of a command is left, and the jobs go on.
func TestACommandIsTakenAway(t *testing.T) {
	w := newGateWorld(t)
	w.asks(asksClosed, nil)
	w.put(putsOf(150, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	w.take("w1", 200, "q")
	q := w.ask("web1")
	if len(q.Candidates) != 100 {
		t.Fatalf("%d candidates", len(q.Candidates))
	}
	var all []Verdict
	for _, c := range q.Candidates {
		all = append(all, verdict(c.JID, VerdictHold, 3600))
	}
	w.decide(q.Number, Decision{Verdicts: all})
	if q := w.ask("web1"); len(q.Candidates) != 50 {
		t.Errorf("%d candidates behind those that are held", len(q.Candidates))
	}
	w.rule(nil, nil)
	if got := w.take("w1", 200, "q"); len(got) != 150 {
		t.Errorf("%d run when there are no rules", len(got))
	}
	for _, key := range w.ownKeys() {
		never(t, strings.HasPrefix(key, "ask"), "%s is left", key)
	}
}
