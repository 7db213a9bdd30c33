package queue

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/script"
	"oarlock/queue/internal/wire"
)

// plainWorld is a queue q, of which w holds some jobs; and what somebody did to it that nobody should, or that makes something of it special.
type plainWorld struct {
	t       *testing.T
	l       *lab
	c       *Client
	random  *rand.Rand
	now     float64
	running []Taken  // by w
	waiting []string // jids
	edition []any    // which rules there are that say nothing of the queues
	spoiled []string // what was done
}

// newPlainWorld makes the world of a seed in an empty database.
func newPlainWorld(t *testing.T, l *lab, c *Client, seed uint64) *plainWorld {
	t.Helper()
	w := &plainWorld{t: t, l: l, c: c, random: rand.New(rand.NewPCG(seed, 7)), now: 1763700000.25 + float64(seed)}
	ok(t, l.redis.FlushDB(t.Context()).Err())
	number := 0
	put := func() {
		w.now += w.some(0.001, 0.3, 0.9)
		if w.random.IntN(20) == 0 {
			w.now += w.some(61, 4000, 90000)
		}
		var puts []Put
		for range 1 + w.random.IntN(5) {
			priority := float64(w.random.IntN(3))
			p := Put{Queue: "q", JID: fmt.Sprintf("%c%d", 'a'+rune(w.random.IntN(20)), number), Klass: "K", Data: []byte(w.pick("{}", `{"a":1}`, `"é"`)), Priority: &priority}
			if w.random.IntN(5) == 0 {
				p.Tags = []string{"t"}
			}
			puts, number = append(puts, p), number+1
		}
		w.do(Batch, "put", appendPuts([]any{"w"}, puts)...)
	}
	put()
	for range 1 + w.random.IntN(2) {
		put()
		w.now += w.some(0.001, 0.3)
		take := Take{Queues: []string{"q"}, Count: 1 + w.random.IntN(3)}
		reply := must(w.exchange(nil, take))(t)
		w.running = append(w.running, reply.Jobs...)
	}
	for range 1 + w.random.IntN(4) {
		put()
	}
	w.now += w.some(0.001, 0.5, 1.2, 3)
	if w.random.IntN(20) == 0 {
		w.now += w.some(58, 70, 4000, 90000)
	}
	w.waiting = l.redis.ZRangeArgs(t.Context(), redis.ZRangeArgs{Key: "ql:q:q-work", Start: 0, Stop: -1, Rev: true}).Val()
	for range []int{0, 1, 1, 1, 2}[w.random.IntN(5)] {
		w.spoil()
	}
	return w
}

func (w *plainWorld) do(d script.Dialect, command string, args ...any) any {
	w.t.Helper()
	raw := must(w.c.run(w.t.Context(), w.c.redis, script.Name{Dialect: d, Command: command}, w.now, args...))(w.t)
	return raw
}

// exchange is a call of w.
func (w *plainWorld) exchange(settlements []Settlement, take Take) (Reply, error) {
	sent, puts, results := checkSettlements(settlements)
	raw, err := w.c.run(w.t.Context(), w.c.redis, script.Name{Dialect: Batch, Command: "exchange"}, w.now, append(exchangeArgs("w", sent, puts, take), w.edition...)...)
	if err != nil {
		return Reply{}, err
	}
	if raw == "ruled" {
		return Reply{Results: []SettleResult{{State: "ruled"}}}, nil
	}
	return readExchange(raw, w.now, results, take.Queues)
}

func (w *plainWorld) some(of ...float64) float64 {
	return of[w.random.IntN(len(of))] * (0.5 + w.random.Float64())
}

func (w *plainWorld) pick(of ...string) string { return of[w.random.IntN(len(of))] }

// job is one of those that run, or that come next.
func (w *plainWorld) job() string {
	var near []string
	for _, job := range w.running {
		near = append(near, job.JID)
	}
	return w.pick(append(near, w.waiting[:min(2, len(w.waiting))]...)...)
}

// odd is text that somebody may have written.
func (w *plainWorld) odd() string {
	return w.pick("", "0", "1", "-1", "3", "0.5", "x", "nan", "inf", "-inf", "1e3", "0x10", " 5 ", "1e300", "[]", "{}", `["t"]`, "q", "w", "other", "q:q", "complete", "running",
		"waiting", "+1:q:1763700000 key", "=1:q:1763700000 key", "1763700000", "2.5", "100", "5", "1e9", "2592001")
}

var fieldsOfJobs = strings.Fields("jid klass state queue worker priority expires retries remaining data tags failure time history throttles oarlock-lane oarlock-queue " +
	"oarlock-crashes oarlock-gate oarlock-timeout")

