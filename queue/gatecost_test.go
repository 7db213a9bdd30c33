package queue

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"oarlock/queue/internal/script"
	"oarlock/queue/internal/wire"
)

// gateRules are the rules of what the gate costs: of queue q there are none in the namespace without rules, and none in the others
// but where that is said.
var gateRules = map[string]string{
	"plain":  `{"shape":"a","klass":{"Other":{"weight":2,"throttles":["erp"]}}}`,
	"limit":  `{"shape":"a","limited":true,"limit_of_queue":1000000}`,
	"path":   `{"shape":"a","limited":true,"limit_of_queue":1000000,"throttles":["region"],"by":{"region":["path","region"]}}`,
	"full":   `{"shape":"a","throttles":["erp"]}`,
	"parted": `{"shape":"a","throttles":["erp","region"],"by":{"region":["path","region"]}}`,
	"some":   `{"shape":"a","throttles":["fifty"]}`,
}

const gateThrottles = `{"limit":1000000,"patience":60,"by":["path","region"],"shares":{"east":0.5,"west":0.5}}`

// gateData is data of 205 bytes, with a region.
func gateData(i int) []byte {
	text := fmt.Sprintf(`{"region":"%s","n":%d,"text":"`, []string{"east", "west"}[i%2], i)
	return []byte(text + strings.Repeat("x", 203-len(text)) + `"}`)
}

// gateCost is what the server does for the calls of a case: in instructions, or in commands.
type gateCost struct {
	*gateWorld
	meter func(do func()) float64
	n     int
	// The edition of the rules that says nothing of what is done here, as a put and an exchange were told.
	puts, takes string
}

// newGateCost makes a world, with rules or without.
func newGateCost(t testing.TB, ruled bool, meter func(w *gateWorld, do func()) float64) *gateCost {
	w := gateWorldOn(t, "redis")
	c := &gateCost{gateWorld: w, meter: func(do func()) float64 { return meter(w, do) }}
	if ruled {
		w.rule(gateRules, map[string]string{"erp": `{"limit":1,"patience":60}`, "region": gateThrottles, "fifty": `{"limit":50,"patience":60}`})
	}
	// Lua begins anew: its garbage collection costs by what it keeps, which is more where a script has installed rules.
	ok(t, w.redis.ScriptFlush(t.Context()).Err())
	return c
}

// fill puts jobs into a queue, of the same moment.
func (c *gateCost) fill(queue string, many int) {
	c.t.Helper()
	for left := many; left > 0; left -= 500 {
		c.now += 0.01
		args := appendPuts([]any{"w"}, putsOf(min(left, 500), func(int) Put {
			c.n++
			return Put{Queue: queue, Klass: "K", JID: fmt.Sprintf("j%07d", c.n), Data: gateData(c.n)}
		}))
		if c.puts != "" {
			args = append(args, c.puts)
		}
		if said := c.call("put", args...).([]any); len(said) > min(left, 500) {
			c.puts = said[len(said)-1].(string)
		}
	}
}

// by calls a script, ruled or not.
func (c *gateCost) by(command string, settle []Taken, queue string, count int) []Taken {
	c.t.Helper()
	c.now += 0.01
	sent, puts, results := checkSettlements(done(settle...))
	args := exchangeArgs("w", sent, puts, Take{Queues: []string{queue}, Count: count})
	if c.takes != "" && command == "exchange" {
		args = append(args, c.takes)
	}
	reply := must(readExchange(c.call(command, args...), c.now, results, []string{queue}))(c.t)
	if reply.edition != "" {
		c.takes = reply.edition
	}
	return reply.Jobs
}

// job is what a job costs from put to its end, in batches of so many: those of a call are settled by the call that takes the next.
func (c *gateCost) job(command, queue string, batch, rounds int) float64 {
	c.t.Helper()
	var has []Taken
	turn := func() {
		c.fill(queue, batch)
		if has = c.by(command, has, queue, batch); len(has) != batch {
			c.t.Fatalf("of %s %d were taken", queue, len(has))
		}
	}
	for range 3 {
		turn() // tables and statistics are there
	}
	return c.meter(func() {
		for range rounds {
			turn()
		}
	}) / float64(rounds*batch)
}

