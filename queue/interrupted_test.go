package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/script"
	"oarlock/queue/internal/wire"
)

// The tests of this page raise an error at every command of every batch script, one after
// the other, and look at what is left: as nothing is undone, each script has to see to it
// that no job is lost, doubled, or held up by what concerns another.

// failingHead goes in front of a script. It makes the command raise whose number is KEYS[1],
// and notes which that was.
const failingHead = `
local real, nth, count = redis, tonumber(KEYS[1]), 0
local redis = {}
local function fails(command, key)
  count = count + 1
  if count == nth then real.call('SET', 'fault', command .. ' ' .. tostring(key)) end
  return count == nth and { err = 'ERR injected at ' .. command .. ' ' .. tostring(key) }
end
function redis.call(...)
  local fault = fails(...)
  if fault then error(fault, 0) end
  return real.call(...)
end
function redis.pcall(...)
  return fails(...) or real.pcall(...)
end
`

// interrupted is a Redis in which scripts break.
type interrupted struct {
	t     *testing.T
	ctx   context.Context
	c     *Client
	now   float64
	saved []any             // the scene, as keys and values
	shas  map[string]string // of the scripts that break
	seen  *places           // what was read since the last change; nil: nothing
}

func newInterrupted(t *testing.T) *interrupted {
	return &interrupted{t: t, ctx: t.Context(), c: labClient(t, newLab(t, "shared", DefaultNamespace)), now: 1700000000, shas: map[string]string{}}
}

// do runs a whole command at a time.
func (in *interrupted) do(dialect Dialect, command string, args ...any) any {
	in.t.Helper()
	in.seen = nil
	reply, err := in.c.run(in.ctx, in.c.redis, script.Name{Dialect: dialect, Command: command}, in.now, args...)
	stop(in.t, err != nil, "%s %v: %v", command, args, err)
	return reply
}

// cut runs a batch command whose nth Redis command raises, and returns that; "" if
// it has fewer.
func (in *interrupted) cut(nth int, command string, args []any) (reply any, hit string, err error) {
	in.t.Helper()
	in.seen = nil
	if in.shas[command] == "" {
		text, _ := Script(Batch, command, DefaultNamespace)
		in.shas[command] = in.c.redis.ScriptLoad(in.ctx, failingHead+text).Val()
	}
	words := append([]any{"evalsha", in.shas[command], 1, nth, wire.Number(in.now)}, args...)
	reply, err = in.c.redis.Do(in.ctx, words...).Result()
	hit, _ = in.c.redis.Get(in.ctx, "fault").Result()
	in.c.redis.Del(in.ctx, "fault")
	return reply, hit, err
}

// put puts a job with these options.
func (in *interrupted) put(queue, jid string, options ...any) {
	in.t.Helper()
	in.do(Qless, "put", append([]any{"", queue, jid, "K", "{}", 0}, options...)...)
}

// scene is what every case begins with: jobs a to o of worker w, other jobs in all
// states, and others' locks that ran out.
func (in *interrupted) scene() {
	in.t.Helper()
	in.seen = nil
	if in.saved == nil {
		in.make()
		in.saved = in.c.redis.Eval(in.ctx, saveScript, nil).Val().([]any)
	}
	ok(in.t, in.c.redis.Eval(in.ctx, loadScript, nil, in.saved...).Err())
}

const (
	saveScript = `
local all = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  all[#all + 1], all[#all + 2] = key, redis.call('DUMP', key)
end
return all`
	loadScript = `
redis.call('FLUSHDB')
for i = 1, #ARGV, 2 do redis.call('RESTORE', ARGV[i], 0, ARGV[i + 1]) end
return 1`
)