// spoil does something to the world that most never see.
func (w *plainWorld) spoil() {
	ctx, r, key := w.t.Context(), w.l.redis, "ql:j:"+w.job()
	day := fmt.Sprintf("%.0f", w.now-float64(int64(w.now)%86400))
	sets := []string{"ql:completed", "ql:q:q-work", "ql:q:q-locks", "ql:w:w:jobs", key + "-history", key, "ql:config", "ql:workers", "ql:s:run:" + day + ":q",
		"ql:s:wait:" + day + ":q", key + "-dependents", "ql:tracked"}
	for field, value := range map[string]string{"total": "5", "mean": "1.25", "vk": "2"} { // for what is to be damaged in them
		r.HSetNX(ctx, "ql:s:run:"+day+":q", field, value)
	}
	words := []any{}
	switch w.random.IntN(27) {
	case 0, 1, 2, 3:
		words = []any{"hset", key, w.pick(fieldsOfJobs...), w.odd()}
	case 4:
		words = []any{"hdel", key, w.pick(fieldsOfJobs...)}
	case 5:
		words = []any{"del", w.pick(sets...)}
	case 6, 7:
		words = []any{"set", w.pick(sets...), "no such thing"}
	case 8:
		words = []any{"hset", "ql:config", w.pick("heartbeat", "q-heartbeat", "q-max-concurrency", "max-job-history", "max-job-history", "jobs-history", "grace-period"), w.odd()}
	case 9, 23, 24:
		entries := []any{"rpush", key + "-history"}
		for range w.random.IntN(8) + 1 {
			entries = append(entries, `[1,"put"]`)
		}
		r.HSet(ctx, "ql:config", "max-job-history", w.pick("0", "1", "2", "3", "3", "3.5", "4", "4", "5", "6", "7"))
		words = entries
	case 10:
		words = []any{"zadd", w.pick("ql:tracked", "ql:oarlock:unblock", "ql:q:q-work", "ql:q:q-locks"), w.pick("1", "inf", "1763700001"), w.job()}
	case 11:
		words = []any{"zrem", w.pick("ql:q:q-locks", "ql:w:w:jobs", "ql:q:q-work"), w.job()}
	case 12:
		words = []any{"hset", "ql:oarlock:rules", w.pick("version", "o:q", "q:q", "low"), w.pick("1", `["q"]`, "order=key", `{"shape":"a"}`)}
		if w.random.IntN(3) == 0 {
			words = []any{"hset", "ql:oarlock:hooks", "f", `{"queue":"hooked","any":[""]}`}
		}
	case 13, 25, 26:
		words = []any{"sadd", w.pick("ql:paused_queues", "ql:oarlock:needs"), w.pick("q", "other")}
	case 14:
		words = []any{"hset", w.pick("ql:s:run:", "ql:s:wait:") + day + ":q", w.pick("total", "mean", "vk", "s0", "s1", "s3"), w.odd()}
	case 15:
		w.do(Qless, "put", "w", "other", "depends", "K", "{}", 0, "depends", fmt.Sprintf("[%q]", w.running[0].JID))
		words = []any{"ping"}
	case 16:
		words = []any{"hset", key, "data", `"` + strings.Repeat("x", []int{200, call4MiB / 2, call4MiB}[w.random.IntN(3)]) + `"`}
	case 17:
		words = []any{"hset", "ql:j:" + w.waiting[0], "time", r.HGet(ctx, "ql:j:"+w.running[0].JID, "time").Val()}
	case 18: // it runs, and stands in line
		words = []any{"zadd", "ql:q:q-work", "9", w.running[w.random.IntN(len(w.running))].JID}
	case 19, 20, 21:
		r.ZAdd(ctx, "ql:th:t-locks", redis.Z{Score: 1, Member: strings.TrimPrefix(key, "ql:j:")})
		words = append([]any{"hset", key}, [][]any{{"throttles", `["t"]`}, {"oarlock-queue", "q", "oarlock-crashes", "1", "oarlock-checkpoint", "1"}, {"oarlock-queue", "q"},
			{"oarlock-lane", "+1:q:1763700000 key"}, {"history", `[{"put":1,"q":"q"}]`}, {"oarlock-timeout", "5", "oarlock-queue", "other"}}[w.random.IntN(6)]...)
	case 22:
		words = []any{"hset", "ql:j:" + w.waiting[0], "time", w.pick("-1", "-1e15", "1e15", "1e300", "0", "nan", "inf", "", "x", "1763700000.5")}
	}
	err := r.Do(ctx, words...).Err() // may be refused: something was spoiled before
	w.spoiled = append(w.spoiled, fmt.Sprintf("%.80v %v", words, err))
}

