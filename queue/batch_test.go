package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"oarlock/queue/internal/script"
	"oarlock/queue/internal/wire"
)

// TestBatchLeavesWhatSingleCommandsLeave works the same random history off twice, through
// the batch commands on one server and through the protocol's own, one by one, on
// another, and compares after each step all keys, the messages about each job in their
// order, and what was handed out, to the byte.
func TestBatchLeavesWhatSingleCommandsLeave(t *testing.T) {
	batchLab, singleLab := newLab(t, "redis", DefaultNamespace), newLab(t, "redis", DefaultNamespace)
	batch, single := labClient(t, batchLab), labClient(t, singleLab)
	inTurn := make(map[string]*redis.Script)
	checkAtRandom(t, func(rt *rapid.T) {
		ctx := context.Background()
		batch.redis.FlushDB(ctx)
		single.redis.FlushDB(ctx)
		m := &twins{t: rt, ctx: ctx, batch: batch, single: single, now: 1700000000.25, held: make(map[string]heldJob), inTurn: inTurn}
		m.heard = func() (batch, single [][2]string) { return batchLab.heard(t), singleLab.heard(t) }
		m.heard()
		rt.Repeat(map[string]func(*rapid.T){
			"put":     m.put,
			"take":    m.take,
			"in turn": m.takeInTurn,
			"oldest":  m.takeOldest,
			"settle":  m.settle,
			"renew":   m.renew,
			"wait":    m.wait,
			"config":  m.config,
			"track":   m.track,
			"recur":   m.recur,
			"":        m.compare,
		})
	})
}

