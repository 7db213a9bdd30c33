package queue

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// listOf is a JSON list of n names.
func listOf(n int, name string) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint(name, i)
	}
	text, _ := json.Marshal(names)
	return string(text)
}

// oversized are the fields of jobs of other clients, or of before there were bounds, each with a name or a list that no door of ours takes.
func oversized(n int) map[string]map[string]any {
	long := strings.Repeat("Sync", n/4)
	return map[string]map[string]any{
		"tags":       {"tags": listOf(n, "t")},
		"a tag":      {"tags": `["` + long + `"]`},
		"klass":      {"klass": long},
		"throttles":  {"throttles": listOf(n, "th")},
		"a throttle": {"throttles": `["` + long + `"]`},
		"wants":      {"oarlock-wants": `{"windows":` + listOf(n, "w") + `}`},
		"key":        {"oarlock-lane": "+1:q:1 " + long},
		"failure":    {"failure": `{"group":"` + long + `","message":"` + long + `","when":1,"worker":"w"}`},
		"record":     {"oarlock-queue": "q", "oarlock-record": `{"stderr":"` + long + `"}`},
	}
}

// TestNoJobMakesACallLong: whatever a job that is there says, and however much of it, each call that takes, settles, cancels, tags or prunes it does
// so many commands more than for an ordinary job at most, and holds Redis for a minute at most (it does for much less; see the long run).
func TestNoJobMakesACallLong(t *testing.T) {
	const n = 100000
	for _, ruled := range []bool{false, true} {
		w := gateWorldOn(t, "redis") // its statistics are read
		if ruled {
			w.rule(map[string]string{"q": `{"shape":"a","throttles":["region"],"by":{"region":["klass"]},"globs":[{"glob":"*Sync*Order","klass":{"weight":2}},{"glob":"*a*b*c*d","klass":{"weight":3}}]}`},
				map[string]string{"region": `{"limit":100,"by":["klass"],"each":50}`})
		}
		calls := func(fields map[string]any) (commands map[string]int) {
			commands = map[string]int{}
			ctx := t.Context()
			w.redis.FlushDB(ctx)
			if ruled {
				w.rule(map[string]string{"q": `{"shape":"a","throttles":["region"],"by":{"region":["klass"]},"globs":[{"glob":"*Sync*Order","klass":{"weight":2}},{"glob":"*a*b*c*d","klass":{"weight":3}}]}`},
					map[string]string{"region": `{"limit":100,"by":["klass"],"each":50}`})
			}
			count := func(name string, call func()) {
				w.redis.ConfigResetStat(ctx)
				began := time.Now()
				call()
				if took := time.Since(began); took > time.Minute || !testing.Short() && took > 2*time.Second {
					t.Errorf("%s took %v", name, took)
				}
				commands[name] = commandsRun(t, w.lab)
			}
			for _, jid := range []string{"a", "b", "c"} {
				w.put(Put{Queue: "q", JID: jid, Klass: "K"})
				if len(fields) > 0 {
					w.redis.HSet(ctx, "ql:j:"+jid, fields)
				}
			}
			command := "exchange"
			if ruled {
				command = "ruled"
			}
			exchange := func(done []Settlement, count int) Reply {
				sent, puts, results := checkSettlements(done)
				take := Take{Queues: []string{"q"}, Count: count}
				reply, err := readExchange(w.call(command, exchangeArgs("w", sent, puts, take)...), w.now, results, take.Queues)
				ok(t, err)
				return reply
			}
			var jobs []Taken
			count("take", func() { jobs = exchange(nil, 3).Jobs })
			for i, action := range []Action{Complete, Fail, Release} {
				if i < len(jobs) {
					count(string(action), func() {
						exchange([]Settlement{{JID: jobs[i].JID, Queue: "q", Popped: jobs[i].Popped, Action: action, Group: "g", Message: "m"}}, 0)
					})
				}
			}
			for _, change := range []string{"tag", "retry", "cancel"} {
				f := w.redis.HMGet(ctx, "ql:j:b", "state", "time").Val()
				if f[0] == nil || f[0] == "running" || f[0] == "complete" {
					continue
				}
				options := []any{0}
				if change == "tag" {
					options = []any{1, "tags", `["new"]`}
				}
				count(change, func() { w.call("amend", append([]any{"b", f[0], f[1], change}, options...)...) })
			}
			w.redis.HSet(ctx, "ql:config", "jobs-history", 0, "jobs-history-count", 0)
			w.now += 10
			count("prune", func() { exchange(nil, 0); w.call("sweep", "10", "q") })
			return commands
		}
		ordinary := calls(nil)
		for name, fields := range oversized(n) {
			for call, commands := range calls(fields) {
				if most := ordinary[call] + 45000; commands > most {
					t.Errorf("ruled %v, %s of a job with oversized %s: %d commands, of an ordinary one %d", ruled, call, name, commands, ordinary[call])
				}
			}
		}
	}
}