// call draws what is settled and taken.
func (w *plainWorld) call() ([]Settlement, Take) {
	settlements := done(w.running...)
	if w.random.IntN(4) == 0 {
		settlements = settlements[:1]
	}
	take := Take{Queues: []string{"q"}, Count: 1 + w.random.IntN(4), hurries: true}
	if w.random.IntN(3) == 0 {
		take.Queues = append(take.Queues, "other")
	}
	one := &settlements[w.random.IntN(len(settlements))]
	if w.random.IntN(3) > 0 {
		return settlements, take
	}
	switch w.random.IntN(11) {
	case 0:
		one.Popped++
	case 1:
		one.Popped = 0
	case 2:
		settlements = append(settlements, *one)
	case 3:
		one.Queue = "other"
	case 4:
		one.Action, one.Group, one.Message = Fail, "g", "m"
	case 5:
		one.Data = []byte(`{"new":1}`)
	case 6:
		take.MaxJob = []int64{1, 5, 1000}[w.random.IntN(3)]
	case 7:
		take.Queues = []string{"other", "q"}
	case 8:
		take.Count = []int{0, 30, 200}[w.random.IntN(3)]
	case 9:
		one.Action, one.Puts = Complete, []Put{{Queue: "q", JID: "new", Klass: "K"}}
	case 10:
		one.Action = Release
	}
	return settlements, take
}

// seen is all that a call did: its reply, the keys that it left, and what it sent.
type seen struct {
	Reply Reply
	Err   string
	Keys  map[string]storedKey
	Sent  [][2]string
}

// see makes a call.
func (w *plainWorld) see(settlements []Settlement, take Take) (s seen, plain bool) {
	w.t.Helper()
	w.l.heard(w.t)
	reply, err := w.exchange(settlements, take)
	if err != nil {
		s.Err = err.Error()
	}
	plain, reply.plain = reply.plain, false
	s.Reply, s.Keys, s.Sent = reply, w.l.dump(w.t), w.l.heard(w.t)
	return s, plain
}

// TestPlainCallsDoWhatOthersDo makes the same call twice from the same state, once asking whether it is plain: nobody can tell from what it does, says and leaves.
func TestPlainCallsDoWhatOthersDo(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	c := labClient(t, l)
	plain, special := 0, 0
	for seed := range Seeds(t, 1000) {
		w := newPlainWorld(t, l, c, seed)
		settlements, take := w.call()
		if w.random.IntN(3) == 0 { // with rules that say nothing of it
			w.edition = []any{"ql:oarlock:edition:1@1"}
			ok(t, l.redis.HSet(t.Context(), "ql:oarlock:rules", "edition", "1@1").Err())
			if w.random.IntN(4) > 0 {
				ok(t, l.redis.HSet(t.Context(), "ql:oarlock:edition:1@1", "at", "1").Err())
			}
		}
		state := l.redis.Eval(t.Context(), saveScript, nil).Val().([]any)
		want, _ := w.see(settlements, take)
		ok(t, l.redis.Eval(t.Context(), loadScript, nil, state...).Err())
		take.plain = wire.Mark(w.now)
		got, was := w.see(settlements, take)
		if was {
			plain++
		} else {
			special++
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: after %q %+v of %+v does %s", seed, w.spoiled, take, settlements, otherwise(got, want))
		}
	}
	t.Logf("%d were plain, %d were not", plain, special)
	if least := Tenth(1000) / 4; plain < least || special < least {
		t.Errorf("%d were plain, %d were not", plain, special)
	}
}

// otherwise says in what two calls differ.
func otherwise(got, want seen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s %s\nnot\n%s %s\n", shortly(got.Reply), got.Err, shortly(want.Reply), want.Err)
	for key := range maps.Keys(want.Keys) {
		if !reflect.DeepEqual(got.Keys[key], want.Keys[key]) {
			fmt.Fprintf(&b, "%s is %.500v\nnot %.500v\n", key, got.Keys[key], want.Keys[key])
		}
	}
	for key := range maps.Keys(got.Keys) {
		if _, there := want.Keys[key]; !there {
			fmt.Fprintf(&b, "%s is %.500v\n", key, got.Keys[key])
		}
	}
	if !slices.Equal(got.Sent, want.Sent) {
		fmt.Fprintf(&b, "sent %q\nnot %q", got.Sent, want.Sent)
	}
	return b.String()
}

