package doctor

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
	"oarlock/queue/admin"
)

// patient is a Redis with one job in every state: waiting, prio, scheduled, depends,
// running, failed, complete, and the recurring job recur.
type patient struct {
	server *redistest.Server
	client *queue.Client
}

// blankPatient is one without jobs; the test runs beside others.
func blankPatient(t *testing.T, server *redistest.Server) patient {
	t.Helper()
	t.Parallel()
	client := must.Get(queue.Open(t.Context(), queue.Options{URL: server.URL, ReadTimeout: time.Minute}))(t)
	t.Cleanup(func() { client.Close() })
	return patient{server, client}
}

func newPatient(t *testing.T) patient {
	t.Helper()
	return patientOn(t, redistest.Shared(t))
}

// patientOn is a patient on a server that may be the test's own.
func patientOn(t *testing.T, server *redistest.Server) patient {
	t.Helper()
	p := blankPatient(t, server)
	client := p.client
	put := func(put queue.Put) {
		t.Helper()
		put.Queue, put.Klass = "q", "K"
		must.Get(client.Put(t.Context(), put))(t)
	}
	session := client.Session("w")
	settle := func(settlements []queue.Settlement, want int) {
		t.Helper()
		reply, err := session.Exchange(t.Context(), settlements, queue.Take{Queues: []string{"q"}, Count: want})
		if err != nil || len(reply.Jobs) != want {
			t.Fatalf("took %d jobs, want %d: %v", len(reply.Jobs), want, err)
		}
	}
	for _, jid := range []string{"complete", "failed", "running"} {
		put(queue.Put{JID: jid})
	}
	settle(nil, 3)
	settle([]queue.Settlement{
		{JID: "complete", Queue: "q", Action: queue.Complete},
		{JID: "failed", Queue: "q", Action: queue.Fail, Group: "g", Message: "m"},
	}, 0)
	put(queue.Put{JID: "waiting"})
	put(queue.Put{JID: "scheduled", Delay: time.Hour})
	put(queue.Put{JID: "depends", Depends: []string{"waiting"}})
	must.Get(client.Recur(t.Context(), queue.Recurring{JID: "recur", Queue: "q", Klass: "K", Interval: time.Hour}))(t)
	return p
}

// examine tells all findings of a kind that are not OK.
func (p patient) examine(t *testing.T, fix bool, look func(*Doctor) error) (findings []Finding) {
	t.Helper()
	d := &Doctor{Client: p.client, Fix: fix, Report: func(f Finding) {
		if f.Level != OK {
			findings = append(findings, f)
		}
	}}
	must.Do(t, look(d))
	return findings
}

// moveOn lets the running job go on in the queue later after an hour, as the protocol's complete
// with next and delay leaves it: in the schedule, and its state says waiting.
const moveOn = `redis.call('ZREM', 'ql:q:q-locks', 'running') redis.call('HSET', 'ql:j:running', 'state', 'waiting', 'queue', 'later')
redis.call('ZADD', 'ql:q:later-scheduled', 9000000000, 'running')`

// freeing makes the job depends wait for a complete one, of which is noted that those who wait for it
// are being freed, among them a job.
func freeing(jid string) string {
	return "redis.call('SADD', 'ql:j:depends-dependencies', 'complete') redis.call('SADD', 'ql:j:complete-dependents', '" + jid + "') " +
		"redis.call('ZADD', 'ql:oarlock:unblock', 1, 'complete')"
}

// holdIn lets a jid hold the throttle t of one, and the job waiting stand in line for it.
func holdIn(jid string) string {
	return `redis.call('HSET', 'ql:th:t', 'id', 't', 'maximum', 1) redis.call('ZADD', 'ql:th:t-locks', 1, '` + jid + `')
redis.call('ZADD', 'ql:th:t-pending', 1, 'waiting') redis.call('ZREM', 'ql:q:q-work', 'waiting')
redis.call('ZADD', 'ql:q:q-throttled', 1, 'waiting') redis.call('HSET', 'ql:j:waiting', 'state', 'throttled', 'throttles', '["t"]')`
}