func (in *interrupted) make() {
	in.t.Helper()
	in.now = 1700000000
	for name, value := range map[string]string{"grace-period": "0", "jobs-history-count": "2", "max-job-history": "3"} {
		in.do(Qless, "config.set", name, value)
	}
	in.do(Reqless, "throttle.set", "t", 1)
	for _, old := range []string{"old1", "old2"} { // completed, to be pruned
		in.put("q9", old, "tags", `["x"]`)
		in.do(Qless, "pop", "q9", "x", 1)
		in.do(Qless, "complete", old, "x", "q9", "{}")
	}
	in.put("q11", "late", "retries", 3) // to be tried again
	in.do(Qless, "pop", "q11", "x", 1)
	in.do(Qless, "retry", "late", "q11", "x", 600)
	for _, jid := range []string{"dead1", "dead2"} { // whose worker is gone
		retries := map[string]int{"dead1": 3, "dead2": 0}[jid]
		in.put("q1", jid, "retries", retries)
		in.do(Qless, "pop", "q1", "gone", 1)
	}
	in.now += 100
	running := strings.Fields("a b c d e f g h i j k l m n o")
	for i, jid := range running {
		queue := "q" + strconv.Itoa(1+i%3)
		if jid == "l" {
			in.do(Reqless, "queue.put", "", "q4", jid, "K", "{}", 0, "throttles", `["t"]`)
			queue = "q4"
		} else {
			in.put(queue, jid, "retries", map[bool]int{true: 0, false: 5}[jid == "h"], "priority", 1)
		}
		in.take("w", queue)
	}
	in.do(Qless, "track", "track", "a")
	in.do(Reqless, "queue.put", "", "q4", "l.waits", "K", "{}", 0, "throttles", `["t"]`)
	in.do(Qless, "pop", "q4", "x", 1)
	in.put("q5", "f.waits", "depends", `["f"]`)
	in.do(Qless, "put", "", "q5", "f.later", "K", "{}", 50, "depends", `["f"]`)
	in.put("q5", "open")
	for _, queue := range []string{"q1", "q2", "q3"} {
		in.put(queue, queue+"-ready1")
		in.put(queue, queue+"-ready2")
		in.do(Qless, "put", "", queue, queue+"-due", "K", "{}", 5)
	}
	in.do(Reqless, "queue.put", "", "q6", "throttled1", "K", "{}", 0, "throttles", `["u"]`)
	in.do(Reqless, "queue.put", "", "q6", "throttled2", "K", "{}", 0, "throttles", `["u"]`)
	in.do(Reqless, "throttle.set", "u", 1)
	in.do(Qless, "recur", "q2", "recurring", "K", "{}", "interval", 7, 0, "tags", `["y"]`)
	in.put("q7", "failed")
	in.do(Qless, "pop", "q7", "x", 1)
	in.do(Qless, "fail", "failed", "x", "group", "message")
	in.put("q7", "foreign")
	in.do(Qless, "pop", "q7", "x", 1)
	in.put("q8", "movable")
	in.do(Qless, "put", "", "q9", "parked", "K", "{}", 500)
	in.c.redis.HSet(in.ctx, "ql:j:parked", "oarlock-queue", "q9", "oarlock-correlation", "of parked", "oarlock-park", "1700000600",
		"oarlock-life", in.c.redis.HGet(in.ctx, "ql:j:parked", "time").Val())
	in.c.redis.HSet(in.ctx, "ql:j:open", "oarlock-correlation", "of open")
	in.c.redis.HSet(in.ctx, "ql:oarlock:correlations:K", "of parked", "jparked", "of open", "jopen", "of old1", "jold1")
	in.c.redis.RPush(in.ctx, "ql:oarlock:responses", "K\nof parked\n1", "K\nof nobody\n1", "no answer")
	in.makeKeys()
	in.now += 10
}

// makeKeys makes jobs in order: some behind, one delayed, and one that failed and keeps the turn.
func (in *interrupted) makeKeys() {
	in.c.redis.HSet(in.ctx, "ql:oarlock:rules", "o:q10", "order=key after_fail=hold", "q:q11", `{"shape":"1"}`)
	var puts []Put
	for i, key := range strings.Fields("held held k k k k") {
		puts = append(puts, Put{Queue: "q10", JID: fmt.Sprint("in-order", i), Klass: "K", Key: key})
	}
	first := 1.0
	puts[0].Priority = &first
	puts = append(puts, Put{Queue: "q10", JID: "shelved", Klass: "K", Key: "k", Delay: time.Minute})
	in.do(Batch, "put", appendPuts([]any{""}, puts)...)
	in.do(Qless, "pop", "q10", "x", 1)
	in.do(Qless, "fail", "in-order0", "x", "group", "message")
	in.do(Qless, "put", "", "q5", "on-in-order3", "K", "{}", 0, "depends", `["in-order3"]`)
}

// take takes one job of a queue for a worker.
func (in *interrupted) take(worker, queue string) {
	in.t.Helper()
	args := exchangeArgs(worker, nil, nil, Take{Queues: []string{queue}, Count: 1, Spare: true})
	reply, err := readExchange(in.do(Batch, "exchange", args...), in.now, nil, []string{queue})
	stop(in.t, err != nil || len(reply.Jobs) != 1, "took %+v of %s: %v", reply, queue, err)
}

// popped is the mark of a running job.
func (in *interrupted) popped(jid string) float64 {
	f, _ := strconv.ParseFloat(in.c.redis.HGet(in.ctx, "ql:j:"+jid, "time").Val(), 64)
	return f
}

