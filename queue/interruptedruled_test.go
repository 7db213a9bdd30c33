package queue

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/wire"
)

// ruledScene is a key space in which worker w is about to settle four jobs in as many ways, and to give places back for which others wait; one is to be
// taken from a worker that is gone, one has its answer, one is shut out by its window, some come in, and a queue without rules shares a throttle.
func ruledScene(t *testing.T) (w *gateWorld, sent []Settlement) {
	w = newGateWorld(t)
	w.rule(map[string]string{
		"q":  `{"shape":"a","limited":true,"limit_of_queue":6,"throttles":["erp","region"],"by":{"region":["path","r"]},"klass":{"Heavy":{"weight":2},"Free":{"weight":1,"bypass":true}}}`,
		"q2": `{"shape":"b","throttles":["db"]}`,
		"n":  `{"shape":"c","windows":[{"name":"night","spec":"UTC|22:00-23:00"}]}`,
	}, map[string]string{
		"erp": `{"limit":5,"patience":60,"free":true}`, "db": `{"limit":2,"patience":60}`,
		"region": `{"limit":6,"patience":60,"by":["path","r"],"shares":{"east":0.5,"west":0.5},"borrow":true}`,
	})
	w.call("learn", openings([]any{"UTC|22:00-23:00"}, w.now)...)
	job := func(queue, jid, klass string) {
		w.put(Put{Queue: queue, JID: jid, Klass: klass, Data: []byte(`{"r":"east"}`)})
	}
	for _, jid := range []string{"completes", "retries", "cancels"} {
		job("q", jid, "K")
	}
	job("q2", "parks", "K")
	job("q2", "lost", "K")
	job("q", "answered", "K")
	mine := append(w.take("w", 3, "q"), w.take("w", 1, "q2")...)
	w.take("gone", 1, "q2")
	park := done(w.take("w", 1, "q")...)
	park[0].Action, park[0].Correlation, park[0].Delay = Park, "c", time.Hour
	w.exchange("w", park, Take{})
	w.call("respond", (&Response{Klass: "K", Correlation: "c", Data: []byte("1")}).words()...)
	job("q", "heavy", "Heavy")
	for i := range 3 {
		job("q", fmt.Sprint("filed", i), "K")
		job("q2", fmt.Sprint("waits", i), "K")
	}
	w.take("w", 1, "q2") // none has room: they are filed
	w.redis.ZRem(t.Context(), "ql:q:q-work", "answered")
	w.take("w", 0, "q")
	w.redis.ZAdd(t.Context(), "ql:q:q-work", redis.Z{Score: math.Inf(1), Member: "answered"})
	job("q", "comes", "K")
	job("q", "free", "Free")
	job("n", "nightly", "K")
	w.put(Put{Queue: "plain", JID: "plain", Klass: "K", Throttles: []string{"db"}})
	w.lose("q2", "lost")
	w.redis.ZAdd(t.Context(), "ql:q:q2-locks", redis.Z{Score: w.now + 60, Member: "parks"})
	for i, s := range done(mine...) {
		s.Action = []Action{Complete, Retry, Cancel, Park}[i]
		if s.Action == Park {
			s.Correlation, s.Delay = "d", time.Minute
		}
		sent = append(sent, s)
	}
	return w, sent
}

// TestRuledCallBreaksAtAnyCommand breaks a call that settles and takes in ruled queues at each of its commands. Where the call is an error, nothing has changed. Else what
// it says is so: who is refused runs, with all its places, and who is settled does not; no limit is passed. And with the calls that come then every
// job comes to its end, and of the gate nothing is left. A call whose reply was lost settles nothing twice, and what it has handed out is told again.
func TestRuledCallBreaksAtAnyCommand(t *testing.T) {
	w, settlements := ruledScene(t)
	ctx := t.Context()
	in := &interrupted{t: t, ctx: ctx, c: w.client, now: w.now, shas: map[string]string{}}
	in.saved = in.c.redis.Eval(ctx, saveScript, nil).Val().([]any)
	queues := []string{"q", "q2", "n", "plain"}
	sent, puts, results := checkSettlements(settlements)
	args := exchangeArgs("w", sent, puts, Take{Queues: queues, Count: 20, Order: RoundRobin})
	read := func(raw any) Reply {
		reply, err := readExchange(raw, w.now, slices.Clone(results), queues)
		must0(t, err)
		return reply
	}
	began := w.now
	in.scene()
	untouched := dump(ctx, in.c.redis)
	whole := read(in.do(Batch, "ruled", args...))
	if names := jidsOf(whole.Jobs); len(names) < 5 || len(whole.Broken) > 0 {
		t.Fatalf("without a fault %q begin, broken is %v", names, whole.Broken)
	}
	w.replayed(whole, args, read)
	w.finish(queues, "without a fault")
	for nth := 1; ; nth = afterFault(nth) {
		w.now = began
		in.scene()
		raw, hit, err := in.cut(nth, "ruled", args)
		if hit == "" {
			t.Logf("%d commands", nth-1)
			return
		}
		hit = fmt.Sprintf("%d, fault at %s", nth, hit)
		if err != nil {
			if now := dump(ctx, in.c.redis); !maps.Equal(untouched, now) {
				t.Errorf("%s: the call is an error, and has changed something: %v", hit, err)
			}
		} else {
			w.truthful(hit, read(raw), settlements)
		}
		w.finish(queues, hit)
	}
}

