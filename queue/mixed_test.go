package queue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"oarlock/queue/internal/wire"
)

// newMixture empties the lab's keyspace, and makes two throttles in it.
func newMixture(t *testing.T, rt *rapid.T, l *lab) *mixture {
	l.redis.FlushDB(t.Context())
	m := &mixture{lab: l, t: rt, ctx: t, now: 1000}
	m.call("config.set", "grace-period", rapid.SampledFrom([]string{"10", "0"}).Draw(rt, "grace"))
	m.call("throttle.set", "t1", "1")
	m.call("throttle.set", "t2", "2")
	return m
}

// TestMixedDialects lets clients of both dialects work at random on one keyspace, by
// the unified script, and checks after every call that the keys agree with each
// other. At the end everything is cancelled or pruned, and no key may be left.
func TestMixedDialects(t *testing.T) {
	l := newLab(t, "shared", DefaultNamespace)
	checkAtRandom(t, func(rt *rapid.T) {
		m := newMixture(t, rt, l)
		for range rapid.IntRange(1, 60).Draw(rt, "calls") {
			m.step()
			m.check()
		}
		m.finish()
	})
}

// mixture is one random run.
type mixture struct {
	lab  *lab
	t    *rapid.T
	ctx  *testing.T
	now  int
	puts int
}

// call runs a command now. Refusals are part of the game.
func (m *mixture) call(words ...string) {
	argv := append([]string{words[0], strconv.Itoa(m.now)}, words[1:]...)
	_, err := callUnified(m.ctx.Context(), m.lab, Qless, step{Argv: argv})
	if err != nil && !strings.Contains(err.Error(), "(): ") {
		m.t.Fatalf("%q: %v", argv, err)
	}
}

func (m *mixture) pick(what string, from ...string) string {
	return rapid.SampledFrom(from).Draw(m.t, what)
}

func (m *mixture) jid() string {
	return "j" + strconv.Itoa(rapid.IntRange(1, max(1, m.puts)).Draw(m.t, "jid"))
}