// blocked is what it costs to file a job, of so many.
func (c *gateCost) blocked(queue string, many int) float64 {
	c.t.Helper()
	c.fill(queue, many+1)
	c.by("ruled", nil, queue, 1) // the one that runs, and the first to wait
	c.fill(queue, many)
	waiting := func() int { return int(c.redis.ZCard(c.t.Context(), "ql:q:"+queue+"-throttled").Val()) }
	before := waiting()
	cost := c.meter(func() {
		for range many / callFiles {
			c.by("ruled", nil, queue, 1)
		}
	})
	return cost / float64(waiting()-before)
}

// callFiles is how many jobs a call files.
const callFiles = 64

// saturated is what settling a job and taking the next costs where more than may run wait.
func (c *gateCost) saturated(command, queue string, batch, rounds int) float64 {
	c.t.Helper()
	c.fill(queue, (rounds+12)*batch+400)
	has := c.by(command, nil, queue, 50)
	for range 10 { // those that must wait are filed
		has = append(has, c.by(command, nil, queue, 50-len(has))...)
	}
	turn := func() {
		next := c.by(command, has[:batch], queue, batch)
		stop(c.t, len(next) != batch, "of %s %d were taken", queue, len(next))
		has = append(has[batch:], next...)
	}
	turn()
	return c.meter(func() {
		for range rounds {
			turn()
		}
	}) / float64(rounds*batch)
}

// measureGate compares the cases with an ordinary job: what they cost more than that, or, of what is a part of it, how many of it. Each is
// compared in two servers that have done the same before.
func measureGate(t testing.TB, meter func(w *gateWorld, do func()) float64, rounds int) (found map[string]float64) {
	found = map[string]float64{}
	bare := func() *gateCost { return newGateCost(t, false, meter) }
	ruled := func() *gateCost { return newGateCost(t, true, meter) }
	for _, batch := range []int{50, 5, 1} {
		n := rounds * min(50/batch, 10)
		var costs []float64 // of one pair of servers it is off by as much as it is, now and then
		for range 3 {
			costs = append(costs, ruled().job("exchange", "ordinary", batch, n)/bare().job("exchange", "ordinary", batch, n)-1)
		}
		slices.Sort(costs)
		found[fmt.Sprintf("beside rules, by %d", batch)] = costs[1]
	}
	c := bare().job("exchange", "ordinary", 50, rounds)
	for _, name := range []string{"plain", "limit", "path"} {
		found[name] = ruled().job("ruled", name, 50, rounds)/c - 1
	}
	found["blocked"] = ruled().blocked("full", 1000) / c
	found["blocked by path"] = ruled().blocked("parted", 1000) / c
	found["saturated"] = ruled().saturated("ruled", "some", 10, 5*rounds) / bare().saturated("exchange", "some", 10, 5*rounds)
	return found
}

// TestCommandsOfTheGate counts the commands of Redis that the gate runs, whose number does not depend on the machine: what each case has beyond an
// ordinary job, or how many of it, and no more than a tenth above.
func TestCommandsOfTheGate(t *testing.T) {
	Long(t, "it measures costs")
	found := measureGate(t, func(w *gateWorld, do func()) float64 {
		w.redis.ConfigResetStat(t.Context())
		do()
		return float64(commandsRun(t, w.lab))
	}, 2)
	for name, budget := range map[string]float64{
		"beside rules, by 50": 0, "beside rules, by 5": 0, "beside rules, by 1": 0, "plain": 0.0104, "limit": 0.0262, "path": 0.071,
		"blocked": 0.3, "blocked by path": 0.31, "saturated": 1.17,
	} {
		if cost := found[name]; cost > budget*1.1 {
			t.Errorf("%s costs %.4f, of %v", name, cost, budget)
		}
	}
}

// BenchmarkGateCost counts the instructions of the server, with valgrind, and fails where the gate costs a tenth more than its budget:
//
//	go test ./queue -run '^$' -bench GateCost -benchtime 1x
func BenchmarkGateCost(b *testing.B) {
	dir := underCallgrind(b)
	limits := map[string]float64{
		"beside rules, by 50": 0.005, "beside rules, by 5": 0.01, "beside rules, by 1": 0.01, "plain": 0.03, "limit": 0.25, "path": 0.55,
		"blocked": 0.4, "blocked by path": 0.6, "saturated": 1.6,
	}
	for b.Loop() {
		found := measureGate(b, func(w *gateWorld, do func()) float64 { return instructions(w, dir, do) }, 40)
		for name, cost := range found {
			b.Logf("%-20s %.4f, budget %v", name, cost, limits[name])
			if cost > limits[name]*1.1 {
				b.Errorf("%s costs %.4f, of %v", name, cost, limits[name])
			}
		}
	}
}

