package queue_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// fillScript makes jobs from ARGV[2] to ARGV[3] in ARGV[4] queues: of eight, four wait, two are scheduled, one has failed, in one
// group for all, and one is complete; every tenth has the tag t. The first queue and the rest have as many each.
const fillScript = `
local now, queues = tonumber(ARGV[1]), tonumber(ARGV[4])
for i = tonumber(ARGV[2]), tonumber(ARGV[3]) do
  local jid, q = 'job-' .. i, 'q' .. (i % queues)
  local key = 'ql:j:' .. jid
  local kind = math.floor(i / queues) % 8
  redis.call('HSET', key, 'jid', jid, 'klass', 'Klass', 'data', string.rep('x', 300), 'priority', '0', 'tags', '["t"]', 'worker', '', 'expires', '0',
    'queue', q, 'retries', '5', 'remaining', '5', 'time', string.format('%.20f', now + i / 1e6))
  redis.call('RPUSH', key .. '-history', '[' .. math.floor(now) .. ',"put",{"q":"' .. q .. '"}]')
  local state
  if kind < 4 then
    state = 'waiting'
    redis.call('ZADD', 'ql:q:' .. q .. '-work', -(now + i / 1e6) / 1e10, jid)
  elseif kind < 6 then
    state = 'scheduled'
    redis.call('ZADD', 'ql:q:' .. q .. '-scheduled', now + 1e6 + i, jid)
  elseif kind == 6 then
    state = 'failed'
    redis.call('HSET', key, 'failure', '{"group":"g","message":"m","when":' .. math.floor(now) .. ',"worker":"w"}')
    redis.call('LPUSH', 'ql:f:g', jid)
  else
    state = 'complete'
    redis.call('ZADD', 'ql:completed', now + i / 1e6, jid)
  end
  redis.call('HSET', key, 'state', state)
  if i % 10 == 0 then redis.call('ZADD', 'ql:t:t', now, jid) end
  redis.call('ZADD', 'ql:queues', now, q)
end
redis.call('SADD', 'ql:failures', 'g')
for n = 0, queues - 1 do
  local day = now - now % 86400
  redis.call('HSET', 'ql:s:run:' .. day .. ':q' .. n, 'total', 100, 'mean', 1.5, 'vk', 3)
  redis.call('HSET', 'ql:s:wait:' .. day .. ':q' .. n, 'total', 100, 'mean', 1.5, 'vk', 3)
  redis.call('HSET', 'ql:s:stats:' .. day .. ':q' .. n, 'failures', 10, 'failed', 3, 'retries', 1)
end`

// fillWorld makes so many jobs in so many queues; see fillScript.
func fillWorld(t testing.TB, c *queue.Client, jobs, queues int) {
	t.Helper()
	now := float64(time.Now().Unix())
	for from := 0; from < jobs; from += 5000 {
		if err := c.Redis().Eval(t.Context(), fillScript, nil, now, from, min(from+5000, jobs)-1, queues).Err(); err != nil && err.Error() != "redis: nil" {
			t.Fatal(err)
		}
	}
}

// cost is what Redis did for a call, or several.
type cost struct {
	calls, commands, bytes int
	longest                time.Duration // of a call: the mean over the calls, each of which was made several times
}

var commandStat = regexp.MustCompile(`cmdstat_([^:]+):calls=(\d+),usec=(\d+)`)

// costOf measures what Redis does for look, after it was done once.
func costOf(t testing.TB, c *queue.Client, look func()) (of cost) {
	t.Helper()
	private(t, c)
	ctx, rdb := t.Context(), c.Redis()
	out := func() int {
		m := regexp.MustCompile(`total_net_output_bytes:(\d+)`).FindStringSubmatch(rdb.Info(ctx, "stats").Val())
		n, _ := strconv.Atoi(m[1])
		return n
	}
	look()
	idle := out()
	idle = out() - idle
	const times = 5
	rdb.ConfigResetStat(ctx)
	before := out()
	for range times {
		look()
	}
	of.bytes = (out() - before - idle) / times
	for _, m := range commandStat.FindAllStringSubmatch(rdb.Info(ctx, "commandstats").Val(), -1) {
		calls, _ := strconv.Atoi(m[2])
		usec, _ := strconv.Atoi(m[3])
		switch m[1] {
		case "info", "config|resetstat", "time":
		case "evalsha_ro", "evalsha":
			of.calls += calls
			of.longest = max(of.longest, time.Duration(usec/calls)*time.Microsecond)
		default:
			of.commands += calls
		}
	}
	of.calls, of.commands = of.calls/times, of.commands/times
	return of
}