func TestKeys(t *testing.T) {
	for _, tt := range []struct {
		name     string
		spoil    []any // a command of Redis
		finding  string
		repaired []any  // a command of Redis that shows the repair …
		want     string // … by this answer
	}{
		{"nothing", []any{"PING"}, "", nil, ""},
		{"a job without its hash", []any{"DEL", "ql:j:waiting"}, "ql:q:q-work names waiting, but there is no such job", []any{"ZSCORE", "ql:q:q-work", "waiting"}, ""},
		{"a lock without its job", []any{"ZADD", "ql:q:q-locks", 1, "ghost"}, "ql:q:q-locks names ghost, but there is no such job", []any{"ZSCORE", "ql:q:q-locks", "ghost"}, ""},
		{"a lock on a job that waits", []any{"ZADD", "ql:q:q-locks", 1, "waiting"}, "ql:q:q-locks names waiting, but the job is waiting", []any{"ZSCORE", "ql:q:q-locks", "waiting"}, ""},
		{"a running job that waits, too", []any{"ZADD", "ql:q:q-work", 1, "running"}, "ql:q:q-work names running, but the job is running", []any{"ZSCORE", "ql:q:q-work", "running"}, ""},
		{"a recurring job that is gone", []any{"DEL", "ql:r:recur"}, "ql:q:q-recur names recur, but there is no such recurring job", []any{"ZSCORE", "ql:q:q-recur", "recur"}, ""},
		{"a failed job that is gone", []any{"DEL", "ql:j:failed"}, "ql:f:g names failed, but there is no such job", []any{"EXISTS", "ql:f:g"}, "0"},
		{"a completed job that is gone", []any{"DEL", "ql:j:complete"}, "ql:completed names complete, but there is no such job", []any{"ZSCORE", "ql:completed", "complete"}, ""},
		{"a waiting job in no set", []any{"ZREM", "ql:q:q-work", "waiting"}, "waiting is waiting, but nowhere in q", []any{"ZCARD", "ql:q:q-work"}, "1"},
		{"a running job without a lock", []any{"ZREM", "ql:q:q-locks", "running"}, "running is running without a lock in q", []any{"ZCARD", "ql:q:q-locks"}, "1"},
		{"a schedule without its job", []any{"ZREM", "ql:q:q-scheduled", "scheduled"}, "scheduled is scheduled, but not in the schedule of q", []any{"HGET", "ql:j:scheduled", "state"}, "waiting"},
		{"a dependency that is gone", []any{"SADD", "ql:j:depends-dependencies", "ghost"}, "depends waits for ever for ghost, which is gone", []any{"SCARD", "ql:j:depends-dependencies"}, "1"},
		{"only dependencies that are gone", []any{"EVAL", "redis.call('DEL', 'ql:j:depends-dependencies') redis.call('SADD', 'ql:j:depends-dependencies', 'ghost')", 0},
			"depends waits for ever for ghost, which is gone", []any{"HGET", "ql:j:depends", "state"}, "waiting"},
		{"a dependency whose dependents are being freed", []any{"EVAL", freeing("depends"), 0}, "", nil, ""},
		{"one that does not know of the job", []any{"EVAL", freeing("other"), 0}, "depends waits for ever for complete, which is complete", []any{"SCARD", "ql:j:depends-dependencies"}, "1"},
		{"a completed job that is not listed", []any{"ZREM", "ql:completed", "complete"}, "complete is complete and not listed as such", []any{"ZCARD", "ql:completed"}, "1"},
		{"a job that was moved on with a delay", []any{"EVAL", moveOn, 0}, "", nil, ""},
		{"a job that was retried into another queue", []any{"EVAL", "redis.call('ZREM', 'ql:q:q-work', 'waiting') redis.call('ZADD', 'ql:q:new-work', 1, 'waiting')", 0}, "", nil, ""},
		{"one that runs there", []any{"EVAL", "redis.call('ZREM', 'ql:q:q-locks', 'running') redis.call('ZADD', 'ql:q:new-locks', 9e9, 'running')", 0}, "", nil, ""},
		{"a lock of a finished job", []any{"ZADD", "ql:q:q-locks", 9e9, "complete"}, "ql:q:q-locks names complete, but the job is complete", []any{"ZSCORE", "ql:q:q-locks", "complete"}, ""},
		{"a second lock of a running job", []any{"ZADD", "ql:q:new-locks", 1, "running"}, "ql:q:new-locks names running, but the job is in q", []any{"ZSCORE", "ql:q:q-locks", "running"}, "+"},
		{"a job that waits twice", []any{"ZADD", "ql:q:new-work", 1, "waiting"}, "ql:q:new-work names waiting, but the job is in q", []any{"ZCARD", "ql:q:q-work"}, "1"},
		{"a job that waits and is due", []any{"ZADD", "ql:q:q-scheduled", 9e9, "waiting"}, "ql:q:q-scheduled names waiting, but the job waits for a worker already", []any{"ZCARD", "ql:q:q-work"}, "1"},
		{"a due time that the job still knows", []any{"EVAL", "redis.call('ZREM', 'ql:q:q-scheduled', 'scheduled') redis.call('HSET', 'ql:j:scheduled', 'scheduled', 9000000000)", 0},
			"scheduled is scheduled, but not in the schedule of q", []any{"ZSCORE", "ql:q:q-scheduled", "scheduled"}, "9000000000"},
		{"a job that waits for nothing", []any{"DEL", "ql:j:depends-dependencies"}, "depends waits for other jobs, but there are none", []any{"ZSCORE", "ql:q:q-work", "depends"}, "+"},
		{"one that has a delay, too", []any{"EVAL", "redis.call('DEL', 'ql:j:depends-dependencies') redis.call('HSET', 'ql:j:depends', 'scheduled', 9000000000)", 0},
			"depends waits for other jobs, but there are none", []any{"ZSCORE", "ql:q:q-scheduled", "depends"}, "9000000000"},
		{"a job that is not known to what it waits for", []any{"DEL", "ql:j:waiting-dependents"}, "depends waits for waiting, which does not know it", []any{"SMEMBERS", "ql:j:waiting-dependents"}, "[depends]"},
		{"a dependent job in no list", []any{"DEL", "ql:q:q-depends"}, "depends is not among those that wait for others in q", []any{"ZSCORE", "ql:q:q-depends", "depends"}, "+"},
		{"a failed job in no list", []any{"DEL", "ql:f:g"}, "failed has failed, but is not listed in its group g", []any{"LRANGE", "ql:f:g", 0, -1}, "[failed]"},
		{"a group that is not listed", []any{"DEL", "ql:failures"}, "failed has failed, but is not listed in its group g", []any{"SMEMBERS", "ql:failures"}, "[g]"},
		{"a throttle held by a job that is gone", []any{"EVAL", holdIn("ghost"), 0}, "throttle t is held by ghost, but there is no such job", []any{"ZSCORE", "ql:q:q-work", "waiting"}, "+"},
		{"a throttle held by a job that failed", []any{"EVAL", holdIn("failed"), 0}, "throttle t is held by failed, but the job is failed", []any{"ZSCORE", "ql:q:q-work", "waiting"}, "+"},
		{"a throttle held by a job that runs", []any{"EVAL", holdIn("running"), 0}, "", nil, ""},
		{"a throttled job in no line", []any{"EVAL", holdIn("running") + " redis.call('DEL', 'ql:th:t-pending')", 0}, "waiting is throttled, but in the line of no throttle", []any{"ZSCORE", "ql:q:q-work", "waiting"}, "+"},
		{"a throttled job nowhere", []any{"EVAL", holdIn("running") + " redis.call('DEL', 'ql:q:q-throttled')", 0}, "waiting is throttled, but nowhere in q", []any{"ZSCORE", "ql:q:q-work", "waiting"}, "+"},
		{"a job that lost its jid", []any{"HDEL", "ql:j:waiting", "jid"}, "waiting does not say its own jid", []any{"HGET", "ql:j:waiting", "jid"}, "waiting"},
		{"a waiting job that lost its state", []any{"HDEL", "ql:j:waiting", "state"}, "waiting does not say its state", []any{"HGET", "ql:j:waiting", "state"}, "waiting"},
		{"a scheduled one", []any{"HDEL", "ql:j:scheduled", "state", "jid"}, "scheduled does not say its state", []any{"HMGET", "ql:j:scheduled", "state", "jid"}, "[scheduled scheduled]"},
		{"a running one", []any{"HDEL", "ql:j:running", "state"}, "running does not say its state", []any{"HGET", "ql:j:running", "state"}, "running"},
		{"a failed one", []any{"HDEL", "ql:j:failed", "state"}, "failed does not say its state", []any{"HGET", "ql:j:failed", "state"}, "failed"},
		{"a complete one", []any{"HDEL", "ql:j:complete", "state"}, "complete does not say its state", []any{"HGET", "ql:j:complete", "state"}, "complete"},
		{"one that is nowhere", []any{"EVAL", "redis.call('HDEL', 'ql:j:waiting', 'state') redis.call('ZREM', 'ql:q:q-work', 'waiting')", 0},
			"waiting does not say its state", []any{"ZSCORE", "ql:q:q-work", "waiting"}, "+"},
		{"a job that lost its class and its jid", []any{"HDEL", "ql:j:waiting", "jid", "klass"}, "waiting does not say its own jid", []any{"HGET", "ql:j:waiting", "jid"}, "waiting"},
		{"a due time that is none", []any{"EVAL", "redis.call('DEL', 'ql:j:depends-dependencies') redis.call('HSET', 'ql:j:depends', 'scheduled', 'soon')", 0},
			"depends waits for other jobs, but there are none", []any{"ZSCORE", "ql:q:q-work", "depends"}, "+"},
		{"a priority that no set takes", []any{"EVAL", "redis.call('ZREM', 'ql:q:q-work', 'waiting') redis.call('HSET', 'ql:j:waiting', 'priority', 'nan')", 0},
			"waiting is waiting, but nowhere in q", []any{"ZSCORE", "ql:q:q-work", "waiting"}, "+"},
		{"a hash that is no job", []any{"HSET", "ql:j:husk", "oarlock-crashes", 1}, "husk is no whole job", []any{"EXISTS", "ql:j:husk"}, "0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPatient(t)
			redis := p.server.Client(t)
			keys := func(d *Doctor) error { return d.Keys(t.Context()) }
			if err := redis.Do(t.Context(), tt.spoil...).Err(); err != nil && err.Error() != "redis: nil" {
				t.Fatal(err)
			}
			found := p.examine(t, false, keys)
			if tt.finding == "" {
				if len(found) > 0 {
					t.Errorf("found %+v", found)
				}
				return
			}
			if len(found) == 0 || found[0].Level != Bad || found[0].Text != tt.finding {
				t.Fatalf("found %+v, want %q", found, tt.finding)
			}
			if again := p.examine(t, false, keys); len(again) != len(found) {
				t.Errorf("looking changed something: %+v, then %+v", found, again)
			}
			remedy, ok := strings.CutPrefix(found[0].Advice, "oarlock doctor --fix: ")
			if !ok || remedy == "" {
				t.Errorf("it does not say what --fix would do: %+v", found[0])
			}
			if fixed := p.examine(t, true, keys); len(fixed) == 0 || fixed[0].Level != Fixed || fixed[0].Text != tt.finding+": "+remedy {
				t.Errorf("repairing: %+v, want %+v", fixed, found)
			}
			if left := p.examine(t, false, keys); len(left) > 0 {
				t.Errorf("after the repair: %+v", left)
			}
			answer, err := redis.Do(t.Context(), tt.repaired...).Result()
			got := ""
			if err == nil {
				got = fmt.Sprint(answer)
			}
			if got != tt.want && (tt.want != "+" || got == "") {
				t.Errorf("%v = %q, want %q", tt.repaired, got, tt.want)
			}
		})
	}
}