// endings are all the ways to settle, one for each job of w.
func endings() []Settlement {
	return []Settlement{
		{JID: "a", Action: Complete},
		{JID: "b", Action: Complete, Data: []byte(`{"b":1}`), Record: []byte(`{}`)},
		{JID: "c", Action: Complete, Next: "q5"},
		{JID: "d", Action: Complete, Next: "q5", Delay: time.Minute},
		{JID: "e", Action: Complete, Next: "q5", Depends: []string{"open"}},
		{JID: "f", Action: Complete},
		{JID: "g", Action: Retry, Delay: time.Minute, Group: "g", Message: "m"},
		{JID: "h", Action: Retry},
		{JID: "i", Action: Fail, Group: "group", Message: "m", Checkpoint: []byte("{}")},
		{JID: "j", Action: Release, Counter: CountInterruption, Front: true},
		{JID: "k", Action: Release, Counter: CountCrash, MaxCrashes: 0, Group: "crashed"},
		{JID: "l", Action: Complete, Puts: []Put{
			{Queue: "q5", JID: "new", Klass: "K", Timeout: time.Minute},
			{Queue: "q5", JID: "new-tagged", Klass: "K", Tags: []string{"z"}, Delay: time.Minute},
			{Queue: "q5", JID: "movable", Klass: "K"},
		}},
		{JID: "m", Action: Park, Correlation: "of m", Delay: time.Minute, Checkpoint: []byte("{}")},
		{JID: "n", Action: Cancel},
		{JID: "o", Action: Requeue, Next: "q5", Checkpoint: []byte("{}")},
	}
}

// settlements are endings of the jobs as they run.
func (in *interrupted) settlements() []Settlement {
	list := endings()
	for i := range list {
		s := &list[i]
		s.Queue = in.c.redis.HGet(in.ctx, "ql:j:"+s.JID, "queue").Val()
		s.Popped = in.popped(s.JID)
	}
	return list
}

// everything is a call that does all that batch commands do to queues.
func (in *interrupted) exchange(order Order, settle bool) (args []any, read func(any) (Reply, error)) {
	var sent []*Settlement
	var puts [][]Put
	var results []SettleResult
	if settle {
		sent, puts, results = checkSettlements(in.settlements())
	}
	take := Take{Queues: []string{"q1", "q2", "q3", "q6"}, Order: order, Count: 50}
	return exchangeArgs("w", sent, puts, take), func(raw any) (Reply, error) { return readExchange(raw, in.now, slices.Clone(results), take.Queues) }
}

// seats are the places in which each job is; jobs are their hashes. They are read once after a command that broke.
func (in *interrupted) seats() (seats map[string][]string, jobs map[string]map[string]string) {
	in.t.Helper()
	if in.seen == nil {
		in.seen = in.look()
	}
	return in.seen.Seats, in.seen.Jobs
}

// places is what stands where.
type places struct {
	Seats map[string][]string
	Jobs  map[string]map[string]string
}

func (in *interrupted) look() *places {
	in.t.Helper()
	text := must(in.c.redis.Eval(in.ctx, seatsScript, nil).Text())(in.t)
	found := new(places)
	if err := json.Unmarshal([]byte(text), found); err != nil {
		in.t.Fatalf("%v in %s", err, text)
	}
	return found
}

const seatsScript = `
local seats, jobs = {}, {}
for _, key in ipairs(redis.call('KEYS', 'ql:*')) do
  local kind, jid, jids = redis.call('TYPE', key).ok, string.match(key, '^ql:j:(.*)$'), {}
  if kind == 'hash' and jid then
    local flat, job = redis.call('HGETALL', key), {}
    for i = 1, #flat, 2 do job[flat[i]] = flat[i + 1] end
    jobs[jid] = job
  elseif string.find(key, '^ql:q:') and not string.find(key, '%-recur$') or string.find(key, '^ql:w:')
    or key == 'ql:completed' or string.find(key, '^ql:th:.*%-pending$') then
    jids = redis.call('ZRANGE', key, 0, -1)
  elseif string.find(key, '^ql:f:') then
    jids = redis.call('LRANGE', key, 0, -1)
  end
  for _, name in ipairs(jids) do
    seats[name] = seats[name] or {}
    table.insert(seats[name], key)
  end
end
return cjson.encode({ Seats = seats, Jobs = jobs })`