// looks are the reads of pages, by name, in a world made by fillWorld.
func looks(t testing.TB, c *queue.Client, queues []string) map[string]func() {
	ctx := t.Context()
	list := func(kind queue.ShelfKind, name, cursor string) func() {
		return func() {
			if l, err := c.List(ctx, queue.Shelf{Kind: kind, Name: name}, cursor, 50, queue.Brief, queue.Words{}); err != nil || len(l.Jobs) != 50 {
				t.Fatalf("%s %s: %d jobs, %v", kind, name, len(l.Jobs), err)
			}
		}
	}
	census := queues[:min(len(queues), queue.CensusChunk)]
	return map[string]func(){
		"census of the queues": func() { _, _, _ = c.Census(ctx, census) }, "waiting": list(queue.ShelfWaiting, "q0", ""), "waiting, behind": list(queue.ShelfWaiting, "q0", "+40"),
		"scheduled": list(queue.ShelfScheduled, "q0", ""), "failed": list(queue.ShelfFailed, "g", ""), "failed, behind": list(queue.ShelfFailed, "g", "60"),
		"complete": list(queue.ShelfComplete, "", ""), "complete, behind": list(queue.ShelfComplete, "", "+60"), "tag": list(queue.ShelfTag, "t", ""),
		"glance": func() { _, _ = c.Glances(ctx, queue.Whole, "job-0") }, "groups": func() { _, _ = c.FailureGroups(ctx, "", 50, queue.Brief) },
		"days": func() { _, _ = c.Days(ctx, "q0", time.Now(), 30) }, "search": func() { _, _ = c.Named(ctx, "job-0") },
	}
}

// A page costs Redis as much among very many jobs as among a thousand: in commands and in bytes.
func TestLookingCostsTheSameAmongManyJobs(t *testing.T) {
	jobs, queues := queue.Tenth(100_000), 20
	few, many := open(t, redistest.Start(t)), open(t, redistest.Start(t))
	fillWorld(t, few, 1000, 1)
	fillWorld(t, many, jobs, queues)
	names := func(c *queue.Client) []string { return must(c.QueueNames(t.Context()))(t) }
	small, large := looks(t, few, names(few)), looks(t, many, names(many))
	for name, look := range large {
		a, b := costOf(t, few, small[name]), costOf(t, many, look)
		t.Logf("%-22s %4d commands, %6d bytes, %v; among %d jobs %4d commands, %6d bytes, %v", name, a.commands, a.bytes, a.longest, jobs, b.commands, b.bytes, b.longest)
		if name == "census of the queues" {
			n := min(queues, queue.CensusChunk)
			a.commands, a.bytes = a.commands*n, a.bytes*n
		}
		if float64(b.commands) > 1.3*float64(a.commands) || float64(b.bytes) > 1.3*float64(a.bytes)+200 {
			t.Errorf("%s: %+v among a thousand jobs, %+v among %d", name, a, b, jobs)
		}
		never(t, b.bytes > 64<<10, "%s: a reply of %d bytes", name, b.bytes)
		never(t, !testing.Short() && b.longest > 20*time.Millisecond, "%s: a call of %v", name, b.longest)
	}
}

// TestReadingAJobOfManyDependents: of a job for which very many others wait, or that waits for them, 10,000 of each are read, and how many there are.
func TestReadingAJobOfManyDependents(t *testing.T) {
	c, ctx := open(t, redistest.Shared(t)), t.Context()
	for _, n := range []int{3, 10_000, 30_000} {
		jid := fmt.Sprint("j", n)
		must(c.Put(ctx, queue.Put{Queue: "q", JID: jid, Klass: "K"}))(t)
		members := make([]any, n)
		for i := range members {
			members[i] = fmt.Sprint("other-", i)
		}
		for _, set := range []string{"-dependents", "-dependencies"} {
			must(c.Redis().SAdd(ctx, "ql:j:"+jid+set, members...).Result())(t)
		}
		job := must(c.Get(ctx, jid))(t)
		named := map[string]bool{}
		for _, other := range job.Dependents {
			named[other] = true
		}
		if most := min(n, 10_000); job.DependedOn != n || job.DependsOn != n || len(named) != most || len(job.Dependents) != most || len(job.Dependencies) != most {
			t.Errorf("of %d: %d dependents of %d (%d different), %d dependencies of %d", n, len(job.Dependents), job.DependedOn, len(named), len(job.Dependencies), job.DependsOn)
		}
	}
}