func labClient(t testing.TB, l *lab) *Client {
	t.Helper()
	c, err := Open(t.Context(), Options{URL: fmt.Sprintf("unix://%s?db=%d", l.redis.Options().Addr, l.redis.Options().DB), ReadTimeout: 30 * time.Second})
	ok(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// twins drives both databases.
type twins struct {
	t             *rapid.T
	ctx           context.Context
	batch, single *Client
	now           float64
	held          map[string]heldJob                 // jobs that one of our workers took and has not settled
	cursor        int                                // of takes in turn
	dues          map[time.Duration]int              // puts of one call by their delay: the later are due a microsecond later
	inTurn        map[string]*redis.Script           // single commands as runInTurn wants them, by name; they outlive a history
	heard         func() (batch, single [][2]string) // the messages since it was last asked
}

type heldJob struct {
	queue, worker string
	popped        float64
}

var (
	someQueues = rapid.SampledFrom([]string{"a", "b", "c"})
	someJIDs   = rapid.SampledFrom(strings.Fields("j1 j2 j3 j4 j5 j6 j7 j8 j9 j10 j11 j12"))
	someWorker = rapid.SampledFrom([]string{"w1", "w2"})
	someTags   = rapid.SliceOfN(rapid.SampledFrom([]string{"red", "blue", "sp ace"}), 0, 2)
	someData   = rapid.SampledFrom([]string{`{}`, `[]`, `{"n":9007199254740993}`, `"text \/ \u00e9"`, ` {"a" : [] } `})
	someDelay  = rapid.SampledFrom([]time.Duration{0, 0, 0, 7 * time.Second, 70 * time.Second})
)

func (m *twins) run(c *Client, dialect Dialect, command string, args ...any) any {
	m.t.Helper()
	reply, err := c.run(m.ctx, c.redis, script.Name{Dialect: dialect, Command: command}, m.now, args...)
	if err != nil {
		m.t.Fatalf("%s %v: %v", command, args, err)
	}
	return reply
}

var somePut = rapid.Custom(func(t *rapid.T) Put {
	p := Put{Queue: someQueues.Draw(t, "queue"), JID: someJIDs.Draw(t, "jid"), Klass: "K",
		Data: []byte(someData.Draw(t, "data")), Delay: someDelay.Draw(t, "delay")}
	if rapid.Bool().Draw(t, "priority?") {
		priority := float64(rapid.IntRange(-3, 30).Draw(t, "priority")) / 10
		p.Priority = &priority
	}
	if rapid.Bool().Draw(t, "retries?") {
		retries := rapid.IntRange(0, 2).Draw(t, "retries")
		p.Retries = &retries
	}
	if rapid.IntRange(0, 3).Draw(t, "tags?") == 0 {
		p.Tags = someTags.Draw(t, "tags")
	}
	if rapid.IntRange(0, 3).Draw(t, "depends?") == 0 {
		p.Depends = rapid.SliceOfN(someJIDs, 0, 2).Draw(t, "depends")
	}
	return p
})

func (m *twins) put(t *rapid.T) {
	m.t = t
	puts := rapid.SliceOfN(somePut, 1, 6).Draw(t, "puts")
	named, results := nameAndCheck(puts, nil)
	in := wire.Read(m.run(m.batch, Batch, "put", appendPuts([]any{""}, named)...))
	readPuts(&in, results)
	m.dues = map[time.Duration]int{}
	m.putSingly("", puts, results)
}

// putSingly puts what was put in a batch.
func (m *twins) putSingly(worker string, puts []Put, results []PutResult) {
	m.t.Helper()
	for i, p := range puts {
		if results[i].Err != nil {
			m.t.Fatal(results[i].Err)
		}
		delay := p.Delay.Seconds()
		if p.Delay > 0 {
			delay += float64(m.dues[p.Delay]) / 1e6
			m.dues[p.Delay]++
		}
		single := []any{worker, p.Queue, p.JID, p.Klass, p.Data, wire.Number(delay)}
		if p.Priority != nil {
			single = append(single, "priority", wire.Number(*p.Priority))
		}
		if p.Retries != nil {
			single = append(single, "retries", *p.Retries)
		}
		if p.Tags != nil {
			single = append(single, "tags", wire.JSONList(p.Tags))
		}
		if p.Depends != nil {
			single = append(single, "depends", wire.JSONList(p.Depends))
		}
		m.run(m.single, Qless, "put", single...)
		delete(m.held, p.JID)
	}
}

func (m *twins) take(t *rapid.T) {
	m.t = t
	worker := someWorker.Draw(t, "worker")
	queues := rapid.Permutation([]string{"a", "b", "c"}).Draw(t, "queues")[:rapid.IntRange(1, 3).Draw(t, "how many")]
	count := rapid.IntRange(1, 5).Draw(t, "count")
	taken := m.takeJobs(worker, Take{Queues: queues, Count: count}).Jobs

	var popped []poppedJob
	for _, q := range queues {
		if len(popped) < count {
			popped = append(popped, m.pop(q, worker, count-len(popped))...)
		}
	}
	m.sameJobs(taken, popped)
}

// takeJobs takes in the one database, and remembers what.
func (m *twins) takeJobs(worker string, take Take) Reply {
	m.t.Helper()
	reply := m.exchange(worker, nil, take)
	if len(reply.Broken) > 0 {
		m.t.Fatalf("broken: %+v", reply.Broken)
	}
	for _, job := range reply.Jobs {
		m.held[job.JID] = heldJob{job.Queue, worker, job.Popped}
	}
	return reply
}

// poppedJob is what we compare of a job that was popped in the other.
type poppedJob struct{ JID, Klass, Queue, Data string }

func (m *twins) pop(queue, worker string, count int) (jobs []poppedJob) {
	m.t.Helper()
	if text := m.runInTurn("pop", queue, worker, count).(string); text != "{}" {
		if err := json.Unmarshal([]byte(text), &jobs); err != nil {
			m.t.Fatal(err)
		}
	}
	return jobs
}

// runInTurn runs a single command that brings in what is due, all of it, and by when it was
// due, as our takes do; for that alone its text is changed.
func (m *twins) runInTurn(command string, args ...any) any {
	m.t.Helper()
	if m.inTurn[command] == nil {
		m.inTurn[command] = m.rewritten(command)
	}
	reply, err := m.inTurn[command].Run(m.ctx, m.single.redis, nil, append([]any{wire.Number(m.now)}, args...)...).Result()
	if err != nil {
		m.t.Fatalf("%s %v: %v", command, args, err)
	}
	return reply
}

// rewritten is a single command, its text changed for runInTurn. It is long, and the race detector looks at each byte that is matched.
func (m *twins) rewritten(command string) *redis.Script {
	m.t.Helper()
	text, _ := Script(Qless, command, DefaultNamespace)
	call := regexp.MustCompile(`(?m)^  if #due > 0 then ((?:rare\d+\.)?promote_each)\(queue, now, due\) end$`)
	if len(call.FindAllString(text, -1)) != 1 {
		m.t.Fatalf("%s does not promote as it did", command)
	}
	return redis.NewScript(call.ReplaceAllString(text, `
  due = redis.call('ZRANGEBYSCORE', 'ql:q:' .. queue .. '-scheduled', '0', ARGV[1], 'WITHSCORES')
  for i = 1, #due, 2 do $1(queue, tonumber(due[i + 1]), { due[i] }) end
`))
}

func (m *twins) sameJobs(taken []Taken, popped []poppedJob) {
	m.t.Helper()
	var jobs []poppedJob
	for _, job := range taken {
		jobs = append(jobs, poppedJob{job.JID, job.Klass, job.Queue, string(job.Data)})
	}
	if !slices.Equal(jobs, popped) {
		m.t.Fatalf("taken %q, popped %q", jobs, popped)
	}
}

func (m *twins) exchange(worker string, settlements []Settlement, take Take) Reply {
	m.t.Helper()
	sent, puts, results := checkSettlements(settlements)
	raw := m.run(m.batch, Batch, "exchange", exchangeArgs(worker, sent, puts, take)...)
	reply, err := readExchange(raw, m.now, results, take.Queues)
	if err != nil {
		m.t.Fatal(err)
	}
	return reply
}

func (m *twins) settle(t *rapid.T) {
	m.t = t
	worker := someWorker.Draw(t, "worker")
	var settlements []Settlement
	for _, jid := range slices.Sorted(maps.Keys(m.held)) {
		job := m.held[jid]
		if job.worker != worker || rapid.IntRange(0, 3).Draw(t, "skip "+jid) == 0 {
			continue
		}
		s := Settlement{JID: jid, Queue: job.queue, Popped: job.popped,
			Action: rapid.SampledFrom([]Action{Complete, Complete, Fail, Retry}).Draw(t, "action")}
		switch s.Action {
		case Complete:
			if rapid.Bool().Draw(t, "data?") {
				s.Data = []byte(someData.Draw(t, "data"))
			}
			if rapid.IntRange(0, 2).Draw(t, "next?") == 0 {
				s.Next, s.Delay = someQueues.Draw(t, "next"), someDelay.Draw(t, "delay")
				if rapid.Bool().Draw(t, "depends?") {
					s.Depends = rapid.SliceOfN(someJIDs, 0, 2).Draw(t, "depends")
				}
			}
		case Fail:
			s.Group, s.Message = "grp/x", "boom \"quoted\""
		case Retry:
			s.Delay = someDelay.Draw(t, "delay")
			if rapid.Bool().Draw(t, "group?") {
				s.Group, s.Message = "again", "later"
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "puts?") == 0 {
			s.Puts = rapid.SliceOfN(somePut, 1, 2).Draw(t, "puts")
		}
		settlements = append(settlements, s)
	}
	if len(settlements) == 0 {
		return // a call without any would prune
	}
	reply := m.exchange(worker, settlements, Take{})
	for i, s := range settlements {
		args, command := m.singleSettle(worker, s), string(s.Action)
		_, err := m.single.run(m.ctx, m.single.redis, script.Name{Dialect: Qless, Command: command}, m.now, args...)
		if (err == nil) != (reply.Results[i].Err == nil) {
			t.Fatalf("%s %v: batch says %v, single %v", command, args, reply.Results[i].Err, err)
		}
		delete(m.held, s.JID)
	}
	m.dues = map[time.Duration]int{}
	for i, s := range settlements {
		if reply.Results[i].Err == nil {
			m.putSingly(worker, s.Puts, reply.Results[i].Puts)
		}
	}
}

// singleSettle writes a settlement as the arguments of the protocol's own command.
func (m *twins) singleSettle(worker string, s Settlement) []any {
	switch s.Action {
	case Fail:
		return []any{s.JID, worker, s.Group, s.Message}
	case Retry:
		args := []any{s.JID, s.Queue, worker, wire.Number(s.Delay.Seconds())}
		if s.Group != "" {
			args = append(args, s.Group, s.Message)
		}
		return args
	}
	data := s.Data
	if data == nil {
		data = []byte(m.single.redis.HGet(m.ctx, "ql:j:"+s.JID, "data").Val())
	}
	if len(data) == 0 {
		data = []byte("{}") // the job is gone, and that is to be refused
	}
	args := []any{s.JID, worker, s.Queue, data}
	if s.Next != "" {
		args = append(args, "next", s.Next)
		if s.Delay > 0 {
			args = append(args, "delay", wire.Number(s.Delay.Seconds()))
		}
		if s.Depends != nil {
			args = append(args, "depends", wire.JSONList(s.Depends))
		}
	}
	return args
}

func (m *twins) renew(t *rapid.T) {
	m.t = t
	worker := someWorker.Draw(t, "worker")
	var items []RenewItem
	for _, jid := range slices.Sorted(maps.Keys(m.held)) {
		if job := m.held[jid]; job.worker == worker {
			items = append(items, RenewItem{JID: jid, Queue: job.queue, Popped: job.popped})
		}
	}
	in := wire.Read(m.run(m.batch, Batch, "renew", renewArgs(worker, items)...))
	for _, item := range items {
		jid, refusal := item.JID, in.Nested()
		if refusal == nil {
			in.Text()
		}
		_, err := m.single.run(m.ctx, m.single.redis, script.Name{Dialect: Qless, Command: "heartbeat"}, m.now, jid, worker)
		if (err == nil) != (refusal == nil) {
			t.Fatalf("renew %s: batch refuses: %v, single: %v", jid, refusal, err)
		}
		if err != nil {
			delete(m.held, jid)
		}
	}
}

func (m *twins) wait(t *rapid.T) {
	m.t = t
	m.now += float64(rapid.SampledFrom([]int{1, 500, 8000, 61000, 75000}).Draw(t, "ms")) / 1000
}

func (m *twins) config(t *rapid.T) {
	m.t = t
	name := rapid.SampledFrom([]string{"grace-period", "heartbeat", "a-heartbeat", "b-max-concurrency", "jobs-history-count",
		"jobs-history", "max-job-history"}).Draw(t, "name")
	value := rapid.SampledFrom([]string{"0", "1", "2", "3", "10", "60", "x"}).Draw(t, "value")
	if strings.HasSuffix(name, "heartbeat") && value == "0" {
		return // our commands lock for a second at least
	}
	for _, c := range []*Client{m.batch, m.single} {
		m.run(c, Qless, "config.set", name, value)
	}
}

func (m *twins) track(t *rapid.T) {
	m.t = t
	jid := someJIDs.Draw(t, "jid")
	for _, c := range []*Client{m.batch, m.single} {
		if c.redis.Exists(m.ctx, "ql:j:"+jid).Val() == 1 {
			m.run(c, Qless, "track", "track", jid)
		}
	}
}

func (m *twins) recur(t *rapid.T) {
	m.t = t
	args := []any{someQueues.Draw(t, "queue"), "r", "K", "[]", "interval", rapid.IntRange(1, 40).Draw(t, "interval"), 1, "backlog", 1}
	for _, c := range []*Client{m.batch, m.single} {
		m.run(c, Qless, "recur", args...)
	}
}

func (m *twins) compare(t *rapid.T) {
	batch, single := dump(m.ctx, m.batch.redis), dump(m.ctx, m.single.redis)
	for _, key := range slices.Sorted(maps.Keys(batch)) {
		if batch[key] != single[key] {
			t.Fatalf("%s\n batch: %s\nsingle: %s", key, batch[key], single[key])
		}
		delete(single, key)
	}
	if len(single) > 0 {
		t.Fatalf("only single commands wrote %v", single)
	}

	batchMessages, singleMessages := m.heard()
	ofBatch, ofSingle := byJob(batchMessages), byJob(singleMessages)
	if !reflect.DeepEqual(ofBatch, ofSingle) {
		t.Fatalf("batch sent  %q\nsingle sent %q", ofBatch, ofSingle)
	}
}

// byJob sorts messages by the job they are about.
func byJob(messages [][2]string) map[string][][2]string {
	jobs := make(map[string][][2]string)
	for _, m := range messages {
		jid, payload := m[1], m[1]
		var event struct{ JID string }
		if json.Unmarshal([]byte(payload), &event) == nil {
			jid = event.JID
		}
		jobs[jid] = append(jobs[jid], m)
	}
	return jobs
}

// dump reads a whole database as text; fields of ours are left out.
func dump(ctx context.Context, r redis.UniversalClient) map[string]string {
	flat, err := r.Eval(ctx, dumpScript, nil).StringSlice()
	if err != nil {
		return map[string]string{"": err.Error()}
	}
	keys := make(map[string]string, len(flat)/2)
	for i := 0; i < len(flat); i += 2 {
		keys[flat[i]] = flat[i+1]
	}
	return keys
}

const dumpScript = `
local function pairs_of(flat, keep)
  local list = {}
  for i = 1, #flat, 2 do
    if keep(flat[i]) then list[#list + 1] = flat[i] .. '=' .. flat[i + 1] end
  end
  return list
end
local function not_ours(field) return string.sub(field, 1, 8) ~= 'oarlock-' end
local function any() return true end
local reply = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind, list = redis.call('TYPE', key).ok, nil
  if kind == 'hash' then
    list = pairs_of(redis.call('HGETALL', key), not_ours)
    table.sort(list)
  elseif kind == 'zset' then
    list = pairs_of(redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), any)
  elseif kind == 'set' then
    list = redis.call('SMEMBERS', key)
    table.sort(list)
  elseif kind == 'list' then
    list = redis.call('LRANGE', key, 0, -1)
  else
    list = { kind }
  end
  reply[#reply + 1] = key
  reply[#reply + 1] = table.concat(list, ' ') .. ' ttl ' .. redis.call('TTL', key)
end
return reply`

// What takes in other orders equal in single commands.

// takeInTurn compares a round-robin take with pops of a share of what is wanted from
// one queue after the other, beginning where the last take stopped; then, as long as
// something is wanted, of a share of that from those that had as many.
func (m *twins) takeInTurn(t *rapid.T) {
	m.t = t
	worker := someWorker.Draw(t, "worker")
	queues := []string{"a", "b", "c"}
	count := rapid.IntRange(1, 7).Draw(t, "count")
	reply := m.takeJobs(worker, Take{Queues: queues, Order: RoundRobin, Cursor: m.cursor, Count: count})

	var popped []poppedJob
	turn := slices.Concat(queues[m.cursor:], queues[:m.cursor])
	last := -1
	for left := count; left > 0 && len(turn) > 0; left = count - len(popped) {
		share := max(1, left/len(turn))
		turn = slices.DeleteFunc(turn, func(queue string) bool {
			want := min(share, count-len(popped))
			if want == 0 {
				return true
			}
			jobs := m.pop(queue, worker, want)
			popped = append(popped, jobs...)
			if len(jobs) > 0 {
				last = slices.Index(queues, queue)
			}
			return len(jobs) < want
		})
	}
	m.sameJobs(reply.Jobs, popped)
	if last >= 0 {
		m.cursor = (last + 1) % len(queues)
	}
	if reply.Cursor != m.cursor {
		t.Fatalf("the cursor is %d, want %d", reply.Cursor, m.cursor)
	}
}

// takeOldest compares a take of the oldest with a peek at every queue, which brings in
// what is due, and then pops of one, each from the queue whose head has the earliest
// time; the jobs of each queue are handed out together.
//
// A pop would also take away jobs whose lock ran out, those of the pops before if locks
// last no time; so it is compared only where there is none of it.
func (m *twins) takeOldest(t *rapid.T) {
	m.t = t
	worker := someWorker.Draw(t, "worker")
	queues := rapid.Permutation([]string{"a", "b", "c"}).Draw(t, "queues")
	count := rapid.IntRange(1, 5).Draw(t, "count")
	now := wire.Number(m.now)
	room := make(map[string]int)
	for _, queue := range queues {
		prefix := "ql:q:" + queue
		expired := m.single.redis.ZCount(m.ctx, prefix+"-locks", "-inf", now).Val()
		room[queue] = min(count, m.room(queue))
		if expired > 0 || m.setting(queue+"-heartbeat", m.setting("heartbeat", 60)) <= 0 || m.single.redis.ZCount(m.ctx, prefix+"-recur", "0", now).Val() > 0 {
			return
		}
	}
	reply := m.takeJobs(worker, Take{Queues: queues, Order: Oldest, Count: count})

	for _, queue := range queues {
		if room[queue] > 0 {
			m.runInTurn("peek", queue, room[queue])
		}
	}
	byQueue, popped := make(map[string][]poppedJob), 0
	for popped < count {
		best, earliest := queues[0], math.Inf(1)
		for _, queue := range queues {
			if when := m.headTime(queue); m.room(queue) > 0 && when < earliest {
				best, earliest = queue, when
			}
		}
		jobs := m.pop(best, worker, 1) // with nothing left, it still registers the worker
		if len(jobs) == 0 {
			break
		}
		byQueue[best] = append(byQueue[best], jobs...)
		popped++
	}
	for _, queue := range queues {
		taken := slices.DeleteFunc(slices.Clone(reply.Jobs), func(job Taken) bool { return job.Queue != queue })
		m.sameJobs(taken, byQueue[queue])
	}
	if len(reply.Jobs) != popped {
		t.Fatalf("took %d jobs, popped %d", len(reply.Jobs), popped)
	}
}

// room is how many more jobs of a queue may run.
func (m *twins) room(queue string) int {
	most := m.setting(queue+"-max-concurrency", 0)
	if most <= 0 {
		return math.MaxInt
	}
	running := m.single.redis.ZCount(m.ctx, "ql:q:"+queue+"-locks", wire.Number(m.now), "+inf").Val()
	return max(0, int(most)-int(running))
}

func (m *twins) setting(name string, other float64) float64 {
	if f, ok := luaNumber(m.single.redis.HGet(m.ctx, "ql:config", name).Val()); ok {
		return f
	}
	return other
}

// headTime is the time of the next job of a queue.
func (m *twins) headTime(queue string) float64 {
	head := m.single.redis.ZRevRange(m.ctx, "ql:q:"+queue+"-work", 0, 0).Val()
	if len(head) == 0 {
		return math.Inf(1)
	}
	when, _ := luaNumber(m.single.redis.HGet(m.ctx, "ql:j:"+head[0], "time").Val())
	return when
}

// TestBatchPageIsWhole compares BATCH.md with the scripts: each batch command has a row, and each
// option and field of ours that the Lua names is on the page.
func TestBatchPageIsWhole(t *testing.T) {
	text, err := os.ReadFile("BATCH.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	named := regexp.MustCompile(`named(?:\.([a-z]+)|\['([a-z-]+)'\])`)
	field := regexp.MustCompile(`'(oarlock-[a-z]+)'`)
	lua := os.DirFS("lua")
	err = fs.WalkDir(lua, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		source, err := fs.ReadFile(lua, file)
		if err != nil {
			return err
		}
		if command, found := strings.CutPrefix(file, "batch/"); found {
			if row := "| `" + strings.TrimSuffix(command, ".lua") + "` |"; !strings.Contains(page, row) {
				t.Errorf("no row %s", row)
			}
		}
		words := field.FindAllStringSubmatch(string(source), -1)
		if strings.HasPrefix(file, "batch/") || file == "lib/settle.lua" || file == "lib/enter.lua" {
			words = append(words, named.FindAllStringSubmatch(string(source), -1)...)
		}
		for _, word := range words {
			name := strings.Join(word[1:], "")
			never(t, !strings.Contains(page, "`"+name+"`"), "%s knows %s, the page does not", file, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
