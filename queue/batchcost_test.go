package queue_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// BenchmarkBatchCost reports what the batch commands cost the server per job, in batches
// of 50, as multiples of u: the time Redis spends in EVALSHA of the smallest script that
// calls a command. Both come from INFO commandstats, one after the other in many short
// rounds. The server's clock includes the time in which it had to wait for the processor,
// so the lower half of the rounds counts; the mean of all is reported beside it.
//
//	go test ./queue -run '^$' -bench BatchCost -benchtime 1x
func BenchmarkBatchCost(b *testing.B) {
	for _, waiting := range []int{100, 1_000_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) { batchCost(b, waiting) })
	}
}

func batchCost(b *testing.B, waiting int) {
	const batch, rounds = 50, 100
	s := redistest.Start(b)
	c, raw, ctx := open(b, s), s.Client(b), b.Context()
	worker := c.Session("w1")
	defer worker.Close()
	for left := waiting; left > 0; left -= queue.PutChunk {
		putMany(ctx, b, c, min(left, queue.PutChunk))
	}
	sha := raw.ScriptLoad(ctx, smallest).Val()
	times := make(map[string][]float64) // µs per call of the smallest script, or per job
	for b.Loop() {
		for range rounds {
			times["u"] = append(times["u"], usec(ctx, b, raw, func() {
				pipe := raw.Pipeline()
				for range 200 {
					pipe.EvalSha(ctx, sha, nil, "absent")
				}
				must(pipe.Exec(ctx))(b)
			}))
			measure := func(name string, f func()) {
				times[name] = append(times[name], usec(ctx, b, raw, f)/batch)
			}
			measure("put", func() { putMany(ctx, b, c, batch) })
			var taken []queue.Taken
			measure("take", func() { taken = takeMany(ctx, b, worker, nil, batch) })
			items := make([]queue.RenewItem, batch)
			for i, job := range taken {
				items[i] = queue.RenewItem{JID: job.JID, Queue: job.Queue, Popped: job.Popped}
			}
			measure("renew", func() {
				must(worker.Renew(ctx, items))(b)
			})
			measure("settle", func() { takeMany(ctx, b, worker, taken, 0) })
		}
	}
	u, meanU := undisturbed(times["u"]), mean(times["u"])
	for name, list := range times {
		if name == "u" {
			b.ReportMetric(u, "µs/u")
			b.ReportMetric(meanU, "µs/u-mean")
			continue
		}
		b.ReportMetric(undisturbed(list)/u, name+"-u/job")
		b.ReportMetric(mean(list)/meanU, name+"-u/job-mean")
	}
}

var evalshaStats = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+),usec=(\d+)`)

// usec runs f and returns the server's time per EVALSHA in it, in µs.
func usec(ctx context.Context, b *testing.B, raw *redis.Client, f func()) float64 {
	b.Helper()
	raw.ConfigResetStat(ctx)
	f()
	calls, time := evalshas(b, raw.Info(ctx, "commandstats").Val())
	return time / calls
}

// evalshas returns how many calls of EVALSHA the server has counted, and their µs.
func evalshas(b *testing.B, commandstats string) (calls, time float64) {
	b.Helper()
	m := evalshaStats.FindStringSubmatch(commandstats)
	if m == nil {
		b.Fatal("no EVALSHA in INFO commandstats")
	}
	calls, _ = strconv.ParseFloat(m[1], 64)
	time, _ = strconv.ParseFloat(m[2], 64)
	return calls, time
}

func putMany(ctx context.Context, b *testing.B, c *queue.Client, n int) {
	b.Helper()
	puts := make([]queue.Put, n)
	for i := range puts {
		puts[i] = queue.Put{Queue: "q", Klass: "Klass", Data: []byte(fmt.Sprintf(`{"path":"/usr/share/file-%d"}`, i))}
	}
	must(c.PutAll(ctx, puts))(b)
}

func takeMany(ctx context.Context, b *testing.B, s *queue.Session, done []queue.Taken, n int) []queue.Taken {
	b.Helper()
	settlements := make([]queue.Settlement, len(done))
	for i, job := range done {
		settlements[i] = queue.Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: queue.Complete}
	}
	reply := must(s.Exchange(ctx, settlements, queue.Take{Queues: []string{"q"}, Count: n}))(b)
	for _, r := range reply.Results {
		if r.Err != nil {
			b.Fatal(r.Err)
		}
	}
	if len(reply.Jobs) != n {
		b.Fatalf("took %d jobs, want %d", len(reply.Jobs), n)
	}
	return reply.Jobs
}
