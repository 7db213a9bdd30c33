package queue_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// mixedQueue fills q with jobs in every state; those in the list are at rest.
func mixedQueue(t *testing.T, c *queue.Client, s *queue.Session) (rest []string) {
	t.Helper()
	takeOne(t, c, s, queue.Put{Queue: "q", JID: "running", Klass: "K"})
	failedJob(t, c, s, "failed")
	putAll(t, c,
		queue.Put{Queue: "q", JID: "low", Klass: "K", Priority: ptr(1.0), Tags: []string{"red"}},
		queue.Put{Queue: "q", JID: "high", Klass: "K", Priority: ptr(5.0), Throttles: []string{"t"}},
		queue.Put{Queue: "q", JID: "later", Klass: "K", Delay: time.Hour, Timeout: time.Minute},
		queue.Put{Queue: "q", JID: "a", Klass: "K"},
		queue.Put{Queue: "q", JID: "b", Klass: "K", Depends: []string{"a"}},
		queue.Put{Queue: "q", JID: "c", Klass: "K", Depends: []string{"b"}},
		queue.Put{Queue: "q", JID: "needed", Klass: "K"},
		queue.Put{Queue: "elsewhere", JID: "outside", Klass: "K", Depends: []string{"needed"}})
	must(c.Track(t.Context(), "low"))(t)
	return []string{"low", "high", "later", "a", "b", "c", "needed"}
}

func TestPurge(t *testing.T) {
	server := redistest.Shared(t)
	c := open(t, server)
	rest := mixedQueue(t, c, session(t, c, "w"))
	got := must(c.Clear(t.Context(), queue.Clearing{Queue: "q"}))(t)
	equal(t, "purged", got.Done, len(rest)-1)
	equal(t, "left", fmt.Sprint(got.Left), "[{needed outside waits for it}]")
	for _, jid := range []string{"running", "failed", "needed", "outside"} {
		must(c.Get(t.Context(), jid))(t)
	}
	raw := server.Client(t)
	for _, key := range raw.Keys(t.Context(), "*").Val() {
		for _, jid := range rest[:6] {
			never(t, strings.Contains(key, ":"+jid), "%s is left", key)
		}
	}
	if left := raw.ZRange(t.Context(), "ql:t:red", 0, -1).Val(); !slices.Equal(left, []string{"failed"}) {
		t.Errorf("tagged: %v", left)
	}
	equal(t, "again", must(c.Clear(t.Context(), queue.Clearing{Queue: "q"}))(t).Done, 0)
}

func TestPurgeOfSomeStates(t *testing.T) {
	c := fresh(t)
	mixedQueue(t, c, session(t, c, "w"))
	equal(t, "scheduled", must(c.Clear(t.Context(), queue.Clearing{Queue: "q", States: []string{"scheduled"}}))(t).Done, 1)
	got := must(c.Clear(t.Context(), queue.Clearing{Queue: "q", States: []string{"waiting"}}))(t)
	equal(t, "waiting", fmt.Sprint(got.Done, got.Kept), "2 2") // a, for b waits; needed
	if _, err := c.Clear(t.Context(), queue.Clearing{Queue: "q", States: []string{"running"}}); err == nil {
		t.Error("running jobs can be purged")
	}
	if _, err := c.Clear(t.Context(), queue.Clearing{Queue: "q", To: "q"}); err == nil {
		t.Error("a queue can be moved to itself")
	}
}

// TestMovedJobsKeepTheirPlaces: order, priority, due times and retries are as they were, also among
// those that were in the other queue before.
func TestMovedJobsKeepTheirPlaces(t *testing.T) {
	server := redistest.Shared(t)
	c := open(t, server)
	s := session(t, c, "w")
	putAll(t, c, queue.Put{Queue: "to", JID: "first", Klass: "K", Retries: ptr(2)})
	rest := mixedQueue(t, c, s)
	putAll(t, c, queue.Put{Queue: "to", JID: "last", Klass: "K"})
	raw := server.Client(t)
	due := raw.ZScore(t.Context(), "ql:q:q-scheduled", "later").Val()
	got := must(c.Clear(t.Context(), queue.Clearing{Queue: "q", To: "to"}))(t)
	equal(t, "moved", fmt.Sprint(got.Done, got.Kept), fmt.Sprint(len(rest), 0))
	order := raw.ZRangeArgs(t.Context(), redis.ZRangeArgs{Key: "ql:q:to-work", Start: 0, Stop: -1, Rev: true}).Val()
	equal(t, "order", strings.Join(order, " "), "high low first a needed last")
	equal(t, "due", raw.ZScore(t.Context(), "ql:q:to-scheduled", "later").Val(), due)
	for jid, want := range map[string]string{"a": "waiting", "b": "depends", "later": "scheduled", "running": "running", "failed": "failed"} {
		job := must(c.Get(t.Context(), jid))(t)
		equal(t, jid, job.State, want)
		equal(t, "queue of "+jid, job.Queue, map[bool]string{true: "q", false: "to"}[jid == "running" || jid == "failed"])
	}
	equal(t, "timeout", must(c.Get(t.Context(), "later"))(t).Kept.Timeout, time.Minute)
	for range order { // a frees b, and so on, in the new queue
		reply, _ := take(t, s, queue.Take{Queues: []string{"to"}, Count: 1})
		settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete})
	}
	equal(t, "b", must(c.Get(t.Context(), "b"))(t).State, "waiting")
}