// underCallgrind has the servers that a test starts from now on run under callgrind, which writes into dir.
func underCallgrind(t testing.TB) (dir string) {
	t.Helper()
	if _, err := exec.LookPath("valgrind"); err != nil {
		t.Skip("SKIPPED valgrind not found: install it (apt install valgrind)")
	}
	dir = t.TempDir()
	wrapper := filepath.Join(dir, "redis-server")
	text := fmt.Sprintf("#!/bin/sh\nexec valgrind -q --vgdb-prefix=%[1]s/pipe --tool=callgrind --callgrind-out-file=%[1]s/out.%%p redis-server \"$@\"\n", dir)
	ok(t, os.WriteFile(wrapper, []byte(text), 0o755))
	t.Setenv("REDIS_SERVER", wrapper)
	return dir
}

var summary = regexp.MustCompile(`(?m)^(?:summary|totals): (\d+)`)

// instructions counts those of a world's server, under callgrind, while something is done.
func instructions(w *gateWorld, dir string, do func()) float64 {
	w.t.Helper()
	info := regexp.MustCompile(`process_id:(\d+)`).FindStringSubmatch(w.redis.Info(w.t.Context(), "server").Val())
	control := func(what string) {
		if out, err := exec.Command("callgrind_control", "--vgdb-prefix="+filepath.Join(dir, "pipe"), what, info[1]).CombinedOutput(); err != nil {
			w.t.Fatalf("callgrind_control %s: %v: %s", what, err, out)
		}
	}
	written := func() []string {
		names := must(filepath.Glob(filepath.Join(dir, "out."+info[1]+".*")))(w.t)
		return names
	}
	for _, old := range written() {
		ok(w.t, os.Remove(old))
	}
	// What the server does by itself is none of it, nor that it notes what takes long: under callgrind all does, more of it on a busy machine.
	for setting, value := range map[string]string{"hz": "1", "activerehashing": "no", "slowlog-log-slower-than": "-1"} {
		ok(w.t, w.redis.ConfigSet(w.t.Context(), setting, value).Err())
	}
	control("-z")
	do()
	control("-d")
	names := written()
	stop(w.t, len(names) != 1, "callgrind has written %q", names)
	text := must(os.ReadFile(names[0]))(w.t)
	m := summary.FindSubmatch(text)
	if m == nil {
		w.t.Fatalf("%s has no sum", names[0])
	}
	n := must(strconv.ParseFloat(string(m[1]), 64))(w.t)
	return n
}

// TestCommandsPerExchange counts the commands of a call that settles some jobs and takes as many, when the queue is known and nothing
// special is: docs/performance.md quotes the numbers.
func TestCommandsPerExchange(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	c := labClient(t, l)
	for _, tt := range []struct {
		jobs    int
		hurries bool
		plain   bool
		keyed   bool
		want    int
	}{{0, false, false, false, 4}, {1, false, false, false, 27}, {10, false, false, false, 92}, {64, false, false, false, 470},
		{1, true, false, false, 21}, {10, true, false, false, 86}, {64, true, false, false, 464}, {1, true, true, false, 20}, {10, true, true, false, 83},
		{64, true, true, false, 461}, {1, true, false, true, 28}, {10, true, false, true, 93}, {64, true, false, true, 471}} {
		name := fmt.Sprint(tt.jobs)
		if tt.keyed {
			name += " with keys"
		}
		if tt.hurries {
			name += ", moments after another"
		}
		if tt.plain {
			name += ", plain"
		}
		t.Run(name, func(t *testing.T) {
			jobs, want := tt.jobs, tt.want
			l.redis.FlushDB(t.Context())
			var puts []Put
			for i := range 3*jobs + 1 {
				p := Put{Queue: "q", Klass: "K"}
				if tt.keyed {
					p.Key = fmt.Sprint("customer-", i)
				}
				puts = append(puts, p)
			}
			must(c.PutAll(t.Context(), puts))(t)
			take := Take{Queues: []string{"q"}, Count: jobs, hurries: tt.hurries}
			var settlements []Settlement
			exchange := func() {
				t.Helper()
				now := c.clock.Now()
				if tt.plain {
					take.plain = wire.Mark(now)
				}
				sent, puts, results := checkSettlements(settlements)
				raw := must(c.run(t.Context(), c.redis, script.Name{Dialect: Batch, Command: "exchange"}, now, exchangeArgs("w", sent, puts, take)...))(t)
				reply, err := readExchange(raw, now, results, take.Queues)
				if err != nil || len(reply.Jobs) != jobs {
					t.Fatalf("%d jobs, %v", len(reply.Jobs), err)
				}
				settlements = done(reply.Jobs...)
			}
			exchange()
			exchange()
			l.redis.ConfigResetStat(t.Context())
			exchange()
			if n := commandsRun(t, l); n != want {
				t.Errorf("%d commands for %d settlements and as many takes, want %d", n, jobs, want)
			}
		})
	}
}