// contradictions are the jobs that are not where their state says, and nowhere else.
func (in *interrupted) contradictions(hit string) (wrong []string) {
	in.t.Helper()
	seats, jobs := in.seats()
	for jid := range seats {
		if jobs[jid] == nil && hit != "ZREM ql:completed" { // pruned; the next call goes on with it
			wrong = append(wrong, fmt.Sprintf("%s is in %v and is no job", jid, seats[jid]))
		}
	}
	for jid, job := range jobs {
		prefix := "ql:q:" + job["queue"]
		var failure Failure
		json.Unmarshal([]byte(job["failure"]), &failure)
		allowed := map[string][]string{
			"waiting": {prefix + "-work", prefix + "-scheduled"}, "stalled": {prefix + "-work"}, "running": {prefix + "-locks"},
			"scheduled": {prefix + "-scheduled"}, "depends": {prefix + "-depends"}, "throttled": {prefix + "-throttled", prefix + "-work"},
			"complete": {"ql:completed"}, "failed": {"ql:f:" + failure.Group},
		}[job["state"]]
		var places, held, pending []string
		for _, key := range seats[jid] {
			switch {
			case strings.HasPrefix(key, "ql:w:"):
				held = append(held, key)
			case strings.HasPrefix(key, "ql:th:"):
				pending = append(pending, key)
			default:
				places = append(places, key)
			}
		}
		if job["state"] == "waiting" && strings.HasPrefix(job["oarlock-lane"], "-") { // behind others of its key
			if len(places) > 0 {
				wrong = append(wrong, fmt.Sprintf("%s stands behind others, and in %v", jid, places))
			}
			continue
		}
		if len(places) != 1 || !slices.Contains(allowed, places[0]) {
			wrong = append(wrong, fmt.Sprintf("%s is %s in %s and stands in %v", jid, job["state"], job["queue"], places))
		}
		if len(places) == 1 && strings.HasSuffix(places[0], "-throttled") && len(pending) == 0 {
			wrong = append(wrong, jid+" is throttled and waits for nothing")
		}
		expires, _ := strconv.ParseFloat(job["expires"], 64)
		switch {
		case job["state"] != "running" && job["state"] != "stalled" && len(held) > 0: // timeout leaves a job in the set
			wrong = append(wrong, fmt.Sprintf("%s is %s and held in %v", jid, job["state"], held))
		case job["state"] == "running" && expires > in.now && !slices.Equal(held, []string{"ql:w:" + job["worker"] + ":jobs"}):
			wrong = append(wrong, fmt.Sprintf("%s runs on %s and is held in %v", jid, job["worker"], held))
		}
	}
	return wrong
}

// concerns tells whether a job could be hit by a fault at a command of this key: its own, that
// of its queue, or one that all have in common.
func concerns(hit, jid string, queues ...string) bool {
	_, key, _ := strings.Cut(hit, " ")
	if rest, ok := strings.CutPrefix(key, "ql:j:"); ok {
		rest = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(rest, "-history"), "-dependencies"), "-dependents")
		return family(rest) == family(jid)
	}
	if rest, ok := strings.CutPrefix(key, "ql:q:"); ok {
		queue, _, _ := strings.Cut(rest, "-")
		return slices.Contains(queues, queue)
	}
	return true
}

// family is the name that jobs have in common of which one may be held up by what happens
// to another: it is put by it, waits for it, or for the same throttle.
func family(jid string) string {
	jid, _, _ = strings.Cut(jid, ".")
	for _, related := range []string{"recurring", "throttled"} {
		if strings.HasPrefix(jid, related) {
			return related
		}
	}
	switch jid {
	case "new", "new-tagged", "movable":
		return "l"
	case "e", "new3":
		return "open"
	}
	return jid
}

// compare reports jobs that a fault changed and that it does not concern.
func (in *interrupted) compare(hit string, before, whole map[string]map[string]string) {
	in.t.Helper()
	_, after := in.seats()
	for jid, want := range whole {
		got := after[jid]
		if !concerns(hit, jid, before[jid]["queue"], want["queue"], got["queue"]) &&
			(got["state"] != want["state"] || got["queue"] != want["queue"]) {
			in.t.Errorf("fault at %s: %s is %s in %s, would be %s in %s", hit, jid, got["state"], got["queue"], want["state"], want["queue"])
		}
	}
	for jid := range before {
		never(in.t, after[jid] == nil && whole[jid] != nil, "fault at %s: %s is gone", hit, jid)
	}
}

// afterFault is the command that is to raise after the nth: the next, and one of the next few in the gate, where a scene has many.
func afterFault(nth int) int {
	if testing.Short() {
		return nth + 7
	}
	return nth + 1
}