// TestThrottledJobsMoveAndGo: one that waits for a throttle tries for it from the new queue, and
// one that is purged leaves the line.
func TestThrottledJobsMoveAndGo(t *testing.T) {
	server := redistest.Shared(t)
	c := open(t, server)
	s := session(t, c, "w")
	ok(t, c.SetThrottle(t.Context(), queue.Throttle{ID: "t", Maximum: 1}))
	for _, jid := range []string{"one", "two", "three"} {
		putAll(t, c, queue.Put{Queue: "q", JID: jid, Klass: "K", Throttles: []string{"t"}})
	}
	reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 3})
	equal(t, "taken", len(reply.Jobs), 1)
	equal(t, "throttled", must(c.Queue(t.Context(), "q"))(t).Throttled, 2)
	equal(t, "moved", must(c.Clear(t.Context(), queue.Clearing{Queue: "q", To: "to"}))(t).Done, 2)
	equal(t, "waiting", must(c.Queue(t.Context(), "to"))(t).Waiting, 2)
	take(t, s, queue.Take{Queues: []string{"to"}, Count: 3})
	equal(t, "throttled again", must(c.Queue(t.Context(), "to"))(t).Throttled, 2)
	equal(t, "purged", must(c.Clear(t.Context(), queue.Clearing{Queue: "to"}))(t).Done, 2)
	equal(t, "pending", server.Client(t).ZCard(t.Context(), "ql:th:t-pending").Val(), int64(0))
	settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete})
}

// TestClearLeavesWhatComesLater: producers that go on do not keep it from ending.
func TestClearLeavesWhatComesLater(t *testing.T) {
	c := fresh(t)
	for i := range 300 {
		putAll(t, c, queue.Put{Queue: "q", JID: fmt.Sprint("j", i), Klass: "K"})
	}
	n := 0
	got := must(c.Clear(t.Context(), queue.Clearing{Queue: "q", Progress: func(int) {
		n++
		putAll(t, c, queue.Put{Queue: "q", JID: fmt.Sprint("new", n), Klass: "K", Priority: ptr(9.0)})
	}}))(t)
	equal(t, "done", got.Done, 300)
	if counts := must(c.Queue(t.Context(), "q"))(t); counts.Waiting != n {
		t.Errorf("%d wait, %d were put meanwhile", counts.Waiting, n)
	}
}

// TestClearGoesOnAfterAnInterruption: what was done stays done, and the next call does the rest.
func TestClearGoesOnAfterAnInterruption(t *testing.T) {
	c := fresh(t)
	var puts []queue.Put
	for i := range 1000 {
		puts = append(puts, queue.Put{Queue: "q", JID: fmt.Sprint("j", i), Klass: "K"})
	}
	putAll(t, c, puts...)
	ctx, cancel := context.WithCancel(t.Context())
	got, err := c.Clear(ctx, queue.Clearing{Queue: "q", To: "other", Progress: func(n int) {
		if n > 0 {
			cancel()
		}
	}})
	if err == nil || got.Done == 0 || got.Done == 1000 {
		t.Fatalf("%d moved, %v", got.Done, err)
	}
	rest := must(c.Clear(t.Context(), queue.Clearing{Queue: "q", To: "other"}))(t)
	equal(t, "all", got.Done+rest.Done, 1000)
	equal(t, "waiting", must(c.Queue(t.Context(), "other"))(t).Waiting, 1000)
}

// TestClearNeverHoldsRedisForLong measures the longest call, against one that takes 50 jobs, of a
// queue with very many jobs.
func TestClearNeverHoldsRedisForLong(t *testing.T) {
	queue.Long(t, "it measures time")
	const jobs = 100_000
	server := redistest.Start(t)
	c, raw := open(t, server), server.Client(t)
	for at := 0; at < jobs; at += 5000 {
		puts := make([]queue.Put, 5000)
		for i := range puts {
			puts[i] = queue.Put{Queue: "q", Klass: "K", Tags: []string{"red"}}
		}
		must(c.PutAll(t.Context(), puts))(t)
	}
	for _, to := range []string{"other", ""} {
		from := map[bool]string{true: "q", false: "other"}[to != ""]
		ok(t, raw.ConfigSet(t.Context(), "slowlog-log-slower-than", "2000").Err())
		raw.Do(t.Context(), "slowlog", "reset")
		raw.ConfigResetStat(t.Context())
		began, calls := time.Now(), 0
		got := must(c.Clear(t.Context(), queue.Clearing{Queue: from, To: to, Progress: func(int) { calls++ }}))(t)
		equal(t, "done", got.Done, jobs)
		longest := int64(0)
		slow := raw.SlowLogGet(t.Context(), 10_000).Val()
		for _, entry := range slow {
			longest = max(longest, entry.Duration.Microseconds())
		}
		usec := infoNumber(raw.Info(t.Context(), "commandstats").Val(), "cmdstat_evalsha:", "usec_per_call=")
		t.Logf("%d jobs of %s to %q in %v, %d calls of %.0f µs; longest above 2 ms: %d µs, of %d", jobs, from, to, time.Since(began), calls, usec, longest, len(slow))
		never(t, calls < jobs/100 || usec > 20_000, "%d calls of %.0f µs", calls, usec)
	}
}

// infoNumber is a number of a line of INFO.
func infoNumber(info, line, name string) float64 {
	_, rest, _ := strings.Cut(info, line)
	_, rest, _ = strings.Cut(rest, name)
	number := rest[:strings.IndexAny(rest+",", ",\r\n")]
	n, _ := strconv.ParseFloat(number, 64)
	return n
}