// TestSetsOfManyAreNoLists looks at how Redis keeps the sets of locks and of what waits: as lists, through which it would look for each entry, only
// where these are few; and at what is in them.
func TestSetsOfManyAreNoLists(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	c := labClient(t, l)
	s := c.Session("w")
	for _, tt := range []struct {
		jobs int
		want string
	}{{2, "listpack"}, {8, "skiplist"}, {100, "skiplist"}} {
		ok(t, l.redis.FlushDB(t.Context()).Err())
		puts := make([]Put, 2*tt.jobs)
		for i := range puts {
			puts[i] = Put{Queue: "q", Klass: "K"}
		}
		must(c.PutAll(t.Context(), puts))(t)
		reply := must(s.Exchange(t.Context(), nil, Take{Queues: []string{"q"}, Count: tt.jobs}))(t)
		var taken []string
		for _, job := range reply.Jobs {
			taken = append(taken, job.JID)
		}
		slices.Sort(taken)
		for _, key := range []string{"ql:q:q-locks", "ql:w:w:jobs", "ql:q:q-work"} {
			if is := l.redis.ObjectEncoding(t.Context(), key).Val(); strings.Replace(is, "ziplist", "listpack", 1) != tt.want {
				t.Errorf("of %d jobs %s is a %s, want a %s", tt.jobs, key, is, tt.want)
			}
			members := l.redis.ZRange(t.Context(), key, 0, -1).Val()
			slices.Sort(members)
			never(t, key != "ql:q:q-work" && !slices.Equal(members, taken) || len(members) != tt.jobs, "in %s of %d jobs are %q", key, tt.jobs, members)
		}
	}
}

// TestPlainCallsCostLess counts the instructions of the server for calls that settle a job and take one, plain ones and others: what makes a
// plain call worth while is what it does not make, which no count of commands tells.
func TestPlainCallsCostLess(t *testing.T) {
	Long(t, "it measures costs")
	dir := underCallgrind(t)
	w := gateWorldOn(t, "redis")
	var puts []Put
	for range 100 {
		puts = append(puts, Put{Queue: "q", Klass: "K"})
	}
	must(w.client.PutAll(t.Context(), puts))(t)
	var has []Taken
	exchange := func(plain bool) {
		t.Helper()
		w.now = w.client.clock.Now()
		take := Take{Queues: []string{"q"}, Count: 1, hurries: true}
		if plain {
			take.plain = wire.Mark(w.now)
		}
		sent, puts, results := checkSettlements(done(has...))
		reply := must(readExchange(w.call("exchange", exchangeArgs("w", sent, puts, take)...), w.now, results, take.Queues))(t)
		if has = reply.Jobs; len(has) != 1 {
			t.Fatalf("%d jobs were taken", len(has))
		}
	}
	for range 3 {
		exchange(false)
		exchange(true)
	}
	cost := func(plain bool) float64 {
		return instructions(w, dir, func() {
			for range 20 {
				exchange(plain)
			}
		})
	}
	if general, plain := cost(false), cost(true); plain > 0.75*general {
		t.Errorf("a plain call takes %.2f of the instructions of another, and 0.69 are usual", plain/general)
	} else {
		t.Logf("%.0f and %.0f: %.3f", general, plain, plain/general)
	}
}