// eachFault runs a command with a fault at its first command, at its second and so on, each
// time upon the scene. check looks at a reply.
func (in *interrupted) eachFault(command string, args func() []any, check func(hit string, reply any)) {
	in.t.Helper()
	in.scene()
	_, before := in.seats()
	untouched, words := dump(in.ctx, in.c.redis), args()
	in.do(Batch, command, words...)
	if wrong := in.contradictions(""); len(wrong) > 0 {
		in.t.Fatalf("without a fault: %q", wrong)
	}
	_, whole := in.seats()
	for nth := 1; ; nth = afterFault(nth) {
		in.scene()
		reply, hit, err := in.cut(nth, command, words)
		if hit == "" {
			in.t.Logf("%s: %d commands", command, nth-1)
			return
		}
		if err != nil {
			if now := dump(in.ctx, in.c.redis); !maps.Equal(untouched, now) {
				in.t.Errorf("%d, fault at %s: the call is an error, and has changed something: %v", nth, hit, err)
			}
			continue
		}
		if wrong := in.contradictions(hit); len(wrong) > 0 {
			in.t.Errorf("%d, fault at %s: %q", nth, hit, wrong)
		}
		in.compare(hit, before, whole)
		if check != nil {
			check(fmt.Sprintf("%d, fault at %s", nth, hit), reply)
		}
	}
}

// TestExchangeBreaksAtAnyCommand also sends the same to the script for ruled queues, where none is ruled.
func TestExchangeBreaksAtAnyCommand(t *testing.T) {
	in := newInterrupted(t)
	for _, tt := range []struct {
		name   string
		order  Order
		settle bool
	}{{"all at once", Ordered, true}, {"ordered", Ordered, false}, {"round-robin", RoundRobin, false}, {"oldest", Oldest, false}} {
		for _, command := range []string{"exchange", "ruled"} {
			t.Run(tt.name+" by "+command, func(t *testing.T) {
				in.t, in.ctx = t, t.Context()
				var read func(any) (Reply, error)
				args := func() (args []any) {
					args, read = in.exchange(tt.order, tt.settle)
					return args
				}
				in.eachFault(command, args, func(hit string, raw any) {
					reply, err := read(raw)
					stop(t, err != nil, "%s: %v", hit, err)
					in.truthful(hit, reply, tt.settle)
				})
			})
		}
	}
}

// truthful compares what a reply says with what Redis has.
func (in *interrupted) truthful(hit string, reply Reply, settled bool) {
	in.t.Helper()
	_, jobs := in.seats()
	told := map[string]bool{}
	for _, job := range reply.Jobs {
		told[job.JID] = true
		if jobs[job.JID]["state"] != "running" || jobs[job.JID]["worker"] != "w" {
			in.t.Errorf("%s: %s was handed out and is %s", hit, job.JID, jobs[job.JID]["state"])
		}
	}
	if settled {
		for i, s := range endings() {
			r := reply.Results[i]
			told[s.JID] = told[s.JID] || r.Err != nil
			state := jobs[s.JID]["state"]
			switch {
			case r.Err != nil && (state != "running" || jobs[s.JID]["worker"] != "w"):
				in.t.Errorf("%s: %s was refused (%v) and is %s", hit, s.JID, r.Err, state)
			case r.Err == nil && !told[s.JID] && state == "running":
				in.t.Errorf("%s: %s is settled as %s and runs", hit, s.JID, r.State)
			}
		}
	} else {
		for _, jid := range strings.Fields("a b c d e f g h i j k l m n o") {
			told[jid] = true
		}
	}
	for jid, job := range jobs {
		never(in.t, job["state"] == "running" && job["worker"] == "w" && !told[jid], "%s: %s runs, and nobody was told", hit, jid)
	}
}