// A key of a wrong type is named, and all else is looked at.
func TestKeysOfWrongTypes(t *testing.T) {
	for key, says := range map[string]string{
		"ql:q:q-work": "the queue q cannot be worked", "ql:q:a-b-scheduled": "the queue a-b cannot be worked", "ql:q:q-locks": "the queue q cannot",
		"ql:q:q-depends": "the queue q", "ql:q:q-throttled": "the queue q", "ql:q:q-recur": "the queue q",
		"ql:j:waiting": "its job cannot be worked", "ql:j:waiting-history": "its job", "ql:j:depends-dependencies": "its job", "ql:j:waiting-dependents": "its job",
		"ql:r:recur": "this recurring job puts nothing", "ql:th:t": "jobs that need this throttle", "ql:th:t-locks": "jobs that need", "ql:th:t-pending": "jobs that need",
		"ql:t:x": "commands that need it fail", "ql:f:g": "commands", "ql:w:w:jobs": "commands", "ql:s:wait:0:q": "commands", "ql:queues": "commands",
		"ql:paused_queues": "commands", "ql:workers": "commands", "ql:completed": "commands", "ql:tracked": "commands", "ql:tags": "commands",
		"ql:failures": "commands", "ql:config": "commands", "ql:oarlock:unblock": "commands",
		"ql:oarlock:waitlists:q": "the queue q cannot be worked", "ql:oarlock:open:a:b": "the queue a:b cannot", "ql:oarlock:due:q": "the queue q", "ql:oarlock:rota:t": "commands",
	} {
		want := admin.ExpectedType(strings.TrimPrefix(key, "ql:"))
		other := "list"
		if want == other {
			other = "zset"
		}
		for _, kind := range []string{"string", other} {
			t.Run(key+" "+kind, func(t *testing.T) { newPatient(t).wrongType(t, key, kind, want, says) })
		}
	}
}

