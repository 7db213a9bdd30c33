package queue_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"oarlock/internal/embedded"
	"oarlock/internal/faultproxy"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// TestTheEmbeddedServerCarriesLargeJobs moves a job of 1, 4 and 16 MiB through put, take, held and complete on the embedded server: each call
// allocates in proportion, a few times the job.
func TestTheEmbeddedServerCarriesLargeJobs(t *testing.T) {
	server := must(embedded.Start(""))(t)
	t.Cleanup(server.Close)
	c := must(queue.Open(t.Context(), queue.Options{URL: server.URL(), ReadTimeout: 10 * time.Minute}))(t)
	t.Cleanup(func() { c.Close() })
	s := c.Session("w")
	var before map[string]float64
	for _, size := range []int{0, 1, 4, 16} {
		now := map[string]float64{}
		call := func(name string, f func()) {
			var a, b runtime.MemStats
			runtime.ReadMemStats(&a)
			f()
			runtime.ReadMemStats(&b)
			now[name] = float64(b.TotalAlloc-a.TotalAlloc) / (1 << 20)
		}
		p := queue.Put{Queue: "q", JID: fmt.Sprint("j", size), Klass: "K", Data: []byte(`"` + strings.Repeat("x", size<<20) + `"`)}
		var r queue.Reply
		call("put", func() { must(c.Put(t.Context(), p))(t) })
		call("take", func() { r = must(s.Exchange(t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 1}))(t) })
		if len(r.Jobs) != 1 || len(r.Jobs[0].Data) != len(p.Data) {
			t.Fatalf("%d jobs were taken", len(r.Jobs))
		}
		call("held", func() { must(s.Held(t.Context(), []string{"q"}))(t) })
		call("audit", func() {
			held := must(s.Held(t.Context(), []string{"q"}, queue.RenewItem{JID: p.JID, Queue: "q", Popped: r.Jobs[0].Popped}))(t)
			equal(t, "held beside what is in flight", len(held), 0)
		})
		if size > 0 && now["audit"] > 1 {
			t.Errorf("an audit allocates %.0f MiB beside a job of %d MiB in flight", now["audit"], size)
		}
		call("complete", func() {
			done := must(s.Exchange(t.Context(), []queue.Settlement{{JID: p.JID, Queue: "q", Popped: r.Jobs[0].Popped, Action: queue.Complete}}, queue.Take{}))(t)
			ok(t, done.Results[0].Err)
		})
		for name, mib := range now {
			if size > 1 && mib > 6*before[name]+1 {
				t.Errorf("%s allocates %.0f MiB for a job of %d MiB, and %.0f for a quarter of that", name, mib, size, before[name])
			}
			never(t, size > 0 && mib > float64(12*size+8), "%s allocates %.0f MiB for a job of %d MiB", name, mib, size)
		}
		before = now
	}
}

// TestALargeJobOverASlowLine carries a job of 4 MiB at 300 KiB per second, with a timeout of 10 seconds. Put, take and the search
// for a lost take need 14 seconds each and succeed, because bytes flow. A connection that delivers nothing is given up.
func TestALargeJobOverASlowLine(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a timeout that a slow machine cannot miss takes a minute; TestTimeLimitsGrowWithBytes has fake time")
	}
	server := redistest.Shared(t)
	proxy := faultproxy.Start(t, "unix", server.Addr)
	_, db, _ := strings.Cut(server.URL, "?db=")
	c := must(queue.Open(t.Context(), queue.Options{URL: proxy.URL + "/" + db, ReadTimeout: 10 * time.Second}))(t)
	t.Cleanup(func() { c.Close() })
	s := session(t, c, "w")
	take(t, s, queue.Take{Queues: []string{"q"}, Count: 1}) // the scripts are there
	proxy.Limit(300 << 10)
	p := queue.Put{Queue: "q", JID: "j", Klass: "K", Data: []byte(`"` + strings.Repeat("x", 4<<20) + `"`)}
	must(c.Put(t.Context(), p))(t)
	reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
	equal(t, "taken", jids(reply.Jobs), "j")
	equal(t, "held", jids(must(s.Held(t.Context(), []string{"q"}))(t)), "j")
	proxy.Hold(faultproxy.Replies)
	defer proxy.Release(faultproxy.Replies)
	if _, err := s.Exchange(t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 1}); !errors.Is(err, queue.ErrDoubt) {
		t.Errorf("a line that stands: %v", err)
	}
}

