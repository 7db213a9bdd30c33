package queue_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"oarlock/internal/embedded"
	"oarlock/queue"
)

// TestTheEmbeddedServerCarriesLargeJobs moves a job of 1, 4 and 16 MiB through put, take, held and complete on the embedded server: each call
// allocates in proportion, a few times the job.
func TestTheEmbeddedServerCarriesLargeJobs(t *testing.T) {
	server, err := embedded.Start("")
	if err != nil {
		t.Fatal(err)
	}
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
		call("complete", func() {
			done := must(s.Exchange(t.Context(), []queue.Settlement{{JID: p.JID, Queue: "q", Popped: r.Jobs[0].Popped, Action: queue.Complete}}, queue.Take{}))(t)
			ok(t, done.Results[0].Err)
		})
		for name, mib := range now {
			if size > 1 && mib > 6*before[name]+1 {
				t.Errorf("%s allocates %.0f MiB for a job of %d MiB, and %.0f for a quarter of that", name, mib, size, before[name])
			}
			if size > 0 && mib > float64(12*size+8) {
				t.Errorf("%s allocates %.0f MiB for a job of %d MiB", name, mib, size)
			}
		}
		before = now
	}
}