// TestEachKeyHasAType: of each key that BATCH.md names the doctor knows of which type it is to be.
func TestEachKeyHasAType(t *testing.T) {
	text := must.Get(os.ReadFile("../../queue/BATCH.md"))(t)
	kinds := map[string]string{"sorted set": "zset", "number": "string"}
	rows := regexp.MustCompile("(?m)^\\| (.*`ql:.*) \\| (hash|list|number|(?:sorted )?set)s? \\|").FindAllStringSubmatch(string(text), -1)
	if len(rows) < 40 {
		t.Fatalf("%d rows name keys", len(rows))
	}
	for _, row := range rows {
		want := row[2]
		if kind, other := kinds[want]; other {
			want = kind
		}
		for i, part := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(row[1], -1) {
			name := strings.TrimPrefix(part[1], "ql:")
			switch {
			case strings.HasPrefix(name, "hworker-"): // of no namespace
				continue
			case i > 0 && !strings.HasPrefix(part[1], "ql:"): // of those that are told together the first has the whole name
				name = "oarlock:" + name
			}
			if known := admin.ExpectedType(strings.NewReplacer("<", "", ">", "").Replace(name)); known != want {
				t.Errorf("%s is %q, and to be a %s", name, known, want)
			}
		}
	}
}

// wrongType puts something else in the place of a key, and looks.
func (p patient) wrongType(t *testing.T, key, kind, want, says string) {
	redis := p.server.Client(t)
	redis.Del(t.Context(), key)
	words := map[string][]any{
		"string": {"SET", key, "z"}, "list": {"RPUSH", key, "z"}, "zset": {"ZADD", key, 1, "z"},
	}
	must.Do(t, redis.Do(t.Context(), words[kind]...).Err())
	redis.HSet(t.Context(), "ql:j:husk", "oarlock-crashes", 1) // the last thing that is looked at
	for _, fix := range []bool{false, true} {
		found := p.examine(t, fix, func(d *Doctor) error { return d.Keys(t.Context()) })
		named, went := false, false
		for _, f := range found {
			named = named || f.Level == Bad && strings.HasPrefix(f.Text, key+" is a "+kind+", not a "+want+": ") && strings.Contains(f.Text, says)
			went = went || strings.HasPrefix(f.Text, "husk is no whole job")
		}
		if !named || !went {
			t.Errorf("fix %v: named %v, went on %v: %+v", fix, named, went, found)
		}
	}
	if now := redis.Type(t.Context(), key).Val(); now != kind {
		t.Errorf("it is a %s now", now)
	}
}

