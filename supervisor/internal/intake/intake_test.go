package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/internal/faultproxy"
	"oarlock/internal/redistest"
	"oarlock/queue"
	"oarlock/supervisor/internal/gate"
)

// plain reads an entry as the data of a job; what begins with "bad" is none.
func plain(entry string) (queue.Put, error) {
	if strings.HasPrefix(entry, "bad") {
		return queue.Put{}, errors.New("it is bad")
	}
	return queue.Put{Queue: "q", Klass: "K", Data: queue.PlainData(entry)}, nil
}

func outbox(window int) []Source {
	return []Source{{Queue: "q", List: "outbox", As: "data", Window: window, Read: plain}}
}

// client is a queue.Client as a supervisor wraps it.
type client struct{ *queue.Client }

func (c client) ListWaiter(list string) Waiter { return c.Client.ListWaiter(list) }

// running is a keeper that runs, and its end.
func running(t *testing.T, redis Redis, ping func(context.Context) error, sources []Source) (k *Keeper, end func()) {
	log := slog.New(slog.DiscardHandler)
	g := gate.New(ping, log, nil)
	k = New(redis, g, time.Second, log)
	k.Set(sources)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { g.Run(ctx) })
	all.Go(func() { k.Run(ctx) })
	return k, func() { stop(); all.Wait() }
}

// Entries become jobs, each one of them, though replies are lost, requests do not arrive, keepers end in the middle and others
// do the same beside them; entries that are alike are as many jobs.
func TestEachEntryBecomesOneJob(t *testing.T) {
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, "unix", server.Addr)
	db := server.Client(t)
	entries, kinds := 3000, 700
	if testing.Short() {
		entries, kinds = 600, 140
	}
	for i := range entries {
		if err := db.LPush(t.Context(), "outbox", i%kinds).Err(); err != nil {
			t.Fatal(err)
		}
	}
	proxy.Drop(0.2, "evalsha", 1)
	proxy.Lose(0.1, "evalsha", 2)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for db.LLen(t.Context(), "outbox").Val() > 0 && !t.Failed() {
				c, err := queue.Open(t.Context(), queue.Options{URL: proxy.URL})
				if err != nil {
					t.Error(err)
					return
				}
				before := db.LLen(t.Context(), "outbox").Val()
				_, end := running(t, client{c}, c.Ping, outbox(100_000))
				for n := before; n > 0 && n > before-int64(entries/6); n = db.LLen(t.Context(), "outbox").Val() {
					time.Sleep(time.Millisecond) // a list tells nobody
				}
				c.Close() // as if it were killed: what is under way is not heard
				end()
			}
		})
	}
	all.Wait()
	got := map[string]int{}
	for _, jid := range db.ZRange(t.Context(), "ql:q:q-work", 0, -1).Val() {
		got[db.HGet(t.Context(), "ql:j:"+jid, "data").Val()]++
	}
	sum := 0
	for i := range kinds {
		want := entries / kinds
		if i < entries%kinds {
			want++
		}
		if n := got[fmt.Sprint(i)]; n != want {
			t.Errorf("there are %d jobs of entry %d, and were %d entries", n, i, want)
		}
		sum += want
	}
	t.Logf("%d entries, %d replies dropped, %d requests lost", sum, proxy.Dropped(), proxy.Lost())
	if proxy.Dropped() == 0 || proxy.Lost() == 0 {
		t.Error("no fault happened")
	}
}