// TestHeldLeavesOutWhatIsInFlight asks what Redis holds: a job in flight is left out, unless it was popped again since.
func TestHeldLeavesOutWhatIsInFlight(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		putAll(t, c, queue.Put{Queue: "q", JID: "a", Klass: "K"}, queue.Put{Queue: "q", JID: "b", Klass: "K"})
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 2})
		inFlight := []queue.RenewItem{{JID: "a", Queue: "q", Popped: reply.Jobs[0].Popped}, {JID: "b", Queue: "q", Popped: reply.Jobs[1].Popped}}
		equal(t, "beside both", jids(must(s.Held(t.Context(), []string{"q"}, inFlight...))(t)), "")
		equal(t, "beside one", jids(must(s.Held(t.Context(), []string{"q"}, inFlight[1]))(t)), "a")
		must(s.Exchange(t.Context(), []queue.Settlement{{JID: "a", Queue: "q", Popped: inFlight[0].Popped, Action: queue.Release}}, queue.Take{}))(t)
		take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		equal(t, "popped again", jids(must(s.Held(t.Context(), []string{"q"}, inFlight...))(t)), "a")
	})
}

// TestHeldLooksAtMoreThanOneCallMay asks beside more jobs in flight than one call looks at.
func TestHeldLooksAtMoreThanOneCallMay(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		const n = 1000
		s := session(t, c, "w")
		puts := make([]queue.Put, n)
		for i := range puts {
			puts[i] = queue.Put{Queue: "q", JID: fmt.Sprint("j", i), Klass: "K"}
		}
		putAll(t, c, puts...)
		var inFlight []queue.RenewItem
		for len(inFlight) < n {
			reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: n - len(inFlight)})
			for _, job := range reply.Jobs {
				inFlight = append(inFlight, queue.RenewItem{JID: job.JID, Queue: "q", Popped: job.Popped})
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		equal(t, "beside all", jids(must(s.Held(ctx, []string{"q"}, inFlight...))(t)), "")
		equal(t, "beside all but one", jids(must(s.Held(ctx, []string{"q"}, inFlight[1:]...))(t)), inFlight[0].JID)
	})
}

// TestATakeHasABoundOfBytes takes less at once than fits into a call, but always one job, in each order, and from a list.
func TestATakeHasABoundOfBytes(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		const size = 1000
		data := []byte(`"` + strings.Repeat("x", size-2) + `"`)
		s := session(t, c, "w")
		for _, order := range []queue.Order{queue.Ordered, queue.RoundRobin, queue.Oldest} {
			for _, tt := range []struct {
				bytes int64
				want  int
			}{{0, 6}, {1, 1}, {size, 1}, {3 * size, 3}, {4*size - 1, 3}, {1 << 40, 6}} {
				for i := range 6 {
					must(c.Put(t.Context(), queue.Put{Queue: "q", JID: fmt.Sprint("j", i), Klass: "K", Data: data}))(t)
				}
				reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Order: order, Count: 9, Bytes: tt.bytes})
				if len(reply.Jobs) != tt.want || reply.More != (tt.want < 6) {
					t.Errorf("%s: within %d bytes %d jobs were taken, more: %v", order, tt.bytes, len(reply.Jobs), reply.More)
				}
			}
		}
		l := hworker()
		w := &listed{t: t, redis: c.Redis(), c: c, list: l}
		w.s = w.session("w")
		w.push(mail(1), mail(2), mail(3))
		reply := must(w.s.Exchange(t.Context(), nil, queue.Take{Count: 3, Bytes: 1}))(t)
		if len(reply.Jobs) != 1 || !reply.More {
			t.Errorf("%d entries of a list were taken, more: %v", len(reply.Jobs), reply.More)
		}
	})
}