// TestManyThatComeFirstMakeNoCallLong: however many have waited for longer than a throttle's patience and may not come first, a call looks at some of them
// only. Behind them, who may come first is found in the end.
func TestManyThatComeFirstMakeNoCallLong(t *testing.T) {
	w := gateWorldOn(t, "redis") // its statistics are read
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["t"],"klass":{"Heavy":{"weight":2}}}`},
		map[string]string{"t": `{"limit":2,"patience":5}`, "lent": `{"limit":2,"patience":5,"by":["path","r"],"each":1,"borrow":true}`})
	ctx := t.Context()
	pipe := w.redis.Pipeline()
	for i := range 1000 { // each in a queue of its own, which somebody works; and each waits for what would be lent to it
		queue := fmt.Sprint("tenant", i)
		pipe.HSet(ctx, "ql:oarlock:seen", queue, w.now+1000)
		pipe.HSet(ctx, "ql:oarlock:waitlists:"+queue, "line", fmt.Sprintf("%.0f 1 4:lentparty", w.now-100))
		pipe.ZAdd(ctx, "ql:oarlock:eldest:t", redis.Z{Score: w.now - 100, Member: fmt.Sprintf("1:%d:%sline", len(queue), queue)})
	}
	pipe.ZAdd(ctx, "ql:oarlock:over:lent", redis.Z{Score: 1, Member: "party"})
	must(pipe.Exec(ctx))(t)
	put := func(jid, class string) { w.put(Put{Queue: "q", JID: jid, Klass: class}) }
	put("light 0", "K")
	put("light 1", "K")
	running := w.take("w", 9, "q")
	put("heavy", "Heavy")
	for i := range 1000 {
		w.now += 0.1
		put(fmt.Sprint("light ", 2+i), "K")
		var ended []Settlement
		if len(running) > 0 {
			ended, running = done(running[0]), running[1:]
		}
		w.redis.ConfigResetStat(ctx)
		began := w.exchange("w", ended, Take{Queues: []string{"q"}, Count: 9}).Jobs
		if n := commandsRun(t, w.lab); n > 500 {
			t.Fatalf("a call runs %d commands", n)
		}
		if slices.Contains(jidsOf(began), "heavy") {
			return
		}
		running = append(running, began...)
	}
	t.Error("the heavy one waits")
}

// TestGlobsOfLongNames: a class, or the name of a queue, on which a pattern of Lua works for minutes is looked at once.
func TestGlobsOfLongNames(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["t"],"globs":[{"glob":"*Sync*Sync*Order","klass":{"weight":2}},{"glob":"?b*","klass":{"weight":3}},{"glob":"*y?z*","klass":{"weight":4}}]}`},
		map[string]string{"t": `{"limit":100}`})
	for klass, want := range map[string]int{
		strings.Repeat("Sync", 50000): 1, strings.Repeat("Sync", 256): 1, strings.Repeat("Sync", 254) + "Order": 2, "SyncSyncOrder": 2, "SyncOrder": 1, "abc": 3, "b": 1, "xyyz": 4, "xyz": 1, "yyz": 4,
	} {
		before := w.many("t")
		w.put(Put{Queue: "q", JID: "j" + fmt.Sprint(w.now), Klass: "K"})
		jid := w.redis.ZRange(t.Context(), "ql:q:q-work", 0, 0).Val()[0]
		w.redis.HSet(t.Context(), "ql:j:"+jid, "klass", klass)
		if jobs := w.take("w", 1, "q"); len(jobs) != 1 {
			t.Fatalf("%.20q is not taken", klass)
		}
		if got := w.many("t") - before; got != want {
			t.Errorf("%.20q takes %d places, want %d", klass, got, want)
		}
	}
	long := strings.Repeat("ab", 500)
	if err := w.client.SetHooks(t.Context(), "fleet", &Hooks{Queue: "dead", Queues: []string{strings.Repeat("*ab", 40) + "c", "*z"}}); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{long, "xyz"} {
		w.put(Put{Queue: name, JID: fmt.Sprint("f", i), Klass: "K"})
		reply := w.exchangePlain("w", nil, Take{Queues: []string{name}, Count: 1})
		w.exchangePlain("w", []Settlement{{JID: reply.Jobs[0].JID, Queue: name, Popped: reply.Jobs[0].Popped, Action: Fail, Group: "g"}}, Take{})
		if got := w.redis.ZCard(t.Context(), "ql:q:dead-work").Val(); got != int64(i) {
			t.Errorf("of %.10q %d were told", name, got)
		}
	}
}