// What is pushed to a list that is waited for is a job soon; what cannot be one is set aside, with its reason, be it ours
// or that of Redis, and holds up nothing. A list that leaves is left alone, and others are not touched by that.
func TestAKeeperGoesOn(t *testing.T) {
	server := redistest.Start(t)
	db := server.Client(t)
	c, err := queue.Open(t.Context(), queue.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	named := Source{Queue: "q", List: "named", Window: 10, Read: func(entry string) (queue.Put, error) {
		return queue.Put{Queue: "q", JID: entry, Klass: "K"}, nil
	}}
	k, end := running(t, client{c}, c.Ping, append(outbox(10), named))
	defer end()
	db.Set(t.Context(), "ql:j:odd", "no hash", 0)
	db.RPush(t.Context(), "outbox", "3", "bad", "2", "1")
	db.RPush(t.Context(), "named", "b", "odd", "a")
	await(t, "all are taken in", func() bool {
		return db.Exists(t.Context(), "outbox", "named").Val() == 0 && db.ZCard(t.Context(), "ql:q:q-work").Val() == 5
	})
	if b := db.HGetAll(t.Context(), "ql:oarlock:broken:outbox").Val(); len(b) != 1 || !strings.Contains(b["bad"], "it is bad") {
		t.Errorf("broken of outbox are %v", b)
	}
	if b := db.HGetAll(t.Context(), "ql:oarlock:broken:named").Val(); len(b) != 1 || !strings.Contains(b["odd"], "WRONGTYPE") {
		t.Errorf("broken of named are %v", b)
	}
	await(t, "it is told", func() bool {
		s := k.Snapshot()
		return len(s) == 2 && s[0].Moved == 4 && s[0].Jobs == 3 && s[0].Broken == 1 && s[1].Jobs == 2 && s[1].Broken == 1 && s[0].Trouble == ""
	})
	db.LPush(t.Context(), "outbox", "4")
	await(t, "one more is a job", func() bool { return db.ZCard(t.Context(), "ql:q:q-work").Val() == 6 })
	k.Set([]Source{named})
	await(t, "one list is left", func() bool { return len(k.Snapshot()) == 1 })
	if s := k.Snapshot(); s[0].Jobs != 2 {
		t.Errorf("the list that stayed began anew: %+v", s)
	}
	db.LPush(t.Context(), "named", "c")
	await(t, "the other goes on", func() bool { return db.ZCard(t.Context(), "ql:q:q-work").Val() == 7 })
	db.Set(t.Context(), "named2", "no list", 0)
	named.List = "named2"
	k.Set([]Source{named})
	await(t, "trouble is told", func() bool { s := k.Snapshot(); return len(s) == 1 && strings.Contains(s[0].Trouble, "WRONGTYPE") })
}

// await waits until something is so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); {
		if time.Now().After(end) {
			t.Fatalf("it is not so that %s", what)
		}
		time.Sleep(2 * time.Millisecond) // Redis tells nobody
	}
}

// endless is a Redis with an endless list and a queue that is worked at a pace.
type endless struct {
	rate  float64 // jobs a second
	mu    sync.Mutex
	at    time.Time
	wait  float64 // jobs that wait
	calls int
	idle  time.Duration // that nothing waited
}

func (e *endless) NextOfList(_ context.Context, _ string, n int) ([]string, error) {
	return make([]string, n), nil
}

func (e *endless) TakeIn(_ context.Context, _, _ string, window int, entries []queue.Intake) (queue.TakenIn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls++
	passed := time.Since(e.at)
	if left := e.rate * passed.Seconds(); left > e.wait && e.calls > 1 {
		e.idle += time.Duration((left - e.wait) / e.rate * float64(time.Second))
	}
	e.wait = max(0, e.wait-e.rate*passed.Seconds())
	e.at = time.Now()
	room := window - int(e.wait)
	moved := min(max(room, 0), len(entries))
	e.wait += float64(moved)
	time.Sleep(100 * time.Microsecond)
	return queue.TakenIn{Moved: moved, Jobs: moved, Full: moved >= room}, nil
}

func (e *endless) ListWaiter(string) Waiter { return e }

func (e *endless) Await(context.Context) error { panic("the list is endless") }

func (e *endless) Close() error { return nil }

// A window that is full costs few calls, and yet those who work the queue are not kept waiting.
func TestAFullWindowIsPaced(t *testing.T) {
	for _, tt := range []struct {
		rate   float64
		window int
		calls  float64 // at most, a second
	}{{0, 1000, 1.5}, {0.5, 1000, 2}, {30, 1000, 6}, {2000, 1000, 80}, {5000, 1000, 200}, {3, 1, 8}} {
		synctest.Test(t, func(t *testing.T) {
			redis := &endless{rate: tt.rate, at: time.Now()}
			_, end := running(t, redis, func(context.Context) error { return nil }, outbox(tt.window))
			lasts := 100 * time.Second
			if testing.Short() && tt.rate >= 2000 {
				lasts /= 5
			}
			time.Sleep(lasts)
			end()
			if n := float64(redis.calls) / lasts.Seconds(); n > tt.calls || tt.window > 1 && redis.idle > lasts/50 {
				t.Errorf("%+v: %.1f calls a second, and for %v nothing waited", tt, n, redis.idle)
			}
		})
	}
}