func TestOtherBatchCommandsBreakAtAnyCommand(t *testing.T) {
	in := newInterrupted(t)
	puts := []Put{
		{Queue: "q5", JID: "new1", Klass: "K", Timeout: time.Minute},
		{Queue: "q5", JID: "new2", Klass: "K", Tags: []string{"z"}, Delay: time.Minute},
		{Queue: "q5", JID: "new3", Klass: "K", Depends: []string{"open"}, Throttles: []string{"t"}},
		{Queue: "q5", JID: "movable", Klass: "K"}, {Queue: "q5", JID: "failed", Klass: "K"},
		{Queue: "q5", JID: "foreign", Klass: "K"}, {Queue: "q5", JID: "old1", Klass: "K"},
		{Queue: "q5", JID: "f.waits", Klass: "K", Delay: time.Minute}, {Queue: "q5", JID: "new4", Klass: "K", Correlation: "of new4"},
		{Queue: "q5", JID: "keyed1", Klass: "K", Key: "k"}, {Queue: "q5", JID: "keyed2", Klass: "K", Key: "k"},
		{Queue: "q5", JID: "keyed3", Klass: "K", Key: "k", Delay: time.Minute},
		{Queue: "q11", JID: "free", Klass: "K", Wants: Wants{Bypass: true, Windows: []string{"22:00-06:00"}}},
	}
	tests := map[string]func() []any{
		"put": func() []any { return appendPuts([]any{""}, puts) },
		"renew": func() []any {
			var items []RenewItem
			for _, s := range in.settlements() {
				items = append(items, RenewItem{JID: s.JID, Queue: s.Queue, Popped: s.Popped, Checkpoint: s.Checkpoint})
			}
			return renewArgs("w", items)
		},
		"sweep":    func() []any { return []any{50, "q1", "q2", "q7"} },
		"held":     func() []any { return []any{"w", 0, "q1", "q2", "q3"} },
		"outlook":  func() []any { return []any{"q1", "q2", "q3"} },
		"counts":   func() []any { return []any{"q1", "q2", "q3"} },
		"census":   func() []any { return []any{"q1", "q2", "q3"} },
		"list":     func() []any { return []any{"running", "q1", "", 10, 160, 1 << 16, "", ""} },
		"glance":   func() []any { return []any{160, 1 << 16, 10, "a", "failed", "none"} },
		"groups":   func() []any { return []any{"", 10, 160} },
		"waitsfor": func() []any { return []any{"a"} },
		"fairness": func() []any { return []any{1000, "q1", "q2"} },
		"turn":     func() []any { return []any{"keyed2"} },
		"days":     func() []any { return []any{"q1", 0, 3} },
		"tend":     func() []any { return []any{0, 1, "q2", "q1", "q10"} },
		"order":    func() []any { return []any{"web1:/c.toml", 0, "all", "q1", "order=key", "q10", "order=key turns=fair"} },
		"key.pass": func() []any { return []any{"q10", "held"} },
		"key.drop": func() []any { return []any{"q10", "k", 0} },
		"key.free": func() []any { return []any{"q10", "0"} },
		"wish": func() []any {
			words, _ := wishArgs("w", []Wish{
				{JID: "a", Popped: in.popped("a"), Verb: "tag", Tags: []string{"t1", "t2"}},
				{JID: "a", Popped: in.popped("a"), Verb: "untrack"},
				{JID: "b", Popped: in.popped("b"), Target: "open", Verb: "priority", Priority: 3},
				{JID: "b", Popped: in.popped("b"), Verb: "note", Message: "m", Data: []byte("{}")},
				{JID: "c", Popped: in.popped("c"), Target: "q1-ready1", Verb: "cancel"},
				{JID: "l", Popped: in.popped("l"), Target: "movable", Verb: "requeue", Queue: "q5"},
			})
			return words
		},
		"respond": func() []any {
			return []any{"K", "of parked", "", "data", "1", "", "K", "of open", "", "error", "no", "", "K", "of old1", "", "data", "1", "",
				"K", "of nobody", "", "data", "1", "fail"}
		},
		"respond.inbox": func() []any { return []any{10} },
		"learn":         func() []any { return []any{"UTC|00:00-24:00", "o 2000000000"} },
		"install": func() []any {
			version, _ := in.c.redis.HGet(in.ctx, "ql:oarlock:rules", "version").Result()
			return []any{version, "{}", `{"klass":{"K":{"retries":"1"}}}`, 1, "q1", `{"shape":"1"}`, 3, 1, "t", `{"patience":60}`, 2, 1, "a", 1, 1, "q9", 1, "UTC|00:00-24:00", "o 2000000000", 1, "night", `{"spec":"UTC|22:00-06:00"}`, 3600, "", 1000}
		},
		"resolve":      func() []any { return []any{"w", "a", "", "b", ""} },
		"stats.turn":   func() []any { return []any{10} },
		"stats.expire": func() []any { return []any{0, "wait:1:q"} },
		"clear":        func() []any { return []any{"q8", "work", "q5", wire.Number(in.now), "top", 0} },
		"amend": func() []any {
			var args []any
			amend := func(jid, action string, options ...any) {
				f := in.c.redis.HMGet(in.ctx, "ql:j:"+jid, "state", "time").Val()
				args = append(append(args, jid, f[0], f[1], action, len(options)/2), options...)
			}
			amend("failed", "retry")
			amend("movable", "move", "queue", "q5")
			amend("foreign", "timeout")
			amend("open", "priority", "priority", 3)
			amend("q1-ready1", "cancel")
			amend("late", "kill")
			return args
		},
	}
	for _, command := range Commands(Batch) {
		if command == "exchange" || command == "ruled" || strings.HasPrefix(command, "cron.") || strings.HasPrefix(command, "list.") ||
			strings.HasPrefix(command, "decider.") { // what these leave where they break, the next question finds: jobs that wait
			continue
		}
		t.Run(command, func(t *testing.T) {
			in.t, in.ctx = t, t.Context()
			args := tests[command]
			stop(t, args == nil, "a command without a case")
			in.eachFault(command, args, nil)
		})
	}
}

