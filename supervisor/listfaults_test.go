package supervisor

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/internal/faultproxy"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// ledgered is the entry of a job that notes its beginning, and takes so long, in seconds.
func (w *world) ledgered(sleep float64) string {
	return fmt.Sprintf(`{"ledger":%q,"sleep":%g}`, w.ledger, sleep)
}

// over waits until nothing waits or is in work, and so many are broken.
func (w *world) over(broken int) {
	w.t.Helper()
	w.awaitCounts(queue.ListCounts{Broken: broken})
}

// beganOnce checks that each of so many ids began once, and nothing else did.
func (w *world) beganOnce(ids ...string) {
	w.t.Helper()
	begun := w.beginnings()
	slices.Sort(begun)
	for i := range ids {
		ids[i] += "/1"
	}
	slices.Sort(ids)
	if !slices.Equal(begun, ids) {
		times := map[string]int{}
		for _, id := range begun {
			times[id]++
		}
		for _, id := range ids {
			if times[id] != 1 {
				w.t.Errorf("%s began %d times", id, times[id])
			}
			delete(times, id)
		}
		w.t.Errorf("besides there began %v", times)
	}
}

// numbered are n ids.
func numbered(prefix string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprint(prefix, i)
	}
	return ids
}

// Replies that do not come, and requests that do not arrive, lose no entry and run none twice, with two supervisors at
// one list, between garbage and entries that are there several times, byte for byte.
func TestListThroughLostReplies(t *testing.T) {
	w := newWorld(t)
	proxy := faultproxy.Start(t, "unix", w.server.Addr)
	ids := numbered("a", scaled(100, 300))
	for i, id := range ids {
		w.push(w.ledgered(0), id)
		if i%50 == 0 {
			must(t, w.client.Redis().LPush(t.Context(), "hworker-jobs-mail", fmt.Sprintf("garbage \xff %d", i)).Err())
			w.push(w.ledgered(0), "again")
			ids = append(ids, "again")
		}
	}
	proxy.Drop(0.1, "evalsha", 1)
	proxy.Lose(0.05, "evalsha", 2)
	for range 2 {
		through := *w
		client, err := queue.Open(t.Context(), queue.Options{URL: proxy.URL})
		must(t, err)
		t.Cleanup(func() { client.Close() })
		through.client = client
		through.run(Config{Pools: []Pool{w.listPool(2)}, PollInterval: 50 * time.Millisecond})
	}
	w.over(scaled(2, 6))
	w.beganOnce(ids...)
	if proxy.Dropped() == 0 || proxy.Lost() == 0 {
		t.Error("no fault happened")
	}
	t.Logf("%d replies dropped, %d requests lost", proxy.Dropped(), proxy.Lost())
}

// A Redis that is killed and comes back with all it has told of knows each entry, and none runs twice.
func TestListThroughRestartsOfRedis(t *testing.T) {
	w := newWorld(t, slices.Concat(redistest.AOF[:2], []string{"--appendfsync", "always"}, redistest.InMemory(t))...)
	ids := numbered("a", 150)
	w.push(w.ledgered(0.002), ids...)
	w.run(Config{Pools: []Pool{w.listPool(3)}, PollInterval: 50 * time.Millisecond})
	for kill := range 3 {
		w.until("they go on", func() bool { return len(w.beginnings()) >= 40*(kill+1) })
		w.server.Kill()
		w.server.Restart()
	}
	w.over(0)
	w.beganOnce(ids...)
}

// While Redis is out of memory, what ends is settled and nothing is taken; while it takes no writes, verdicts wait. Either
// way no entry is lost, and none runs twice.
func TestListWhileRedisTakesNoWrites(t *testing.T) {
	for _, trouble := range []struct {
		name       string
		begin, end []any
		settles    bool
	}{
		{"no memory", []any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"}, true},
		{"a replica", []any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"}, false},
	} {
		t.Run(trouble.name, func(t *testing.T) {
			w := newWorld(t)
			said := func(ending string) string {
				return fmt.Sprintf(`{"ledger":%q,"until":%q,"do":%q,"with":{"group":"g","message":"m"}}`, w.ledger, w.ledger+".go", ending)
			}
			w.push(said("ack"), "good")
			w.push(said("fail"), "bad")
			w.push(said("retry"), "again")
			w.push(w.ledgered(0), "next")
			s := w.run(Config{Pools: []Pool{w.listPool(3)}, PollInterval: 20 * time.Millisecond})
			w.until("three have begun", func() bool { return len(w.beginnings()) == 3 })
			must(t, w.client.Redis().Do(t.Context(), trouble.begin...).Err())
			must(t, os.WriteFile(w.ledger+".go", nil, 0o600))
			if trouble.settles {
				w.until("what ended is settled", func() bool { c := w.counts(); return c.Failed == 1 && c.Waiting+c.Progress <= 2 })
			} else {
				w.until("verdicts wait", func() bool { return s.Snapshot().Pools[0].Unsettled == 3 })
				w.awaitCounts(queue.ListCounts{Waiting: 1, Progress: 3})
			}
			must(t, w.client.Redis().Do(t.Context(), trouble.end...).Err())
			w.until("it goes on", func() bool {
				begun := w.beginnings()
				return slices.Contains(begun, "next/1") && slices.Contains(begun, "again/3")
			})
			for _, id := range []string{"good", "bad", "next"} {
				same(t, strings.Count(strings.Join(w.beginnings(), " "), id+"/"), 1, "%s began %d times", id)
			}
		})
	}
}

// until waits until something is so.
func (w *world) until(what string, so func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !so(); {
		if time.Now().After(end) {
			w.t.Fatalf("it is not so that %s: %v", what, w.beginnings())
		}
		time.Sleep(2 * time.Millisecond) // nobody tells
	}
}

// What an hworker left in work when it died runs once, though three supervisors monitor the list and take from it.
func TestThreeMonitorsAfterAForeignWorker(t *testing.T) {
	w := newWorld(t)
	ids := numbered("a", 200)
	left := time.Now().UTC().Add(-time.Hour).Format(`"2006-01-02T15:04:05.000Z"`)
	for _, id := range ids {
		must(t, w.client.Redis().HSet(t.Context(), "hworker-progress-mail", queue.Envelope(id, []byte(w.ledgered(0))), left).Err())
	}
	must(t, w.client.Redis().HSet(t.Context(), "hworker-progress-mail", "false", left).Err())
	putBack := 0
	var all []*Supervisor
	for range 3 {
		p := w.listPool(1)
		p.List.Timeout = time.Minute
		all = append(all, w.run(Config{Pools: []Pool{p}, PollInterval: 20 * time.Millisecond}))
	}
	w.until("all have begun", func() bool { return len(w.beginnings()) >= len(ids) })
	w.over(0)
	w.beganOnce(ids...)
	for _, s := range all {
		w.until("it is told", func() bool { return s.Snapshot().Pools[0].List.Progress == 0 })
		putBack += s.Snapshot().Pools[0].List.PutBack
	}
	if putBack != len(ids) {
		t.Errorf("three monitors say that they put back %d of %d", putBack, len(ids))
	}
}