// TestListCommandsPerCall counts the Redis commands inside a call about a list. What a call costs follows from them: fifty entries that are taken,
// acknowledged, or given signs of cost as many as one.
func TestListCommandsPerCall(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	const keys, tag = "jobs progress failed reasons broken tries", "111111111"
	const stamp = `"1.` + tag + `Z"`
	run := func(command string, words ...any) {
		t.Helper()
		argv := strings.Fields(fmt.Sprintln(append([]any{1763700000}, words...)...))
		for i, word := range argv {
			argv[i] = strings.ReplaceAll(word, "''", "")
		}
		if _, err := l.eval(t.Context(), l.text(Batch, command), nil, argv); err != nil {
			t.Fatalf("%s %q: %v", command, words, err)
		}
	}
	push := func(n int) func() {
		return func() {
			for i := range n {
				l.redis.LPush(t.Context(), "jobs", fmt.Sprint("e", i))
			}
		}
	}
	take := func(n int) func() { return func() { run("list.exchange", keys, tag, stamp, 1000, n) } }
	taken := func(n int) func() { return func() { push(n)(); take(n)() } }
	each := func(n int, words string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("e%d %s", i, words))
		}
		return strings.Join(all, " ")
	}
	settle := func(n int, words string) func() {
		return func() { run("list.exchange", keys, tag, stamp, 1000, 0, each(n, words)) }
	}
	kept := func(n int) func() {
		return func() { taken(n)(); settle(n, "back kept ''")(); take(n)() }
	}
	intake := func(n int) func() {
		return func() {
			words := []any{"w jobs broken q 0", n, each(n, "''"), n}
			for i := range n {
				words = append(words, fmt.Sprintf("q j%d K {} 0 0", i))
			}
			run("list.intake", words...)
		}
	}
	for _, load := range []func(){settle(1, "ack '' ''"), func() { run("list.renew", "progress tries", tag, stamp) }, func() { run("list.monitor", "jobs progress") }, intake(1)} {
		load()
	}
	tests := []struct {
		name   string
		before func()
		call   func()
		want   int
	}{
		{"a look at an empty list", push(0), take(50), 2},
		{"take of 1", push(1), take(1), 6},
		{"take of 50", push(50), take(50), 6},
		{"take of 50 that were tried before", func() { taken(50)(); settle(50, "back kept ''")() }, take(50), 7},
		{"take of 1 that is in work", func() { taken(1)(); push(1)() }, take(1), 5},
		{"ack of 1", taken(1), settle(1, "ack '' ''"), 3},
		{"ack of 50", taken(50), settle(50, "ack '' ''"), 3},
		{"ack of 50 that were tried before", kept(50), settle(50, "ack '' ''"), 4},
		{"retry of 1", taken(1), settle(1, "back kept ''"), 4},
		{"retry of 50", taken(50), settle(50, "back kept ''"), 151},
		{"delayed retry of 1", taken(1), settle(1, "later kept "+stamp), 3},
		{"giving back 1", taken(1), settle(1, "front '' ''"), 4},
		{"failure of 1", taken(1), settle(1, "fail '' why"), 7},
		{"failure of 50", taken(50), settle(50, "fail '' why"), 301},
		{"1 that is no job", taken(1), settle(1, "broken '' when"), 3},
		{"a late ack", push(0), settle(1, "ack '' ''"), 1},
		{"signs of 50", taken(50), func() { run("list.renew", "progress tries", tag, stamp, each(50, "''")) }, 3},
		{"signs of 50 with what is kept", taken(50), func() { run("list.renew", "progress tries", tag, stamp, each(50, "kept")) }, 4},
		{"50 that were abandoned", taken(50), func() { run("list.monitor", "jobs progress", each(50, stamp+" front")) }, 150},
		{"50 that another put back", push(0), func() { run("list.monitor", "jobs progress", each(50, stamp+" front")) }, 50},
		{"intake of 1", push(1), intake(1), 13},
		{"intake of 50", push(50), intake(50), 210},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l.redis.FlushDB(t.Context())
			tt.before()
			l.redis.ConfigResetStat(t.Context())
			tt.call()
			if n := commandsRun(t, l); n != tt.want {
				t.Errorf("%d commands, want %d", n, tt.want)
			}
		})
	}
}