// truthful compares what a reply says with what Redis has.
func (w *gateWorld) truthful(hit string, reply Reply, settlements []Settlement) {
	w.t.Helper()
	ctx := w.t.Context()
	told := jidsOf(reply.Jobs)
	for i, s := range settlements {
		runs := w.redis.HGet(ctx, "ql:j:"+s.JID, "state").Val() == "running" && !slices.Contains(told, s.JID)
		if refused := reply.Results[i].Err != nil; refused != runs {
			w.t.Errorf("%s: %s was refused: %v, and runs: %v", hit, s.JID, reply.Results[i].Err, runs)
		} else if refused {
			told = append(told, s.JID)
		}
	}
	for _, key := range w.jobKeys() {
		f := w.redis.HMGet(ctx, key, "state", "worker", "throttles", "queue", "oarlock-gate").Val()
		jid := strings.TrimPrefix(key, "ql:j:")
		if f[0] != "running" || f[1] != "w" {
			continue
		}
		if !slices.Contains(told, jid) {
			w.t.Errorf("%s: %s runs, and nobody was told", hit, jid)
		}
		for _, tid := range throttlesOf(f[2]) {
			if w.redis.ZScore(ctx, "ql:th:"+tid+"-locks", jid).Err() != nil {
				w.t.Errorf("%s: %s runs without %s", hit, jid, tid)
			}
		}
	}
	for tid, limit := range map[string]int{"erp": 5, "db": 2, "region": 6, "ql:q:q": 6} {
		if n := w.many(tid); n > limit {
			w.t.Errorf("%s: %d places of %s are taken, of %d", hit, n, tid, limit)
		}
	}
}

// jobKeys are those of all jobs.
func (w *gateWorld) jobKeys() []string {
	return slices.DeleteFunc(w.redis.Keys(w.t.Context(), "ql:j:*").Val(), func(key string) bool { return strings.HasSuffix(key, "-history") })
}

// throttlesOf are those that a field names.
func throttlesOf(field any) (tids []string) {
	text, _ := field.(string)
	json.Unmarshal([]byte(text), &tids) // of one that is damaged none is asked for
	return tids
}

func jidsOf(jobs []Taken) (jids []string) {
	for _, job := range jobs {
		jids = append(jids, job.JID)
	}
	return jids
}

// replayed sends a call again whose reply was lost, and asks what is held: nothing is settled twice, and what was handed out is told again.
func (w *gateWorld) replayed(whole Reply, args []any, read func(any) Reply) {
	w.t.Helper()
	for i, r := range read(w.call("ruled", args...)).Results {
		if r.Err == nil {
			w.t.Errorf("the settlement %d counts twice: %+v", i, r)
		}
	}
	raw, _ := w.call("held", "w", 0, "q", "q2", "n", "plain").([]any)
	held, err := readAllTaken(raw[0].([]any))
	must0(w.t, err)
	for _, job := range whole.Jobs {
		i := slices.IndexFunc(held, func(other Taken) bool { return other.JID == job.JID })
		if i < 0 || held[i].Places != job.Places || string(held[i].Data) != string(job.Data) || held[i].Queue != job.Queue {
			w.t.Errorf("%+v was handed out, and is not told again: %+v", job, held)
		}
	}
}

// finish lets all jobs end with whole calls, whoever had them, and looks at what is left.
func (w *gateWorld) finish(queues []string, hit string) {
	w.t.Helper()
	ctx := w.t.Context()
	open := func() (jids []string) {
		for _, key := range w.jobKeys() {
			if state, err := w.redis.HGet(ctx, key, "state").Result(); err == nil && state != "complete" {
				jids = append(jids, strings.TrimPrefix(key, "ql:j:")+" "+state)
			}
		}
		return jids
	}
	for round := 0; round < 30 && len(open()) > 0; round++ {
		w.now += 100
		if round == 6 {
			w.now += 86400 - math.Mod(w.now+2*3600, 86400) // 22:00, of nightly; and who waits for an answer has waited in vain
		}
		w.call("learn", openings([]any{"UTC|22:00-23:00"}, w.now)...)
		w.call("sweep", append([]any{50}, wire.Args(queues)...)...)
		w.tend(queues...)
		for range 3 {
			reply, err := readExchange(w.call("ruled", exchangeArgs("w", nil, nil, Take{Queues: queues, Count: 20})...), w.now, nil, queues)
			must0(w.t, err)
			w.exchange("w", done(reply.Jobs...), Take{})
		}
	}
	for range 3 {
		w.now += 6
		w.tend(queues...)
	}
	if jids := open(); len(jids) > 0 {
		w.t.Errorf("%s: %q never end", hit, jids)
	}
	for _, tid := range []string{"erp", "db", "region", "region=east", "ql:q:q"} {
		if n := w.many(tid); n > 0 {
			w.t.Errorf("%s: %d places of %s are left", hit, n, tid)
		}
	}
	keys := slices.DeleteFunc(w.ownKeys(), func(key string) bool { return mayStay("ql:oarlock:" + key) })
	if len(keys) > 0 {
		w.t.Errorf("%s: keys are left: %q", hit, keys)
	}
}
