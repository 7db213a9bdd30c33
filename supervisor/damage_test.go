package supervisor

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	driver "github.com/redis/go-redis/v9"

	"oarlock/queue"
	"oarlock/runner"
)

// acks is a child that acknowledges whatever it is given.
const acks = `import json, sys
for line in sys.stdin:
    print(json.dumps({"@": "ack", "run": json.loads(line)["run"]}), flush=True)`

// acking is a pool of such children for some queues.
func (w *world) acking(name string, queues ...string) Pool {
	p := w.pool(runner.Reuse, "", 1)
	p.Name, p.Queues, p.Child.Pool = name, queues, name
	p.Child.Command = []string{"python3", "-u", "-c", acks}
	p.Child.Env = os.Environ()
	return p
}

// putOne puts a job.
func (w *world) putOne(put queue.Put) {
	w.t.Helper()
	put.Klass = "K"
	must(w.t, errOf(w.client.Put(w.t.Context(), put)))
}

// state is that of a job; what cannot be read has none.
func (w *world) state(jid string) string {
	return w.client.Redis().HGet(w.t.Context(), "ql:j:"+jid, "state").Val()
}

// group is under which a job failed; "" if it did not.
func (w *world) group(jid string) string {
	m := regexp.MustCompile(`"group":"([^"]*)"`).FindStringSubmatch(w.client.Redis().HGet(w.t.Context(), "ql:j:"+jid, "failure").Val())
	if m == nil || w.state(jid) != "failed" {
		return ""
	}
	return m[1]
}

// calm fails the test if damage was taken for an outage.
func calm(t *testing.T, log *lockedBuffer) {
	t.Helper()
	for line := range strings.Lines(log.String()) {
		for _, alarm := range []string{"redis is away", "in doubt", "exchange refused"} {
			if strings.Contains(line, alarm) {
				t.Error("damage was taken for an outage: ", line)
			}
		}
	}
}

var jobFields = strings.Fields(`jid klass state queue worker priority expires retries remaining data tags failure
	spawned_from_jid time history throttles scheduled grace oarlock-queue oarlock-timeout oarlock-crashes
	oarlock-interruptions oarlock-spared oarlock-unstarted oarlock-unknown oarlock-deaths oarlock-checkpoint oarlock-record oarlock-failed`)

// junk is what a foreign client may have written into a field; gone deletes it.
var junk = []string{"gone", "", "high", "-5", "0.5", "inf", "nan", "1e300", "99999999999999999999999", "{}", "[1]", `{"a"`, "\xff\x00\n"}