// holder returns a job with the queue and worker it has, so that calls which name
// them are not all refused.
func (m *mixture) holder() (jid, queue, worker string) {
	jid = m.jid()
	f := m.lab.redis.HMGet(m.ctx.Context(), "ql:j:"+jid, "queue", "worker").Val()
	return jid, text(f[0]), text(f[1])
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func (m *mixture) step() {
	m.now += rapid.IntRange(0, 30).Draw(m.t, "seconds")
	queue := m.pick("queue", "q1", "q2")
	delay := m.pick("delay", "0", "0", "40")
	depends := "[]"
	if m.puts > 0 && rapid.IntRange(0, 2).Draw(m.t, "depends") == 0 {
		depends = `["` + m.jid() + `"]`
	}
	tags := m.pick("tags", "[]", `["x"]`, `["x","y"]`)
	worker := m.pick("worker", "w1", "w2")
	switch jid, in, by := m.holder(); m.pick("command", "put", "put", "put", "put", "put again", "pop", "pop", "pop",
		"complete", "complete", "advance", "fail", "retry", "timeout", "heartbeat", "cancel", "unfail",
		"recur", "unrecur", "tag", "priority", "queues", "track", "depends off") {
	case "put":
		m.puts++
		jid = "j" + strconv.Itoa(m.puts)
		if m.reqless() {
			throttles := m.pick("throttles", "[]", `["t1"]`, `["t2","t1"]`)
			m.call("queue.put", worker, queue, jid, "K", "{}", delay, "depends", depends, "tags", tags, "throttles", throttles)
		} else {
			m.call("put", worker, queue, jid, "K", "{}", delay, "depends", depends, "tags", tags, "retries", "1")
		}
	case "put again":
		// Not in reqless: there a job keeps the throttles it held before.
		if m.puts > 0 {
			m.call("put", worker, queue, jid, "K", "{}", delay, "tags", tags)
		}
	case "pop":
		m.either("pop", "queue.pop", queue, worker, "2")
	case "complete":
		m.either("complete", "job.complete", jid, by, in, "{}")
	case "advance":
		// With no delay: the state of a job that is delayed here says waiting.
		if m.reqless() {
			m.call("job.completeAndRequeue", jid, by, in, "{}", queue, "depends", depends)
		} else {
			m.call("complete", jid, by, in, "{}", "next", queue, "depends", depends)
		}
	case "fail":
		m.either("fail", "job.fail", jid, by, "group", "message")
	case "retry":
		m.either("retry", "job.retry", jid, in, by, delay)
	case "timeout":
		m.either("timeout", "job.timeout", jid)
	case "heartbeat":
		m.either("heartbeat", "job.heartbeat", jid, by)
	case "cancel":
		m.either("cancel", "job.cancel", jid)
	case "unfail":
		m.either("unfail", "queue.unfail", queue, "group", "2")
	case "recur":
		if m.reqless() {
			m.call("queue.recurAtInterval", queue, "r", "K", "{}", "20", "5", "throttles", `["t1"]`)
		} else {
			m.call("recur", queue, "r", "K", "{}", "interval", "20", "5", "tags", tags)
		}
	case "unrecur": // made again, it counts its children from one, who may still be there
		m.either("unrecur", "recurringJob.cancel", "r")
	case "tag":
		m.call("tag", "add", jid, "z")
	case "priority":
		m.either("priority", "job.setPriority", jid, "5")
	case "queues":
		m.either("queues", "queues.counts")
	case "track":
		m.call("track", "track", jid)
	case "depends off":
		m.call("depends", jid, "off", "all")
	}
}

func (m *mixture) reqless() bool { return rapid.Bool().Draw(m.t, "reqless") }

func (m *mixture) either(qless, reqless string, args ...string) {
	if m.reqless() {
		qless = reqless
	}
	m.call(append([]string{qless}, args...)...)
}

// contradictions is a script that replies with every way in which the keys disagree.
const contradictions = `
local wrong = {}
local function note(...) wrong[#wrong + 1] = table.concat({...}, ' ') end
local function keys(pattern) return redis.call('KEYS', pattern) end
local function has(set, jid) return redis.call('ZSCORE', set, jid) and 1 or 0 end

local jobs = {}
for _, key in ipairs(keys('ql:j:*')) do
  if redis.call('TYPE', key).ok == 'hash' then
    local jid = string.sub(key, 6)
    local f = redis.call('HMGET', key, 'jid', 'state', 'queue', 'throttles', 'failure', 'worker')
    if f[1] ~= jid then note(key, 'is incomplete') end
    jobs[jid] = { state = f[2], queue = f[3], throttles = f[4], failure = f[5], worker = f[6] }
  end
end

-- A job is in exactly one place, the one its state names.
local sets, groups = keys('ql:q:*'), keys('ql:f:*')
local place = { waiting = 'work', stalled = 'work', running = 'locks', scheduled = 'scheduled', depends = 'depends' }
for jid, job in pairs(jobs) do
  local places = {}
  for _, key in ipairs(sets) do
    if string.sub(key, -6) ~= '-recur' and has(key, jid) == 1 then places[#places + 1] = key end
  end
  if has('ql:completed', jid) == 1 then places[#places + 1] = 'ql:completed' end
  for _, key in ipairs(groups) do
    for _, member in ipairs(redis.call('LRANGE', key, 0, -1)) do
      if member == jid then places[#places + 1] = key end
    end
  end
  local want
  if job.state == 'complete' then want = 'ql:completed'
  elseif job.state == 'failed' then want = 'ql:f:' .. cjson.decode(job.failure).group
  elseif job.state == 'throttled' then
    want = 'ql:q:' .. job.queue .. (has('ql:q:' .. job.queue .. '-work', jid) == 1 and '-work' or '-throttled')
  else want = 'ql:q:' .. job.queue .. '-' .. place[job.state] end
  if #places ~= 1 or places[1] ~= want then
    note(jid, 'is', job.state, 'but in', table.concat(places, ','), 'not', want)
  end
end

-- Nothing names a job that is not there.
for _, key in ipairs(sets) do
  for _, jid in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    if not jobs[jid] and string.sub(key, -6) ~= '-recur' then note(key, 'names', jid) end
  end
end
for _, key in ipairs(keys('ql:t:*')) do
  for _, jid in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    if not jobs[jid] then note(key, 'names', jid) end
  end
end

-- Dependencies mirror each other.
for _, key in ipairs(keys('ql:j:*-dependencies')) do
  local jid = string.sub(key, 6, -14)
  for _, other in ipairs(redis.call('SMEMBERS', key)) do
    if redis.call('SISMEMBER', 'ql:j:' .. other .. '-dependents', jid) == 0 then note(jid, 'alone knows it waits for', other) end
    if not jobs[other] or jobs[other].state == 'complete' then note(jid, 'waits for ever for', other) end
  end
end
for _, key in ipairs(keys('ql:j:*-dependents')) do
  local jid = string.sub(key, 6, -12)
  for _, other in ipairs(redis.call('SMEMBERS', key)) do
    if redis.call('SISMEMBER', 'ql:j:' .. other .. '-dependencies', jid) == 0 then note(other, 'does not know it waits for', jid) end
  end
end

-- A throttle is held by running jobs and awaited by throttled ones, and not exceeded.
for _, key in ipairs(keys('ql:th:*-locks')) do
  local tid = string.sub(key, 7, -7)
  for _, jid in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    if not jobs[jid] or jobs[jid].state ~= 'running' then note(tid, 'is held by', jid) end
  end
  local maximum = tonumber(redis.call('HGET', 'ql:th:' .. tid, 'maximum') or 0)
  if maximum > 0 and redis.call('ZCARD', key) > maximum then note(tid, 'is held too often') end
end
for _, key in ipairs(keys('ql:th:*-pending')) do
  for _, jid in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    if not jobs[jid] or jobs[jid].state ~= 'throttled' then note(key, 'names', jid) end
  end
end
for _, key in ipairs(keys('ql:q:*-throttled')) do
  for _, jid in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    local pending = 0
    for _, tid in ipairs(cjson.decode(jobs[jid].throttles or '[]')) do
      pending = pending + has('ql:th:' .. tid .. '-pending', jid)
    end
    if pending == 0 then note(jid, 'is throttled by nothing') end
  end
end
return wrong`

func (m *mixture) check() {
	m.t.Helper()
	wrong, err := m.lab.eval(m.ctx.Context(), contradictions, nil, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	if list := wrong.([]any); len(list) > 0 {
		m.t.Fatalf("at %d: %v", m.now, list)
	}
}

// lasting are the keys that stay when all jobs are gone. Those of workers may name
// jobs that timed out under them.
var lasting = []string{"ql:queues", "ql:workers", "ql:config", "ql:tags", "ql:tracked", "ql:s:", "ql:w:"}

// finish ends every job, prunes, and looks for what is left over.
func (m *mixture) finish() {
	ctx := m.ctx.Context()
	m.call("unrecur", "r")
	var jids []string
	for _, key := range m.lab.redis.Keys(ctx, "ql:j:*").Val() {
		if m.lab.redis.Type(ctx, key).Val() == "hash" {
			jids = append(jids, strings.TrimPrefix(key, "ql:j:"))
		}
	}
	slices.Sort(jids)
	m.call(append([]string{"cancel"}, jids...)...)
	m.call("config.set", "jobs-history-count", "0")
	m.call("put", "w", "q1", "last", "K", "{}", "0")
	m.call("pop", "q1", "w", "1")
	m.call("complete", "last", "w", "q1", "{}")
	for _, tid := range []string{"t1", "t2"} {
		m.call("throttle.delete", tid)
	}
	for _, key := range m.lab.redis.Keys(ctx, "*").Val() {
		if !slices.ContainsFunc(lasting, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			m.t.Fatalf("left over: %s %s", key, fmt.Sprint(m.lab.keyspace(m.ctx)[key]))
		}
	}
}

// TestMixedBatches is TestMixedDialects with our batch commands at work on the same keys.
func TestMixedBatches(t *testing.T) {
	l := newLab(t, "shared", DefaultNamespace)
	checkAtRandom(t, func(rt *rapid.T) {
		m := newMixture(t, rt, l)
		m.call("queue.throttle.set", "q2", "2")
		for range rapid.IntRange(1, 60).Draw(rt, "calls") {
			if rapid.Bool().Draw(rt, "batch") {
				m.batchStep()
			} else {
				m.step()
			}
			m.check()
		}
		m.call("throttle.delete", "ql:q:q2")
		m.finish()
	})
}

// batch runs a batch command now.
func (m *mixture) batch(command string, args ...any) any {
	m.t.Helper()
	text := assembled(Batch, command, DefaultNamespace)
	reply, err := redis.NewScript(text).Run(m.ctx.Context(), m.lab.redis, nil, append([]any{m.now}, args...)...).Result()
	if err != nil && !isNull(err) {
		m.t.Fatalf("%s %v: %v", command, args, err)
	}
	return reply
}

func (m *mixture) batchStep() {
	m.now += rapid.IntRange(0, 30).Draw(m.t, "seconds")
	worker := m.pick("worker", "w1", "w2")
	switch m.pick("batch command", "put", "exchange", "exchange", "exchange", "renew", "sweep", "amend") {
	case "put":
		m.batch("put", appendPuts([]any{""}, m.somePuts())...)
	case "exchange":
		m.batchExchange(worker)
	case "renew":
		var items []RenewItem
		for _, job := range m.held(worker) {
			items = append(items, RenewItem{JID: job.JID, Queue: job.Queue, Popped: job.Popped})
		}
		m.batch("renew", renewArgs(worker, items)...)
	case "sweep":
		m.batch("sweep", 3, "q1", "q2")
	case "amend":
		m.amend()
	}
}

// amend changes a job as it is now.
func (m *mixture) amend() {
	jid := m.jid()
	seen := m.lab.redis.HMGet(m.ctx.Context(), "ql:j:"+jid, "state", "time").Val()
	if seen[0] == nil {
		return
	}
	a := Amendment{JID: jid, State: seen[0].(string), Mark: seen[1].(string), Queue: m.pick("to", "q1", "q2"),
		Change: Change(m.pick("change", "retry", "move", "cancel", "timeout", "priority")), Priority: 1,
		Delay: time.Duration(rapid.IntRange(0, 1).Draw(m.t, "delay")) * 20 * time.Second}
	in := wire.Read(m.batch("amend", a.append(nil)...))
	if _, err := readAmended(&in, jid); err != nil && Class(err) != Refused {
		m.t.Fatalf("%+v: %v", a, err)
	}
}

func (m *mixture) somePuts() []Put {
	puts := make([]Put, rapid.IntRange(1, 3).Draw(m.t, "puts"))
	for i := range puts {
		m.puts++
		puts[i] = Put{Queue: m.pick("queue", "q1", "q2"), JID: "j" + strconv.Itoa(m.puts), Klass: "K"}
		if rapid.Bool().Draw(m.t, "again") {
			puts[i].JID, puts[i].IfExists = m.jid(), IfExists(m.pick("if exists", "", "final", "never"))
		}
		switch m.pick("kind", "plain", "plain", "delayed", "throttled", "dependent", "tagged") {
		case "delayed":
			puts[i].Delay = 20 * time.Second
		case "throttled":
			puts[i].Throttles = []string{"t2", "t1"}[rapid.IntRange(0, 1).Draw(m.t, "first throttle"):]
		case "dependent":
			puts[i].Depends = []string{m.jid()}
		case "tagged":
			puts[i].Tags = []string{"x", "z"}
		}
	}
	return puts
}

// held are the jobs that Redis says a worker holds.
func (m *mixture) held(worker string) []Taken {
	in := wire.Read(m.batch("held", worker, 0, "q1", "q2"))
	jobs, err := readAllTaken(in.List())
	if err != nil {
		m.t.Fatal(err)
	}
	for i := range jobs {
		jobs[i].Popped = jobs[i].Put
	}
	return jobs
}

func (m *mixture) batchExchange(worker string) {
	var settlements []Settlement
	for _, job := range m.held(worker) {
		s := Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped,
			Action: Action(m.pick("action", "complete", "complete", "retry", "fail", "release", "")),
			Group:  "group", Message: "message"}
		switch s.Action {
		case "":
			continue // it runs on
		case Complete:
			s.Next = m.pick("next", "", "", "q1", "q2")
			if rapid.IntRange(0, 3).Draw(m.t, "puts?") == 0 {
				s.Puts = m.somePuts()
			}
		case Retry:
			s.Delay = time.Duration(rapid.IntRange(0, 1).Draw(m.t, "delay")) * 30 * time.Second
		case Release:
			s.Counter, s.MaxCrashes = Counter(m.pick("counter", "", "crash", "interruption", "release")), 1
			s.Front = rapid.Bool().Draw(m.t, "front")
		}
		settlements = append(settlements, s)
	}
	take := Take{Queues: []string{"q1", "q2"}, Count: rapid.IntRange(0, 4).Draw(m.t, "count"),
		Order: Order(m.pick("order", string(Ordered), string(RoundRobin), string(Oldest)))}
	sent, puts, results := checkSettlements(settlements)
	reply, err := readExchange(m.batch("exchange", exchangeArgs(worker, sent, puts, take)...), float64(m.now), results, take.Queues)
	if err != nil {
		m.t.Fatal(err)
	}
	for i, r := range reply.Results {
		if r.Err != nil {
			m.t.Fatalf("%+v: %v", settlements[i], r.Err)
		}
	}
	if len(reply.Jobs) > take.Count || len(reply.Broken) > 0 {
		m.t.Fatalf("asked for %d, took %+v", take.Count, reply)
	}
}