// TestCommandsPerCall counts the Redis commands inside a call; PROTOCOL.md quotes
// the numbers. What a call costs follows from them.
func TestCommandsPerCall(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	put := func(jid string) string { return "put 0 w q " + jid + " K {} 0" }
	puts := func(n int) (calls []string) {
		for i := range n {
			calls = append(calls, put(strconv.Itoa(i)))
		}
		return calls
	}
	running := []string{put("j"), "pop 1 q w 1"}
	failed := append(running, "fail 2 j w g m")
	reqless := strings.NewReplacer("put ", "queue.put ", "pop ", "queue.pop ", "fail ", "job.fail ")
	tests := []struct {
		name        string
		before      []string // in qless; translated for reqless
		qless       string
		wantQless   int
		reqless     string
		wantReqless int
	}{
		{"put, new job, queue unknown", nil, put("j"), 8, "queue.put 0 w q j K {} 0", 10},
		{"put, queue known", puts(1), put("j"), 6, "queue.put 0 w q j K {} 0", 8},
		{"pop, empty queue", nil, "pop 0 q w 1", 5, "queue.pop 0 q w 1", 6},
		{"pop of 1", puts(1), "pop 1 q w 1", 15, "queue.pop 1 q w 1", 18},
		{"pop of 1, where another queue has keys", append(puts(1), "put 0 w other x K {} 0 key k"), "pop 1 q w 1", 20, "queue.pop 1 q w 1", 23},
		{"pop of 10", puts(10), "pop 1 q w 10", 62, "queue.pop 1 q w 10", 83},
		{"pop of 50", puts(50), "pop 1 q w 50", 262, "queue.pop 1 q w 50", 363},
		{"peek of 10", puts(10), "peek 1 q 10", 35, "queue.peek 1 q 0 10", 35},
		{"heartbeat with data", running, "heartbeat 2 j w {}", 6, "job.heartbeat 2 j w {}", 5},
		{"complete", running, "complete 2 j w q {}", 14, "job.complete 2 j w q {}", 19},
		{"complete … next", running, "complete 2 j w q {} next q", 15, "job.completeAndRequeue 2 j w q {} q", 20},
		{"fail", running, "fail 2 j w g m", 14, "job.fail 2 j w g m", 19},
		{"retry", running, "retry 2 j q w", 6, "job.retry 2 j q w", 9},
		{"timeout", running, "timeout 2 j", 8, "job.timeout 2 j", 12},
		{"cancel, failed job", failed, "cancel 3 j", 15, "job.cancel 3 j", 20},
		{"get", puts(1), "get 1 0", 4, "job.get 1 0", 4},
		{"queues, per queue", puts(1), "queues 1 q", 8, "queue.counts 1 q", 9},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			count := func(dialect Dialect, call string, translate func(string) string) int {
				l.redis.FlushDB(t.Context())
				for _, before := range tt.before {
					must(callUnified(t.Context(), l, dialect, step{Argv: strings.Fields(translate(before))}))(t)
				}
				l.redis.ConfigResetStat(t.Context())
				must(callUnified(t.Context(), l, dialect, step{Argv: strings.Fields(call)}))(t)
				return commandsRun(t, l)
			}
			a := count(Qless, tt.qless, func(s string) string { return s })
			b := count(Reqless, tt.reqless, reqless.Replace)
			never(t, a != tt.wantQless || b != tt.wantReqless, "%d commands in qless, %d in reqless; want %d and %d", a, b, tt.wantQless, tt.wantReqless)
		})
	}
}

var commandCalls = regexp.MustCompile(`cmdstat_([^:]+):calls=(\d+)`)

// commandsRun is how many commands the server ran inside scripts since its statistics
// were reset.
func commandsRun(t *testing.T, l *lab) int {
	t.Helper()
	l.private(t)
	total := 0
	for _, m := range commandCalls.FindAllStringSubmatch(l.redis.Info(t.Context(), "commandstats").Val(), -1) {
		switch m[1] {
		case "evalsha", "info", "config|resetstat", "time": // the client measures the clock now and then
		default:
			n := must(strconv.Atoi(m[2]))(t)
			total += n
		}
	}
	return total
}