// TestPlainCallsBreakAtAnyCommand: a call goes on behind a command that fails, and each job is where its hash and the reply say that it is.
func TestPlainCallsBreakAtAnyCommand(t *testing.T) {
	in := newInterrupted(t)
	for nth := 1; ; nth++ {
		ok(t, in.c.redis.FlushDB(in.ctx).Err())
		in.shas, in.seen = map[string]string{}, nil
		for _, jid := range strings.Fields("a b c d e f") {
			in.put("q", jid)
		}
		in.now++
		in.take("w", "q")
		in.take("w", "q")
		var settlements []Settlement
		for _, jid := range in.c.redis.ZRange(in.ctx, "ql:w:w:jobs", 0, -1).Val() {
			settlements = append(settlements, Settlement{JID: jid, Queue: "q", Popped: in.popped(jid), Action: Complete})
		}
		in.now += 3
		in.do(Qless, "config.set", "max-job-history", "3")
		for _, jid := range []string{settlements[0].JID, in.c.redis.ZRevRange(in.ctx, "ql:q:q-work", 0, 0).Val()[0]} {
			in.c.redis.RPush(in.ctx, "ql:j:"+jid+"-history", "more", "and more")
		}
		untouched := dump(in.ctx, in.c.redis)
		sent, puts, results := checkSettlements(settlements)
		take := Take{Queues: []string{"q"}, Count: 2, hurries: true, plain: wire.Mark(in.now)}
		raw, hit, err := in.cut(nth, "exchange", exchangeArgs("w", sent, puts, take))
		if err != nil {
			if now := dump(in.ctx, in.c.redis); !maps.Equal(untouched, now) {
				t.Errorf("%d, fault at %s: the call is an error, and has changed something: %v", nth, hit, err)
			}
			continue
		}
		reply := must(readExchange(raw, in.now, results, take.Queues))(t)
		if hit == "" {
			if !reply.plain || nth < 25 {
				t.Errorf("plain: %v, with %d commands", reply.plain, nth-1)
			}
			break
		}
		if wrong := in.contradictions(hit); len(wrong) > 0 {
			t.Errorf("%d, fault at %s: %q", nth, hit, wrong)
		}
		_, jobs := in.seats()
		told := map[string]bool{}
		for i, result := range reply.Results {
			state := jobs[settlements[i].JID]["state"]
			if done := result.Err == nil; done != (state == "complete") || !done && state != "running" {
				t.Errorf("%d, fault at %s: %s is %s, and %v was said", nth, hit, settlements[i].JID, state, result.Err)
			}
			told[settlements[i].JID] = true
		}
		for _, job := range reply.Jobs {
			told[job.JID] = true
		}
		for jid, job := range jobs {
			if (job["state"] == "running") != (told[jid] && job["state"] != "complete") {
				t.Errorf("%d, fault at %s: %s is %s, and told of: %v", nth, hit, jid, job["state"], told[jid])
			}
			entries := in.c.redis.LRange(in.ctx, "ql:j:"+jid+"-history", 0, -1).Val()
			if slices.Sort(entries); len(slices.Compact(slices.Clone(entries))) != len(entries) {
				t.Errorf("%d, fault at %s: the history of %s is %q", nth, hit, jid, entries)
			}
		}
	}
}

// TestASessionAsksWhetherItsCallsArePlain: moments after another call, and after one that was not not until there was a look.
func TestASessionAsksWhetherItsCallsArePlain(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	c := labClient(t, l)
	must(c.PutAll(t.Context(), putsOf(300, func(int) Put { return Put{Queue: "q", Klass: "K"} })))(t)
	s := c.Session("w")
	defer s.Close()
	var settlements []Settlement
	plain := false
	for range 250 { // each time but where this machine stood still
		reply := must(s.Exchange(t.Context(), settlements, Take{Queues: []string{"q"}, Count: 1}))(t)
		for _, result := range reply.Results {
			stop(t, result.Err != nil || result.State != "complete", "%+v", result)
		}
		stop(t, len(reply.Jobs) != 1 || reply.Jobs[0].Popped != reply.Now || reply.Jobs[0].Queue != "q" || reply.Jobs[0].Expires <= reply.Now, "%+v", reply)
		settlements = done(reply.Jobs...)
		if plain = reply.plain; plain {
			break
		}
	}
	never(t, !plain, "no call was plain")

	const now = 1_763_700_000.5
	take := Take{Queues: []string{"q"}, Count: 1}
	asks := take
	asks.hurries, asks.plain = true, wire.Mark(now)
	s = new(Session)
	s.looked(take, now, &Reply{})
	if s.looked(asks, now, &Reply{plain: true}); !s.mayBePlain() {
		t.Error("after a plain call the next does not ask")
	}
	if s.looked(asks, now, &Reply{}); s.mayBePlain() || !s.mayHurry(take, now) {
		t.Error("after a call that was not plain the next asks")
	}
	if s.looked(take, now, &Reply{}); !s.mayBePlain() {
		t.Error("after a look the next call does not ask")
	}
}
