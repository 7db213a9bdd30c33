package queue_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// drain takes and completes all jobs of a queue, some at a time, and returns their jids in the order of the takes.
func drain(t *testing.T, c *queue.Client, name string, some int) (jids []string) {
	t.Helper()
	s := session(t, c, "w")
	var settled []queue.Settlement
	for {
		reply := must(s.Exchange(t.Context(), settled, queue.Take{Queues: []string{name}, Count: some}))(t)
		settled = nil
		for _, job := range reply.Jobs {
			jids = append(jids, job.JID)
			settled = append(settled, queue.Settlement{JID: job.JID, Queue: name, Action: queue.Complete})
		}
		if len(reply.Jobs) == 0 && !reply.More {
			return jids
		}
	}
}

// TestPlannedForThePast: what is planned for a time that is past comes by that time, as what is planned for one that is to come does: before what
// was put earlier and planned for later, with a key and without, by one call and by many.
func TestPlannedForThePast(t *testing.T) {
	for name, keyOf := range map[string]func(i int) string{
		"no key": func(int) string { return "" }, "one key": func(int) string { return "k" }, "keys": func(i int) string { return fmt.Sprint("k", i) },
	} {
		for _, together := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, together %v", name, together), func(t *testing.T) {
				c := open(t, redistest.Shared(t))
				var puts []queue.Put
				for i, ago := range []int{5, 60, 10, 3600, 1} {
					at := time.Unix(int64(c.Now())-int64(ago), 0)
					puts = append(puts, queue.Put{Queue: "q", Klass: "K", JID: fmt.Sprint("-", ago), At: at, Key: keyOf(i)})
				}
				if together {
					putAll(t, c, puts...)
				} else {
					for _, put := range puts {
						putAll(t, c, put)
					}
				}
				outlook, now, err := c.Outlook(t.Context(), []string{"q"})
				ok(t, err)
				if lag := now - outlook[0].ReadySince; lag < 3590 || lag > 3700 {
					t.Errorf("the lag is %.0f s, and the first was planned an hour ago", lag)
				}
				if got, want := drain(t, c, "q", 1), []string{"-3600", "-60", "-10", "-5", "-1"}; !slices.Equal(got, want) {
					t.Errorf("came %v, want %v", got, want)
				}
			})
		}
	}
}

// TestJobsOfOnePutComeInTheirOrder: whatever their jids, their priority and how many calls they take, whether they are ready or delayed.
func TestJobsOfOnePutComeInTheirOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, priority := range []float64{0, 1, -7.5, 100} {
		for _, delay := range []time.Duration{0, time.Second} {
			t.Run(fmt.Sprint(priority, " ", delay), func(t *testing.T) {
				c := open(t, redistest.Shared(t))
				puts := make([]queue.Put, 1300)
				want := make([]string, len(puts))
				for i := range puts {
					want[i] = fmt.Sprintf("b%d-%d", random.IntN(100), i)
					puts[i] = queue.Put{Queue: "q", Klass: "K", JID: want[i], Priority: &priority, Delay: delay}
				}
				putAll(t, c, puts...)
				if delay > 0 {
					for c.Redis().ZCount(t.Context(), "ql:q:q-scheduled", "-inf", fmt.Sprint(c.Now())).Val() < int64(len(puts)) {
						time.Sleep(50 * time.Millisecond)
					}
				}
				if got := drain(t, c, "q", 100); !slices.Equal(got, want) {
					for i := range want {
						if i >= len(got) || got[i] != want[i] {
							t.Fatalf("%d jobs; the %dth is not the %dth that was put: %v, want %v", len(got), i, i, got[i:min(i+3, len(got))], want[i:i+3])
						}
					}
				}
			})
		}
	}
}