func ptr[T any](v T) *T { return &v }

// Many jobs are looked at some at a time: no script is long.
func TestKeysAreLookedAtInSlices(t *testing.T) {
	p := patientOn(t, redistest.Start(t))
	puts := make([]queue.Put, 3000)
	for i := range puts {
		puts[i] = queue.Put{Queue: "many", JID: fmt.Sprint("many", i), Klass: "K"}
	}
	puts[2999].Depends = make([]string, 1500)
	for i := range puts[2999].Depends {
		puts[2999].Depends[i] = puts[i].JID
	}
	must.Get(p.client.PutAll(t.Context(), puts))(t)
	redis := p.server.Client(t)
	calls := func() (n int) {
		t.Helper()
		m := regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`).FindStringSubmatch(redis.Info(t.Context(), "commandstats").Val())
		if m != nil {
			n, _ = strconv.Atoi(m[1])
		}
		return n
	}
	before := calls()
	if found := p.examine(t, false, func(d *Doctor) error { return d.Keys(t.Context()) }); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
	// Its places, the jobs, and those that one of them waits for, so many in a call at most.
	const batch = 200
	if n, least := calls()-before, (2*3000+1500)/batch; n < least {
		t.Errorf("%d scripts for 3,000 jobs, want at least %d", n, least)
	}
}

// A job that a repair puts back is taken and run.
func TestRepairedJobsRun(t *testing.T) {
	p := newPatient(t)
	redis := p.server.Client(t)
	redis.ZRem(t.Context(), "ql:q:q-work", "waiting")
	p.examine(t, true, func(d *Doctor) error { return d.Keys(t.Context()) })
	reply, err := p.client.Session("other").Exchange(t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 9})
	taken := slices.ContainsFunc(reply.Jobs, func(job queue.Taken) bool { return job.JID == "waiting" })
	if err != nil || !taken {
		t.Errorf("took %+v: %v", reply.Jobs, err)
	}
}

func TestExpiredLocks(t *testing.T) {
	p := newPatient(t)
	p.server.Client(t).Do(t.Context(), "ZADD", "ql:q:q-locks", 1, "running")
	found := p.examine(t, false, func(d *Doctor) error { return d.Keys(t.Context()) })
	if len(found) != 1 || !strings.Contains(found[0].Text, "1 locks of q have run out") {
		t.Errorf("found %+v", found)
	}
}

func TestServer(t *testing.T) {
	for _, tt := range []struct {
		name    string
		args    []string
		setting []any // of CONFIG SET
		subject string
		level   Level
		text    string
	}{
		{"no persistence", nil, nil, "persistence", Warning, "append-only file is off"},
		{"eviction", nil, []any{"maxmemory-policy", "allkeys-lru", "maxmemory", "1gb"}, "eviction", Bad, "throws jobs away"},
		{"eviction without a limit", nil, []any{"maxmemory-policy", "allkeys-lru"}, "eviction", Warning, "as soon as somebody sets maxmemory"},
		{"little memory", nil, []any{"maxmemory", "2mb"}, "memory", Warning, "no job can be put"},
		{"no notifications", nil, nil, "notifications", Note, "found by polling"},
		{"idle connections", nil, []any{"timeout", "100"}, "timeout", Note, "idle for 100 seconds"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := patientOn(t, redistest.Start(t, tt.args...))
			if tt.setting != nil {
				must.Do(t, p.server.Client(t).Do(t.Context(), append([]any{"CONFIG", "SET"}, tt.setting...)...).Err())
			}
			for _, f := range p.examine(t, false, func(d *Doctor) error { return d.Server(t.Context()) }) {
				if f.Subject == tt.subject && f.Level == tt.level && strings.Contains(f.Text, tt.text) {
					return
				}
			}
			t.Errorf("not found")
		})
	}
}

// A well-kept server has no findings, and one that hides things is no error.
func TestGoodAndHiddenServers(t *testing.T) {
	// On a busy machine a command of ours may take as long as one that doctor names.
	p := patientOn(t, redistest.Start(t, append(redistest.AOF, "--notify-keyspace-events", "Kz", "--slowlog-log-slower-than", "-1")...))
	look := func(d *Doctor) error { return d.Server(t.Context()) }
	if found := p.examine(t, false, look); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
	words := strings.Fields("ACL SETUSER meek on >secret ~* &* +@all -info -config -slowlog -scan -client|kill")
	var set []any
	for _, word := range words {
		set = append(set, word)
	}
	must.Do(t, p.server.Client(t).Do(t.Context(), set...).Err())
	var err error
	if p.client, err = queue.Open(t.Context(), queue.Options{URL: "unix://meek:secret@" + p.server.Addr}); err != nil {
		t.Fatal(err)
	}
	defer p.client.Close()
	var texts []string
	for _, f := range append(p.examine(t, false, look), p.examine(t, false, func(d *Doctor) error { return d.Keys(t.Context()) })...) {
		if f.Level == Bad {
			t.Errorf("found %+v", f)
		}
		texts = append(texts, f.Subject+": "+f.Text)
	}
	all := strings.Join(texts, "\n")
	for _, want := range []string{"info: Redis does not let us see", "slow log: Redis does not", "notifications: Redis does not", "permissions: meek cannot fence", "keys: Redis does not"} {
		if strings.Count(all, want) != 1 {
			t.Errorf("not once %q in\n%s", want, all)
		}
	}
}

// TestACommandThatIsDeniedWithinAScript: Redis words that otherwise than what it says of a command that is called; it is told likewise, and all else is looked at.
func TestACommandThatIsDeniedWithinAScript(t *testing.T) {
	p := patientOn(t, redistest.Start(t))
	must.Do(t, p.server.Client(t).Do(t.Context(), "ACL", "SETUSER", "meek", "on", ">secret", "~*", "&*", "+@all", "-exists").Err())
	var err error
	if p.client, err = queue.Open(t.Context(), queue.Options{URL: "unix://meek:secret@" + p.server.Addr}); err != nil {
		t.Fatal(err)
	}
	defer p.client.Close()
	found := p.examine(t, false, func(d *Doctor) error {
		return d.Redis(t.Context(), func(string) []string { return nil }, nil)
	})
	for _, want := range []Finding{{"permissions", Bad, "meek may not run our scripts, or not all that is in them: ", "See queue/ACL.md."}, {"queues", Note, "Redis does not let us see this: ", ""}} {
		if !slices.ContainsFunc(found, func(f Finding) bool {
			return f.Subject == want.Subject && f.Level == want.Level && strings.HasPrefix(f.Text, want.Text) && f.Advice == want.Advice
		}) {
			t.Errorf("no %+v in %+v", want, found)
		}
	}
}

func TestHost(t *testing.T) {
	p := newPatient(t)
	open := t.TempDir()
	must.Do(t, os.Chmod(open, 0o777))
	file := open + "/file"
	must.Do(t, os.WriteFile(file, nil, 0o600))
	for _, tt := range []struct {
		dir     string
		subject string
		level   Level
	}{
		{open, "state directory", Warning},
		{file, "state directory", Bad},
		{open + "/none", "state directory", Note},
	} {
		found := p.examine(t, false, func(d *Doctor) error { d.Host(tt.dir); return nil })
		ok := false
		for _, f := range found {
			ok = ok || f.Subject == tt.subject && f.Level == tt.level
		}
		if !ok {
			t.Errorf("%q: found %+v", tt.dir, found)
		}
	}
}

// A state directory on a file system that is read-only or full is no good one.
func TestAStateDirectoryThatTakesNothing(t *testing.T) {
	p, dir := newPatient(t), t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=700"); err != nil {
		t.Skipf("SKIPPED a file system that is full or read-only takes a mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	says := func(want string, level Level) {
		t.Helper()
		for _, f := range p.examine(t, false, func(d *Doctor) error { d.Host(dir); return nil }) {
			if f.Subject == "state directory" && (f.Level != level || !strings.Contains(f.Text, want)) {
				t.Errorf("it says %+v, want %q", f, want)
			}
		}
	}
	says(dir, OK)
	if err := os.WriteFile(dir+"/all", make([]byte, 1<<20), 0o600); err == nil {
		t.Fatal("a full disk took more")
	}
	says("no space left on device", Bad)
	must.Do(t, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	says("read-only file system", Bad)
}

func TestOddSettings(t *testing.T) {
	p := newPatient(t)
	p.server.Client(t).HSet(t.Context(), "ql:config", "heartbeat", "1e300", "grace-period", "0")
	found := p.examine(t, false, func(d *Doctor) error { return d.Settings(t.Context()) })
	if len(found) != 1 || found[0].Level != Warning || !strings.Contains(found[0].Text, "heartbeat is 1e300") {
		t.Errorf("found %+v", found)
	}
}