// TestADamagedJobConcernsNobodyElse writes every kind of junk into every field of a job,
// and puts something else than a hash in its place: all jobs beside them are done, and each of them
// runs, or is failed and named.
func TestADamagedJobConcernsNobodyElse(t *testing.T) {
	w := newWorld(t)
	ctx, raw := t.Context(), w.client.Redis()
	var damaged, good []string
	add := func(name string, damage func(key string)) {
		damaged = append(damaged, name)
		w.putOne(queue.Put{Queue: "q", JID: name, Timeout: time.Hour, Tags: []string{"x"}})
		damage("ql:j:" + name)
		good = append(good, "good-"+name)
		w.putOne(queue.Put{Queue: "q", JID: "good-" + name})
	}
	for _, field := range jobFields {
		for i, value := range junk {
			add(fmt.Sprintf("%s-%d", field, i), func(key string) {
				if value == "gone" {
					raw.HDel(ctx, key, field)
				} else {
					raw.HSet(ctx, key, field, value)
				}
			})
		}
	}
	for _, kind := range redisTypes {
		add("history-key-"+kind, func(key string) { w.spoil(key+"-history", kind) })
		add("dependents-key-"+kind, func(key string) { w.spoil(key+"-dependents", kind) })
		add("dependencies-key-"+kind, func(key string) { w.spoil(key+"-dependencies", kind) })
		if kind != "hash" {
			add("key-"+kind, func(key string) { w.spoil(key, kind) })
		}
	}
	log := new(lockedBuffer)
	w.run(Config{Pools: []Pool{w.acking("p", "q")}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	for _, jid := range good {
		until(t, jid+" is done", func() bool { return w.state(jid) == "complete" })
	}
	for _, jid := range damaged {
		if strings.HasPrefix(jid, "key-") {
			until(t, jid+" is named", func() bool { return strings.Contains(log.String(), "jid="+jid+" ") })
			continue
		}
		until(t, jid+" is done with", func() bool { return w.state(jid) == "complete" || w.group(jid) != "" })
		if group := w.group(jid); group != "" && !strings.Contains(log.String(), "jid="+jid+" ") && group != "payload-not-json" {
			t.Errorf("%s failed as %s, and the log does not name it", jid, group)
		}
	}
	for _, field := range []string{"priority", "retries", "remaining", "oarlock-crashes", "oarlock-timeout"} {
		if jid := field + "-2"; w.group(jid) != "damaged" {
			t.Errorf("%s is %s, its group %q", jid, w.state(jid), w.group(jid))
		}
	}
	if n := raw.ZCard(ctx, "ql:q:q-work").Val() + raw.ZCard(ctx, "ql:q:q-locks").Val(); n > 0 {
		t.Errorf("%d entries are left in the queue", n)
	}
	calm(t, log)
}

// redisTypes are what a key can be.
var redisTypes = []string{"string", "list", "set", "hash", "zset", "stream"}

// spoil replaces a key by one of another type.
func (w *world) spoil(key, kind string) {
	w.t.Helper()
	ctx, raw := w.t.Context(), w.client.Redis()
	raw.Del(ctx, key)
	command := map[string][]any{
		"string": {"SET", key, "z"}, "list": {"RPUSH", key, "z"}, "set": {"SADD", key, "z"},
		"hash": {"HSET", key, "z", "z"}, "zset": {"ZADD", key, 1, "z"}, "stream": {"XADD", key, "*", "z", "z"},
	}[kind]
	must(w.t, raw.Do(ctx, command...).Err())
}

// TestADamagedQueueConcernsNoOther puts something of every type in the place of every key of a
// queue: the other queues of the pool are worked, the one that cannot be is named once.
func TestADamagedQueueConcernsNoOther(t *testing.T) {
	w := newWorld(t)
	midnight := int64(w.client.Now()) / 86400 * 86400
	keys := map[string]string{ // the name of a key, and its type
		"ql:q:%s-work": "zset", "ql:q:%s-locks": "zset", "ql:q:%s-scheduled": "zset", "ql:q:%s-recur": "zset",
		"ql:q:%s-depends": "zset", "ql:q:%s-throttled": "zset",
		"ql:s:wait:" + fmt.Sprint(midnight) + ":%s": "hash", "ql:s:run:" + fmt.Sprint(midnight) + ":%s": "hash",
		"ql:s:stats:" + fmt.Sprint(midnight) + ":%s": "hash",
	}
	// Without these a queue cannot be looked into.
	vital := regexp.MustCompile(`-(work|locks|scheduled|recur)$`)
	var pools []Pool
	var good, damaged []string
	for _, kind := range redisTypes {
		queues := []string{}
		for pattern, right := range keys {
			name := fmt.Sprintf("d%d-%s", len(queues), kind)
			queues = append(queues, name)
			w.putOne(queue.Put{Queue: name, JID: "job-" + name})
			if kind == right {
				continue
			}
			w.spoil(fmt.Sprintf(pattern, name), kind)
			if vital.MatchString(pattern) {
				damaged = append(damaged, name)
			} else {
				good = append(good, "job-"+name)
			}
		}
		healthy := "healthy-" + kind
		for i := range 5 {
			jid := fmt.Sprintf("%s-%d", healthy, i)
			w.putOne(queue.Put{Queue: healthy, JID: jid})
			good = append(good, jid)
		}
		pools = append(pools, w.acking(kind, append(queues, healthy)...))
	}
	log := new(lockedBuffer)
	s := w.run(Config{Pools: pools, PollInterval: 50 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(log, nil))})
	for _, jid := range good {
		until(t, jid+" is done", func() bool { return w.state(jid) == "complete" })
	}
	named := func(name string) int {
		return len(regexp.MustCompile(`msg="queue left out[^\n]*queue=`+name+` `).FindAllString(log.String(), -1))
	}
	for _, name := range damaged {
		until(t, name+" is named", func() bool { return named(name) > 0 })
	}
	// Some looks later each is named once still, and shown.
	looks := s.look.Answered()
	until(t, "more looks", func() bool { return s.look.Answered() > looks+300*time.Millisecond })
	shown := fmt.Sprint(s.Snapshot().Pools)
	for _, name := range damaged {
		same(t, named(name), 1, "%s is named %d times", name)
		if !strings.Contains(shown, name+": ql:q:"+name+"-") {
			t.Errorf("status does not show %s", name)
		}
	}
	if n := strings.Count(log.String(), "level=ERROR"); n > 3*len(damaged) {
		t.Errorf("%d errors in the log about %d queues", n, len(damaged))
	}
	calm(t, log)
}

// TestDamagedCommonKeysStopNobody puts something of every type in the place of every key that
// all queues share.
func TestDamagedCommonKeysStopNobody(t *testing.T) {
	w := newWorld(t)
	ctx, raw := t.Context(), w.client.Redis()
	log := new(lockedBuffer)
	w.putOne(queue.Put{Queue: "q", JID: "first"})
	w.run(Config{Pools: []Pool{w.acking("p", "q")}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	until(t, "the first job is done", func() bool { return w.state("first") == "complete" })
	worker := raw.ZRange(ctx, "ql:workers", 0, 0).Val()[0]
	n := 0
	for key, right := range map[string]string{
		"ql:config": "hash", "ql:workers": "zset", "ql:queues": "zset", "ql:completed": "zset", "ql:failures": "set",
		"ql:tracked": "zset", "ql:paused_queues": "set", "ql:w:" + worker + ":jobs": "zset",
	} {
		for _, kind := range redisTypes {
			if kind == right {
				continue
			}
			w.spoil(key, kind)
			for range 3 {
				n++
				jid := fmt.Sprint("j", n)
				w.putOne(queue.Put{Queue: "q", JID: jid})
				until(t, jid+" is done, with a "+kind+" for "+key, func() bool { return w.state(jid) == "complete" })
			}
			raw.Del(ctx, key)
		}
	}
	calm(t, log)
}

// TestDamageWhileAJobRuns writes junk into the fields of running jobs: what cannot be settled
// any more is given up by name, and nobody else waits for it.
func TestDamageWhileAJobRuns(t *testing.T) {
	w := newWorld(t)
	ctx, raw := t.Context(), w.client.Redis()
	log := new(lockedBuffer)
	w.put(8, fmt.Sprintf(`{"ledger": %q, "sleep": 1}`, w.ledger))
	w.run(Config{Pools: []Pool{w.pool(runner.Reuse, "loop.py", 8)}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	until(t, "all begin", func() bool { return w.begun() == 8 })
	for i, field := range []string{"priority", "retries", "remaining", "throttles", "tags", "oarlock-crashes", "failure"} {
		raw.HSet(ctx, fmt.Sprint("ql:j:j", i), field, "junk")
	}
	w.spoil("ql:j:j7-history", "string")
	w.await(8, "complete")
	same(t, w.begun(), 8, "%d runs of 8 jobs")
	calm(t, log)
}

// TestAnAbsurdDueTimeCostsNothing has a job due in three hundred years, and one even later: a
// pool without anything to do asks for nothing.
func TestAnAbsurdDueTimeCostsNothing(t *testing.T) {
	w := newWorld(t)
	ctx, raw := t.Context(), w.client.Redis()
	for name, due := range map[string]float64{"q": w.client.Now() + 1e10, "far": 1e300, "never": math.Inf(1)} {
		w.putOne(queue.Put{Queue: name, JID: "late-" + name, Delay: time.Hour})
		raw.ZAdd(ctx, "ql:q:"+name+"-scheduled", driver.Z{Score: due, Member: "late-" + name})
	}
	s := w.run(Config{Pools: []Pool{w.acking("p", "q", "far", "never")}, PollInterval: 10 * time.Millisecond})
	until(t, "a look", func() bool { return s.look.Answered() > 0 })
	asked := func() int { return int(s.Snapshot().Pools[0].Counters.Exchanges) }
	before, looks := asked(), s.look.Answered()
	until(t, "more looks", func() bool { return s.look.Answered() > looks+500*time.Millisecond })
	if n := asked() - before; n > 20 {
		t.Errorf("%d takes while nothing was due", n)
	}
}

// TestOddSettingsAreSaid sets heartbeat to what stops other clients: jobs are worked, and the
// log says what is used.
func TestOddSettingsAreSaid(t *testing.T) {
	w := newWorld(t)
	must(t, w.client.Set(t.Context(), "heartbeat", "-5"))
	w.put(20, "{}")
	log := new(lockedBuffer)
	w.run(Config{Pools: []Pool{w.acking("p", "q")}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	w.await(20, "complete")
	const said = "heartbeat is -5, and must be from 1 to 2592000; 1 is used"
	until(t, "the setting is named", func() bool { return strings.Contains(log.String(), said) })
	calm(t, log)
}