// TestCronCommandsBreakAtAnyCommand: whatever such a command has left where it broke, the same
// call once more does the whole.
func TestCronCommandsBreakAtAnyCommand(t *testing.T) {
	in := newInterrupted(t)
	define := func(name string, holder ...any) {
		cron := Cron{CronWork: CronWork{Queue: "q6", Klass: "K"}, Schedule: "@hourly"}
		in.do(Batch, "cron.put", append(append([]any{name, ""}, holder...), append([]any{"print", "1699999990"}, cron.fields()...)...)...)
	}
	scene := func() {
		in.c.redis.FlushDB(in.ctx)
		define("hand", "", "")
		define("file", "f", "a")
	}
	tests := map[string][]any{
		"cron.agree": {"f", "b", 60, "file", "print", "hand", "print", "none", "print"},
		"cron.put":   append([]any{"file", "1", "f", "b", "other", "1700000060"}, new(Cron).fields()...),
		"cron.leave": {"f", "a", 60, "file", "hand", "none"},
		"cron.due":   {25},
		"cron.run": {"hand", "1", "1699999990", "1700000050", 2, 2, "1699999990", "hand@1", "1699999995", "hand@2",
			"file", "1", "1699999990", "1700000050", 0, 1, "1699999990", "file@1"},
		"cron.end":   {"hand", 60},
		"cron.pause": {"hand", "1", ""},
	}
	for _, command := range Commands(Batch) {
		if !strings.HasPrefix(command, "cron.") {
			continue
		}
		t.Run(command, func(t *testing.T) {
			in.t, in.ctx = t, t.Context()
			stop(t, tests[command] == nil, "a command without a case")
			scene()
			in.do(Batch, command, tests[command]...)
			whole, waiting := dump(in.ctx, in.c.redis), in.c.redis.ZCard(in.ctx, "ql:q:q6-work").Val()
			for nth := 1; ; nth++ {
				scene()
				_, hit, _ := in.cut(nth, command, tests[command])
				if hit == "" {
					t.Logf("%d commands", nth-1)
					return
				}
				in.do(Batch, command, tests[command]...)
				now := dump(in.ctx, in.c.redis)
				for key := range whole {
					// One that could not be read is looked at in a minute; of jobs the history may be lacking,
					// and they may come a microsecond later.
					if command == "cron.due" && key == "ql:oarlock:crons" || strings.HasSuffix(key, "-history") || key == "ql:queues" {
						continue
					}
					if _, there := now[key]; !there || strings.HasPrefix(key, "ql:oarlock:") && now[key] != whole[key] {
						t.Errorf("%d, fault at %s: %s is otherwise", nth, hit, key)
					}
				}
				if n := in.c.redis.ZCard(in.ctx, "ql:q:q6-work").Val(); n != waiting {
					t.Errorf("%d, fault at %s: %d jobs wait, want %d", nth, hit, n, waiting)
				}
			}
		})
	}
}

// TestListCommandsBreakAtAnyCommand: wherever such a command breaks, each entry that was not acknowledged is
// somewhere: in the list, in work, failed, broken, or a job.
func TestListCommandsBreakAtAnyCommand(t *testing.T) {
	in := newInterrupted(t)
	k := in.c.listKeys("l")
	held := stampOf(in.now, tagOf("w"))
	scene := func() {
		in.c.redis.FlushDB(in.ctx)
		for _, entry := range strings.Fields("ack back front fail broken later twice") {
			in.c.redis.HSet(in.ctx, k.progress, entry, held)
			in.c.redis.HSet(in.ctx, k.tries, entry, `{"retries":1}`)
		}
		in.c.redis.RPush(in.ctx, k.jobs, "next3", "twice", "next2", "next1")
	}
	settle := []any{k.jobs, k.progress, k.failed, k.reasons, k.broken, k.tries, tagOf("w"), held, 10, 5}
	for _, action := range strings.Fields("ack back front fail broken later") {
		settle = append(settle, action, action, `{"retries":2}`, held)
	}
	intake := append([]any{"", k.jobs, k.broken, "q", 10, 3, "next1", "", "next2", "why", "twice", ""},
		appendPuts(nil, []Put{{Queue: "q", JID: "next1", Klass: "K", IfExists: Never}, {Queue: "q", JID: "twice", Klass: "K", IfExists: Never}})...)
	tests := map[string][]any{
		"list.exchange": settle,
		"list.renew":    {k.progress, k.tries, tagOf("w"), held, "back", `{"retries":2}`, "front", ""},
		"list.monitor":  {k.jobs, k.progress, "back", held, "back", "front", held, "front", "later", held, held, "ack", held, "drop", "twice", held, "one"},
		"list.intake":   intake,
	}
	for _, command := range Commands(Batch) {
		if !strings.HasPrefix(command, "list.") {
			continue
		}
		t.Run(command, func(t *testing.T) {
			in.t, in.ctx = t, t.Context()
			stop(t, tests[command] == nil, "a command without a case")
			for nth := 1; ; nth++ {
				scene()
				_, hit, err := in.cut(nth, command, tests[command])
				if hit == "" {
					ok(t, err)
					t.Logf("%d commands", nth-1)
					return
				}
				there := map[string]int{}
				for _, key := range []string{k.jobs, k.failed} {
					for _, entry := range in.c.redis.LRange(in.ctx, key, 0, -1).Val() {
						there[entry]++
					}
				}
				for _, entry := range append(in.c.redis.HKeys(in.ctx, k.progress).Val(), in.c.redis.HKeys(in.ctx, k.broken).Val()...) {
					there[entry]++
				}
				for _, entry := range in.c.redis.ZRange(in.ctx, "ql:q:q-work", 0, -1).Val() {
					there[entry]++
				}
				for _, entry := range strings.Fields("back front fail broken later twice next1 next2 next3") {
					never(t, there[entry] == 0, "%d, fault at %s: %s is nowhere", nth, hit, entry)
				}
			}
		})
	}
}