// exchangePlain is exchange of a queue without rules.
func (w *gateWorld) exchangePlain(worker string, done []Settlement, take Take) Reply {
	w.t.Helper()
	sent, puts, results := checkSettlements(done)
	reply, err := readExchange(w.call("ruled", exchangeArgs(worker, sent, puts, take)...), w.now, results, take.Queues)
	ok(w.t, err)
	return reply
}

// TestBoundsAtEntry: each list and each name that a job has is refused above its bound, and taken at it, by whichever door it comes.
func TestBoundsAtEntry(t *testing.T) {
	t.Parallel()
	names := func(n, bytes int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("%0*d", bytes, i)
		}
		return list
	}
	over := func(p Put, more int) map[string]Put {
		name := func(n int) string { return strings.Repeat("x", n+more) }
		set := func(change func(p *Put)) Put { q := p; change(&q); return q }
		return map[string]Put{
			"queue": set(func(p *Put) { p.Queue = name(MaxName) }), "klass": set(func(p *Put) { p.Klass = name(MaxName) }), "jid": set(func(p *Put) { p.JID = name(MaxJID) }),
			"tag": set(func(p *Put) { p.Tags = []string{name(MaxName)} }), "tags": set(func(p *Put) { p.Tags = names(MaxTags+more, 4) }),
			"throttle": set(func(p *Put) { p.Throttles = []string{name(MaxName)} }), "throttles": set(func(p *Put) { p.Throttles = names(MaxThrottles+more, 4) }),
			"dependency": set(func(p *Put) { p.Depends = []string{name(MaxJID)} }), "dependencies": set(func(p *Put) { p.Depends = names(MaxDepends+more, 8) }),
			"key": set(func(p *Put) { p.Key = name(maxKey) }), "windows": set(func(p *Put) { p.Wants.Windows = names(MaxThrottles+more, 4) }),
		}
	}
	for name, p := range over(Put{Queue: "q", Klass: "K"}, 0) {
		if err := p.check(); err != nil {
			t.Errorf("%s at its bound: %v", name, err)
		}
	}
	for name, p := range over(Put{Queue: "q", Klass: "K"}, 1) {
		if err := p.check(); err == nil || len(err.Error()) > 120 {
			t.Errorf("%s above its bound: %v", name, err)
		}
	}
	cron := Cron{Name: "n", CronWork: CronWork{Queue: "q", Klass: "K", Tags: names(MaxTags+1, 4)}, Schedule: "@daily"}
	if cron.Check() == nil {
		t.Error("a recurring job with too many tags is taken")
	}
}
