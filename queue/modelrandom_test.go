package queue

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestRandomCalls compares the unified script with the model over random sequences of
// calls: the reply, the messages in order and every key, after each call.
func TestRandomCalls(t *testing.T) {
	for _, dialect := range []Dialect{Qless, Reqless, both} {
		t.Run(string(dialect), func(t *testing.T) { compareAtRandom(t, dialect) })
	}
}

func compareAtRandom(t *testing.T, dialect Dialect) {
	l := newLab(t, "redis", DefaultNamespace)
	for seed := range Seeds(t, 30) {
		steps, wrong := l.compare(t, dialect, drawn(dialect, seed, 150))
		if wrong == "" {
			continue
		}
		steps, wrong = l.shrink(t, dialect, steps, wrong)
		var calls strings.Builder
		for _, s := range steps {
			fmt.Fprintf(&calls, "\n  %s %v %q", s.Cmd[0], s.Now, s.Cmd[1:])
		}
		t.Fatalf("seed %d: after these calls%s\n%.3000s", seed, calls.String(), wrong)
	}
}

// TestCallsThatDiffered plays calls of which the reply was another than that of the model once.
func TestCallsThatDiffered(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	for _, test := range []struct {
		name    string
		dialect Dialect
		calls   []string
	}{
		{"who is put again while it runs waits for the place that it has", Reqless, []string{
			`queue.put w q a K {} 0 throttles ["s"]`, "queue.pop q w 1", `queue.put w q a K {} 0 throttles ["s"]`, "throttle.set s 1", "queue.pop q w 1"}},
		{"and where qless pops it, for that of its queue", both, []string{
			"queue.put w q a K {} 0", "queue.pop q w 1", "job.requeue v q a K {} 0", "queue.throttle.set q 1", "pop q w 1"}},
		{"but has it still when its lock runs out", Reqless, []string{
			`queue.put w q a K {} 0 throttles ["s"]`, "queue.pop q w 1", "throttle.set s 1", "config.set grace-period 0", "queue.pop q w 1", "queue.pop q w 1"}},
		{"what a job names twice is released twice, and lets two others try", both, []string{
			"queue.throttle.set q 1", `queue.put w q a K {} 0 throttles ["ql:q:q"]`, "queue.pop q w 1", "queue.put w q b K {} 0", "queue.put w q c K {} 0", "put w p a K {} 0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var steps []step
			for i, call := range test.calls {
				steps = append(steps, step{Now: fmt.Sprint(1000 + 100*i), Cmd: strings.Fields(call)})
			}
			if _, wrong := l.compare(t, test.dialect, again(steps)); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

// compare plays steps on an empty database and on a new model until they differ. It
// returns the steps played and what was different in the last.
func (l *lab) compare(t *testing.T, dialect Dialect, next func(m *model) (step, bool)) (played []step, wrong string) {
	t.Helper()
	ok(t, l.redis.FlushDB(t.Context()).Err())
	m := newModel(dialect)
	shared := dialect
	if m.both {
		shared = Qless
	}
	for {
		s, ok := next(m)
		if !ok {
			return played, ""
		}
		played = append(played, s)
		want := m.call(s)
		reply, err := callUnified(t.Context(), l, shared, s)
		messages := l.heard(t)
		switch {
		case !sameReply(want, reply, err):
			return played, fmt.Sprintf("replied %v, error %v\nmodel   %v, error %q", reply, err, want.Reply, want.ErrorContains)
		case !reflect.DeepEqual(want.Published, wrapped(messages)):
			return played, fmt.Sprintf("published %q\nmodel     %q", messages, want.Published)
		}
		if wrong = m.differences(l.dump(t)); wrong != "" {
			return played, wrong
		}
	}
}

func wrapped(messages [][2]string) [][2]any {
	out := make([][2]any, len(messages))
	for i, m := range messages {
		out[i] = [2]any{m[0], m[1]}
	}
	return out
}

// shrink leaves out calls as long as something is different without them.
func (l *lab) shrink(t *testing.T, dialect Dialect, steps []step, wrong string) ([]step, string) {
	for size := len(steps) / 2; size > 0; size /= 2 {
		for at := 0; at+size < len(steps); {
			fewer := slices.Delete(slices.Clone(steps), at, at+size)
			if played, w := l.compare(t, dialect, again(fewer)); w != "" {
				steps, wrong = played, w
			} else {
				at += size
			}
		}
	}
	return steps, wrong
}

func again(steps []step) func(*model) (step, bool) {
	return func(*model) (step, bool) {
		if len(steps) == 0 {
			return step{}, false
		}
		s := steps[0]
		steps = steps[1:]
		return s, true
	}
}

// dumpText is a script that returns all keys: name, type, contents, TTL, name, type …
const dumpText = `
local out = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind = redis.call('TYPE', key).ok
  local read = {hash = {'HGETALL', key}, list = {'LRANGE', key, 0, -1}, set = {'SMEMBERS', key},
    zset = {'ZRANGE', key, 0, -1, 'WITHSCORES'}, string = {'MGET', key}}
  local n = #out
  out[n + 1], out[n + 2], out[n + 3], out[n + 4] = key, kind, redis.call(unpack(read[kind])), redis.call('TTL', key)
end
return out`

// dump reads all keys in one call.
func (l *lab) dump(t *testing.T) map[string]storedKey {
	t.Helper()
	reply := must(l.eval(t.Context(), dumpText, nil, nil))(t)
	items := reply.([]any)
	keys := make(map[string]storedKey)
	for i := 0; i < len(items); i += 4 {
		name, kind, parts, ttl := items[i].(string), items[i+1].(string), items[i+2].([]any), items[i+3].(int64)
		var value any = parts
		switch kind {
		case "hash":
			fields := make(map[string]any)
			for j := 0; j < len(parts); j += 2 {
				fields[parts[j].(string)] = parts[j+1]
			}
			value = fields
		case "set":
			slices.SortFunc(parts, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		case "zset":
			ranked := []any{}
			for j := 0; j < len(parts); j += 2 {
				score, _ := luaNumber(parts[j+1].(string))
				ranked = append(ranked, []any{parts[j], strconv.FormatFloat(score, 'g', -1, 64)})
			}
			value = ranked
		}
		keys[name] = storedKey{Type: kind, Value: value, TTL: float64(max(0, ttl))}
	}
	return keys
}

// differences compares the keys of the model with others, to the last digit.
func (m *model) differences(got map[string]storedKey) string {
	var wrong []string
	want := m.recorded()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w, g := want[name], got[name]
		alike := reflect.DeepEqual(w.Value, g.Value) || sameMeaning(w.Value, g.Value)
		if w.Type != g.Type || !alike || (w.TTL == 0) != (g.TTL == 0) || math.Abs(w.TTL-g.TTL) > 60 {
			wrong = append(wrong, fmt.Sprintf("key   %s is %v\nmodel %v", name, g, w))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			wrong = append(wrong, fmt.Sprintf("key %s should not be there: %v", name, got[name]))
		}
	}
	return strings.Join(wrong, "\n")
}

// sameMeaning compares texts exactly, except those of which only the meaning is known.
func sameMeaning(want, got any) bool {
	switch w := want.(type) {
	case map[string]any:
		if inner, ok := w["$json"]; ok {
			return sameJSON(inner, got)
		}
		g, ok := got.(map[string]any)
		if !ok || len(w) != len(g) {
			return false
		}
		for name := range w {
			if _, ok := g[name]; !ok || !sameMeaning(w[name], g[name]) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(w, g, sameMeaning)
	}
	return want == got
}

// draw makes up calls.
type draw struct {
	*rand.Rand
	m   *model
	now float64
}

// drawn draws so many calls from a seed. The model tells which calls make sense.
func drawn(dialect Dialect, seed uint64, length int) func(*model) (step, bool) {
	d := &draw{Rand: rand.New(rand.NewPCG(seed, 0)), now: 1000}
	if d.IntN(2) == 0 {
		d.now = 1700000000.125
	}
	return func(m *model) (step, bool) {
		length--
		d.m = m
		s := step{Now: d.time(), Cmd: d.command()}
		if dialect == Reqless || dialect == both && d.IntN(2) == 0 {
			s.Cmd = d.inReqless(s.Cmd)
		}
		return s, length >= 0
	}
}

func (d *draw) of(choices ...string) string { return choices[d.IntN(len(choices))] }

// rarely is true once in n times.
func (d *draw) rarely(n int) bool { return d.IntN(n) == 0 }

// usually draws from the odd choices once in twelve times.
func (d *draw) usually(ordinary []string, odd ...string) string {
	if d.rarely(12) {
		return d.of(odd...)
	}
	return d.of(ordinary...)
}

// time moves on, mostly.
func (d *draw) time() string {
	switch n := d.IntN(100); {
	case n < 5:
		d.now += 60
	case n < 6:
		d.now += 86400
	case n < 10:
		d.now -= 30
	case n < 40:
		d.now += d.Float64() * 10
	case n < 42:
		return d.of("nan", "soon", " 1005 ", "0x400", "1.5e3", "-5", "0", "")
	default:
		d.now += float64(d.IntN(8))
	}
	return strconv.FormatFloat(d.now, 'f', -1, 64)
}

func (d *draw) jid() string {
	return d.usually([]string{"a", "b", "c", "d", "e", "f"}, "r-1", "r-2", "s-1", "nope", "", "with/slash \"é\x01")
}

func (d *draw) queue() string  { return d.usually([]string{"q", "q", "p"}, "other", "") }
func (d *draw) worker() string { return d.usually([]string{"w", "v"}, "u", "") }
func (d *draw) group() string  { return d.usually([]string{"g", "h"}, "", "a/b", "failed-retries-q") }
func (d *draw) tagName() string {
	return d.usually([]string{"x", "y", "z"}, "", "5", "0.1")
}

func (d *draw) number() string {
	return d.usually([]string{"0", "0", "1", "2", "5", "10", "-3", "0.5", "2.75"},
		"1e1", "0x10", " 4 ", "-0.1", "12345678901234567", "1e-7", "inf", "nan", "x", "", "-1e15", "+3")
}

// amount is a number of things.
func (d *draw) amount() string {
	return d.usually([]string{"1", "1", "2", "3", "10"}, "0", "-1", "-2", "1.5", "x", "0x2", "1e17", "")
}

func (d *draw) delay() string {
	if d.rarely(3) {
		return d.usually([]string{"5", "20", "60", "0.25"}, "inf", "x", "-5", "nan", "1e2", "")
	}
	return "0"
}

func (d *draw) data() string {
	return d.usually([]string{"{}", "[]", `{"a":1}`, ` {"b":[], "a": {"c":"x/y"}} `, `[1,2.5,"x"]`},
		`"text"`, "5", "null", "false", "true", "12345678901234567890", `{"u":"\u00e9é\n\u007f"}`, "[1", "", `[[],{}]`, "0x10")
}

func (d *draw) tags() string {
	return d.usually([]string{"[]", `["x"]`, `["x","y"]`, `["z","z"]`, `["y", "x"]`},
		"{}", `["a/b"]`, "[5]", "[0.1,1e20]", "5", "[null]", "[true]", `["x"`, "false", "null", `"x"`)
}

func (d *draw) jids() string {
	var names []string
	for range d.IntN(3) {
		names = append(names, strconv.Quote(d.of("a", "b", "c", "d", "e", "f", "nope")))
	}
	return d.usually([]string{"[" + strings.Join(names, ",") + "]"}, `{"a":1}`, "[5]", "5", "null", "[", "[null]")
}

// options draws some of the pairs that a command takes.
func (d *draw) options(pairs ...string) (words []string) {
	for i := 0; i < len(pairs); i += 2 {
		if d.rarely(3) {
			words = append(words, pairs[i], pairs[i+1])
		}
	}
	if d.rarely(40) {
		words = append(words, d.of("colour", "priority", "tags"))
	}
	return words
}

// held returns a job that is running, with its queue and worker, if there is one; now
// and then names that do not belong together.
func (d *draw) held() (jid, queue, worker string) {
	jid, queue, worker = d.jid(), d.queue(), d.worker()
	if d.rarely(10) {
		return jid, queue, worker
	}
	var running []string
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "r-1", "r-2", "s-1"} {
		if d.m.field(name, "state") == "running" {
			running = append(running, name)
		}
	}
	if len(running) > 0 {
		jid = d.of(running...)
		queue, worker = d.m.field(jid, "queue"), d.m.field(jid, "worker")
	}
	return jid, queue, worker
}

// waiting returns a job that waits for others, if there is one.
func (d *draw) waiting() string {
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		if d.m.field(name, "state") == "depends" && !d.rarely(5) {
			return name
		}
	}
	return d.jid()
}

// some draws a few names.
func (d *draw) some(name func() string) (names []string) {
	for range d.IntN(3) + d.IntN(2) {
		names = append(names, name())
	}
	return names
}

// command draws a call of qless: its name and the arguments behind now.
func (d *draw) command() []string {
	words := d.words()
	if d.rarely(40) { // leave out what comes last
		words = words[:1+d.IntN(len(words))]
	}
	return words
}

func (d *draw) words() []string {
	jid, queue, worker := d.held()
	with := func(first []string, more ...string) []string { return append(first, more...) }
	switch n := d.IntN(100); {
	case n < 22:
		return with([]string{d.of("put", "put", "put", "put", "requeue"), d.worker(), d.queue(), d.jid(), d.of("K", "L"), d.data(), d.delay()},
			d.options("priority", d.number(), "tags", d.tags(), "retries", d.usually([]string{"0", "1", "2"}, "x", "0.5", "-1", "0x1"),
				"depends", d.jids())...)
	case n < 40:
		return []string{"pop", d.queue(), d.worker(), d.amount()}
	case n < 43:
		return []string{"peek", d.queue(), d.amount()}
	case n < 50:
		return with([]string{"complete", jid, worker, queue, d.data()}, d.advance()...)
	case n < 54:
		return with([]string{"fail", jid, worker, d.group(), d.of("boom", "", `said "no"/é`)}, d.maybe(d.data())...)
	case n < 59:
		if d.rarely(12) {
			queue = d.queue()
		}
		words := []string{"retry", jid, queue, worker, d.delay(), d.group(), "oh"}
		return words[:4+d.IntN(4)]
	case n < 62:
		return with([]string{"heartbeat", jid, worker}, d.maybe(d.data())...)
	case n < 64:
		return with([]string{"timeout", jid}, d.maybe(d.jid())...)
	case n < 67:
		return with([]string{"cancel", d.jid()}, d.some(d.jid)...)
	case n < 71:
		return with([]string{"depends", d.waiting(), d.of("on", "off", "off", "sideways")}, d.some(func() string { return d.usually([]string{d.jid()}, "all") })...)
	case n < 73:
		return []string{"priority", d.jid(), d.number()}
	case n < 75:
		return with([]string{"log", d.jid(), d.of("note", "put", "")}, d.maybe(d.data())...)
	case n < 79:
		return d.recurring()
	case n < 81:
		return d.configure()
	case n < 84:
		return d.listing()
	case n < 86:
		return []string{"unfail", d.queue(), d.group(), d.amount()}
	case n < 89:
		return with([]string{"tag", d.of("add", "add", "remove"), d.jid()}, d.some(d.tagName)...)
	case n < 91:
		return []string{"track", d.of("track", "track", "untrack", "TRACK", "trace"), d.jid()}
	case n < 92:
		return with([]string{d.of("pause", "unpause", "unpause", "queue.forget")}, d.some(d.queue)...)
	case n < 93:
		return with([]string{d.of("workers", "worker.deregister")}, d.some(d.worker)...)
	}
	return d.looking()
}

// maybe is one word, or more often none.
func (d *draw) maybe(word string) []string {
	if d.rarely(3) {
		return []string{word}
	}
	return nil
}

func (d *draw) advance() []string {
	if d.rarely(2) {
		return nil
	}
	words := []string{"next", d.queue()}
	if d.rarely(15) {
		words = nil
	}
	return append(words, d.options("delay", d.delay(), "depends", d.jids())...)
}

func (d *draw) recurring() []string {
	jid := d.of("r", "r", "s")
	switch d.IntN(8) {
	case 0, 1, 2:
		return append([]string{"recur", d.queue(), jid, "K", d.data(), d.usually([]string{"interval"}, "daily"),
			d.usually([]string{"10", "60", "7.5"}, "0", "x", "-1", "1e2"), d.delay()},
			d.options("priority", d.number(), "tags", d.usually([]string{"[]", `["x"]`, `["x","y","x"]`}, "[", "[5]", "{}"),
				"retries", d.usually([]string{"0", "1"}, "x", "1.5"), "backlog", d.usually([]string{"0", "1", "2"}, "x", "0.5", "-1"))...)
	case 3, 4:
		pairs := []string{"priority", d.number(), "interval", d.usually([]string{"10", "30"}, "x", "2.5"), "data", d.data(), "klass", "L",
			"queue", d.queue(), "retries", d.usually([]string{"0", "1"}, "x"), "backlog", d.usually([]string{"0", "1"}, "x")}
		return append([]string{"recur.update", jid}, d.options(pairs...)...)
	case 5:
		return append([]string{"recur.tag", jid}, d.some(d.tagName)...)
	case 6:
		return append([]string{"recur.untag", jid}, d.some(d.tagName)...)
	}
	return []string{d.of("unrecur", "recur.get"), jid}
}

func (d *draw) configure() []string {
	name := d.of("heartbeat", "q-heartbeat", "grace-period", "max-job-history", "jobs-history", "jobs-history-count",
		"max-worker-age", "q-max-concurrency", "application")
	value := d.usually([]string{"0", "1", "2", "3", "10", "100"}, "x", "-1", "-5", "", "0x3", " 2 ")
	switch d.IntN(3) {
	case 0:
		return []string{"config.unset", name}
	case 1:
		return append([]string{"config.get"}, d.maybe(name)...)
	}
	return []string{"config.set", name, value}
}

func (d *draw) listing() []string {
	paging := []string{d.usually([]string{"0", "1"}, "-1", "0.5", "x"), d.amount()}[:d.IntN(3)]
	switch d.IntN(5) {
	case 0:
		return append([]string{"jobs", "complete"}, paging...)
	case 1:
		return append([]string{"failed"}, append(d.maybe(d.group()), paging...)...)
	case 2:
		return append([]string{"tag", "get", d.tagName()}, paging...)
	case 3:
		return append([]string{"tag", "top"}, paging...)
	}
	return append([]string{"jobs", d.of("running", "stalled", "scheduled", "depends", "recurring", "waiting"), d.queue()}, paging...)
}

func (d *draw) looking() []string {
	switch d.IntN(8) {
	case 0:
		return append([]string{"queues"}, d.maybe(d.queue())...)
	case 1:
		return []string{"length", d.queue()}
	case 2:
		return []string{"stats", d.queue(), d.of(strconv.FormatFloat(d.now, 'f', -1, 64), "0", "x")}
	case 3:
		return append([]string{"workers"}, d.maybe(d.worker())...)
	case 4:
		return []string{"track"}
	case 5:
		return append([]string{"multiget"}, d.some(d.jid)...)
	}
	return []string{"get", d.jid()}
}

// reqlessNames are the commands of qless that have another name in reqless, and mean the same.
var reqlessNames = map[string]string{
	"put": "queue.put", "requeue": "job.requeue", "pop": "queue.pop", "heartbeat": "job.heartbeat",
	"complete": "job.complete", "fail": "job.fail", "retry": "job.retry", "timeout": "job.timeout",
	"cancel": "job.cancel", "priority": "job.setPriority", "log": "job.log", "get": "job.get",
	"multiget": "job.getMulti", "unfail": "queue.unfail", "recur.get": "recurringJob.get",
	"recur.update": "recurringJob.update", "recur.tag": "recurringJob.addTag", "recur.untag": "recurringJob.removeTag",
	"unrecur": "recurringJob.cancel", "length": "queue.length", "pause": "queue.pause", "unpause": "queue.unpause",
	"stats": "queue.stats", "worker.deregister": "worker.forget",
}

// inReqless turns a call of qless into one of reqless, or makes up one that only
// reqless knows.
func (d *draw) inReqless(qless []string) []string {
	if d.rarely(12) {
		return d.throttling()
	}
	name, rest := qless[0], qless[1:]
	switch name {
	case "put", "requeue":
		if len(rest) >= 6 && len(rest)%2 == 0 && d.rarely(2) {
			rest = append(rest, "throttles", d.throttles())
		}
	case "peek":
		if len(rest) > 0 {
			rest = append([]string{rest[0], d.of("0", "0", "1", "3")}, rest[1:]...)
		}
		return append([]string{"queue.peek"}, rest...)
	case "complete":
		if len(rest) > 4 && rest[4] == "next" {
			return append(append([]string{"job.completeAndRequeue"}, rest[:4]...), rest[5:]...)
		}
	case "recur":
		if len(rest) > 4 {
			rest = append(append([]string{}, rest[:4]...), rest[5:]...)
			if len(rest)%2 == 0 && len(rest) >= 6 && d.rarely(2) {
				rest = append(rest, "throttles", d.throttles())
			}
		}
		return append([]string{"queue.recurAtInterval"}, rest...)
	case "depends", "failed", "queues", "jobs", "tag", "track", "workers":
		return d.oneOfSeveral(name, rest)
	case "config.get":
		if len(rest) == 0 {
			return []string{"config.getAll"}
		}
	}
	return append([]string{cmp.Or(reqlessNames[name], name)}, rest...)
}

// oneOfSeveral turns a command of qless that is several in reqless into one of these, by its next word.
func (d *draw) oneOfSeveral(name string, rest []string) []string {
	next := func(word string) bool {
		if len(rest) == 0 || rest[0] != word {
			return false
		}
		rest = rest[1:]
		return true
	}
	switch name {
	case "depends":
		if len(rest) > 1 {
			name = map[bool]string{true: "job.addDependency", false: "job.removeDependency"}[rest[1] == "on"]
			return append([]string{name, rest[0]}, rest[2:]...)
		}
		return append([]string{"job.addDependency"}, rest...)
	case "failed":
		if len(rest) > 0 {
			return append([]string{"jobs.failedByGroup"}, rest...)
		}
		return []string{"failureGroups.counts"}
	case "queues":
		if len(rest) > 0 {
			return append([]string{"queue.counts"}, rest...)
		}
		return []string{d.of("queue.counts", "queues.counts", "queues.names")}
	case "jobs":
		if next("complete") {
			return append([]string{"jobs.completed"}, rest...)
		}
		if len(rest) > 0 && d.rarely(4) {
			rest[0] = "throttled"
		}
		return append([]string{"queue.jobsByState"}, rest...)
	case "tag":
		for word, name := range map[string]string{"add": "job.addTag", "remove": "job.removeTag", "get": "jobs.tagged", "top": "tags.top"} {
			if next(word) {
				return append([]string{name}, rest...)
			}
		}
		return []string{"tags.top"}
	case "track":
		if next("track") || next("TRACK") {
			return append([]string{"job.track"}, rest...)
		}
		if next("untrack") || next("trace") {
			return append([]string{"job.untrack"}, rest...)
		}
		return []string{"jobs.tracked"}
	case "workers":
		if len(rest) > 0 {
			return append([]string{"worker.jobs"}, rest...)
		}
		return []string{"workers.counts"}
	}
	panic("one command in reqless, too: " + name)
}

func (d *draw) throttles() string {
	return d.usually([]string{"[]", `["t"]`, `["s"]`, `["t","s"]`}, `["ql:q:q"]`, `["ql:q:p","t","ql:q:q","ql:q:q"]`, `["q"]`, "5", "[")
}

// throttling draws a call that only reqless knows.
func (d *draw) throttling() []string {
	tid := d.usually([]string{"t", "s"}, "ql:q:q", "", "5")
	most := d.usually([]string{"1", "1", "2", "3"}, "0", "x", " 2 ", "-1")
	switch d.IntN(12) {
	case 0, 1, 2:
		return append([]string{"throttle.set", tid, most}, d.maybe(d.usually([]string{"1000", "50000", "0"}, "-5", "x", "0.5", "1e17", "inf", " 7000 "))...)
	case 3:
		return []string{"queue.throttle.set", d.queue(), most}
	case 4:
		return []string{d.of("throttle.locks", "throttle.pending", "throttle.get"), tid}
	case 5:
		return []string{"queue.throttle.get", d.queue()}
	case 6:
		return append([]string{"throttle.release", tid}, d.some(d.jid)...)
	case 7:
		return []string{"throttle.delete", tid}
	case 8, 9, 10:
		return d.patterns()
	}
	return []string{"config.set", d.of("max-pop-retry", "q-max-pop-retry"), d.of("1", "2", "3", "0")}
}

// patterns draws a call about the patterns of queues.
func (d *draw) patterns() []string {
	switch d.IntN(4) {
	case 0:
		words := []string{"queueIdentifierPatterns.setAll"}
		for range d.IntN(4) {
			list := d.usually([]string{`["a*"]`, `["b", "!c"]`, "[]"}, "{}", "5", "null", `"text"`, `""`, "[", "true", `{"a":1}`)
			words = append(words, d.of("wood", "tool", "default", ""), list)
		}
		if d.rarely(12) {
			words = append(words, "odd")
		}
		return words
	case 1:
		words := []string{"queuePriorityPatterns.setAll"}
		for range d.IntN(4) {
			words = append(words, d.usually([]string{`{"fairly": true, "pattern": ["a", "b*"]}`, `{"pattern":["default"],"fairly":true}`,
				`{"pattern": ["default", "x"]}`}, "{}", "5", "[", `{"pattern":[]}`, `{"pattern":5}`, `{"pattern":"default"}`, `["default"]`))
		}
		return words
	case 2:
		return []string{"queueIdentifierPatterns.getAll"}
	}
	return []string{"queuePriorityPatterns.getAll"}
}

// beyondModel are families and scenarios about what the model leaves out.
var beyondModel = []string{
	"throttles that are an object",
	"commands of the other dialect are unknown", // here each model has a dialect of its own
}

// TestModelConformance replays the recorded scenarios against the model. It has to
// differ from them where the scripts mean to, and nowhere else.
func TestModelConformance(t *testing.T) {
	for _, dialect := range []Dialect{Qless, Reqless} {
		for family, list := range scenarios(t, dialect) {
			for _, s := range list {
				if slices.Contains(beyondModel, family) || slices.Contains(beyondModel, s.Name) {
					continue
				}
				reason, differs := deviations[dialect][s.Name]
				wrong := replayModel(dialect, s)
				switch {
				case !differs && len(wrong) > 0:
					t.Errorf("%s/%s: %s\n%s", dialect, family, s.Name, strings.Join(wrong, "\n"))
				case differs && len(wrong) == 0:
					t.Errorf("%s/%s: %s: as recorded, although %s", dialect, family, s.Name, reason)
				}
			}
		}
	}
}

// replayModel runs a scenario on the model and returns everything that was not as
// recorded.
func replayModel(dialect Dialect, s scenario) (wrong []string) {
	m := newModel(dialect)
	for _, words := range s.Seed {
		m.seed(words)
	}
	for i, st := range s.Steps {
		played := m.call(st)
		if !samePlay(st, played) {
			wrong = append(wrong, fmt.Sprintf("step %d, %v %.200q\n  model: %v %q %q\n  recorded: %v %q %q", i, st.Now,
				append(st.Cmd, st.Argv...), played.Reply, played.ErrorContains, played.Published, st.Reply, st.ErrorContains, st.Published))
		}
	}
	keys := m.recorded()
	for name, k := range keys {
		k.Value = written(k.Value)
		keys[name] = k
	}
	return append(wrong, keyDifferences(s.Keys, keys)...)
}

// seed runs one of the plain Redis commands that prepare scenarios.
func (m *model) seed(words []string) {
	switch key := words[1]; words[0] {
	case "HSET":
		for i := 2; i < len(words); i += 2 {
			m.hash(key)[words[i]] = words[i+1]
		}
	case "ZADD":
		score, _ := luaNumber(words[2])
		m.add(key, score, words[3])
	case "RPUSH":
		m.lists[key] = append(m.lists[key], anyList(words[2:])...)
	default:
		panic("seed: " + words[0])
	}
}

// samePlay compares a recorded step with what the model made of it.
func samePlay(want, got step) bool {
	if !slices.EqualFunc(want.Published, got.Published, func(w, g [2]any) bool {
		return w[0] == g[0] && sameValue("", w[1], g[1])
	}) {
		return false
	}
	if want.Reply.Type == "error" {
		return got.Reply.Type == "error" && strings.Contains(got.ErrorContains, want.ErrorContains)
	}
	switch got.Reply.Type {
	case "error":
		return false
	case "int":
		return sameReply(want, int64(got.Reply.Value.(float64)), nil)
	case "json":
		return sameReply(want, asText(got.Reply.Value), nil)
	}
	return sameReply(want, got.Reply.Value, nil)
}

// asText writes a value of the model as a script would, but for the order of
// members.
func asText(v any) string {
	text, err := json.Marshal(written(v))
	if err != nil {
		panic(err)
	}
	return string(text)
}

// written puts one text in place of each that is known by its meaning only.
func written(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = written(v[i])
		}
		return out
	case map[string]any:
		if inner, ok := v["$json"]; ok {
			return asText(inner)
		}
		out := make(map[string]any, len(v))
		for name := range v {
			out[name] = written(v[name])
		}
		return out
	}
	return v
}

// keyDifferences compares a recorded keyspace with another, whose texts are known.
func keyDifferences(want, got map[string]storedKey) (wrong []string) {
	for name, w := range want {
		if have, ok := got[name]; !ok || !sameKey(name, w, have) {
			wrong = append(wrong, fmt.Sprintf("key %s is\n  %v\n  expected %v", name, have, w))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			wrong = append(wrong, fmt.Sprintf("key %s should not be there: %v", name, got[name]))
		}
	}
	return wrong
}