// TestAJobThatCouldNotEndKeepsItsTurn breaks a call that completes a job with a key, and takes: as long as the job runs nobody else of its key may.
func TestAJobThatCouldNotEndKeepsItsTurn(t *testing.T) {
	in := newInterrupted(t)
	refused := 0
	for nth := 1; ; nth++ {
		in.c.redis.FlushDB(in.ctx)
		in.shas = map[string]string{}
		in.do(Batch, "put", appendPuts([]any{""}, []Put{{Queue: "q", JID: "a", Klass: "K", Key: "k"}, {Queue: "q", JID: "b", Klass: "K", Key: "k"}})...)
		in.take("w", "q")
		sent, puts, results := checkSettlements([]Settlement{{JID: "a", Queue: "q", Popped: in.popped("a"), Action: Complete}})
		raw, hit, err := in.cut(nth, "exchange", exchangeArgs("w", sent, puts, Take{Queues: []string{"q"}, Count: 2}))
		if hit == "" {
			break
		}
		state := in.c.redis.HGet(in.ctx, "ql:j:a", "state").Val()
		if next := in.c.redis.HGet(in.ctx, "ql:j:b", "state").Val(); state == "running" && (next != "waiting" || in.c.redis.ZCard(in.ctx, "ql:q:q-work").Val() > 0 ||
			in.c.redis.HGet(in.ctx, "ql:oarlock:turns:q", "k").Val() != "=a") {
			t.Errorf("%d, fault at %s: a runs, and b is %s, in work %q", nth, hit, next, in.c.redis.ZRange(in.ctx, "ql:q:q-work", 0, -1).Val())
		}
		if err != nil {
			continue
		}
		reply := must(readExchange(raw, in.now, results, []string{"q"}))(t)
		if reply.Results[0].Err != nil {
			refused++
		}
		for range 3 { // a look mends what is not passed
			in.do(Batch, "tend", "0", "0", "q")
		}
		if over := in.c.redis.HGet(in.ctx, "ql:j:b", "state").Val() == "running" || in.c.redis.ZCard(in.ctx, "ql:q:q-work").Val() > 0; over != (state == "complete") {
			t.Errorf("%d, fault at %s: a is %s, and b may begin: %v", nth, hit, state, over)
		}
	}
	never(t, refused == 0, "no fault has kept the job from its end")
}

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
		reply := must(readExchange(raw, w.now, slices.Clone(results), queues))(t)
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
		never(w.t, !slices.Contains(told, jid), "%s: %s runs, and nobody was told", hit, jid)
		for _, tid := range throttlesOf(f[2]) {
			never(w.t, w.redis.ZScore(ctx, "ql:th:"+tid+"-locks", jid).Err() != nil, "%s: %s runs without %s", hit, jid, tid)
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
		never(w.t, r.Err == nil, "the settlement %d counts twice: %+v", i, r)
	}
	raw, _ := w.call("held", "w", 0, "q", "q2", "n", "plain").([]any)
	held := must(readAllTaken(raw[0].([]any)))(w.t)
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
			reply := must(readExchange(w.call("ruled", exchangeArgs("w", nil, nil, Take{Queues: queues, Count: 20})...), w.now, nil, queues))(w.t)
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
	never(w.t, len(keys) > 0, "%s: keys are left: %q", hit, keys)
}
