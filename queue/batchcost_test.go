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
// calls a command. Both come from INFO commandstats of the same run.
//
//	go test ./queue -run '^$' -bench BatchCost
func BenchmarkBatchCost(b *testing.B) {
	const batch, rounds = 50, 200
	s := redistest.Start(b)
	c, raw, ctx := open(b, s), s.Client(b), b.Context()
	worker := c.Session("w1")
	defer worker.Close()

	var put, take, settle, renew, exchange float64
	for b.Loop() {
		raw.FlushDB(ctx)
		u := unitCost(ctx, b, raw)
		put = usec(ctx, b, raw, func() {
			for range rounds {
				putMany(ctx, b, c, batch)
			}
		}) / batch / u
		jobs := make([][]queue.Taken, rounds)
		take = usec(ctx, b, raw, func() {
			for i := range jobs {
				jobs[i] = takeMany(ctx, b, worker, nil, batch)
			}
		}) / batch / u
		renew = usec(ctx, b, raw, func() {
			for _, taken := range jobs {
				items := make([]queue.RenewItem, len(taken))
				for i, job := range taken {
					items[i] = queue.RenewItem{JID: job.JID, Queue: job.Queue, Popped: job.Popped}
				}
				if _, err := worker.Renew(ctx, items); err != nil {
					b.Fatal(err)
				}
			}
		}) / batch / u
		settle = usec(ctx, b, raw, func() {
			for _, taken := range jobs {
				takeMany(ctx, b, worker, taken, 0)
			}
		}) / batch / u
		for range rounds {
			putMany(ctx, b, c, batch)
		}
		exchange = usec(ctx, b, raw, func() {
			var taken []queue.Taken
			for range rounds {
				taken = takeMany(ctx, b, worker, taken, batch)
			}
		}) / batch / u
		b.ReportMetric(u, "µs/u")
	}
	b.ReportMetric(put, "put-u/job")
	b.ReportMetric(take, "take-u/job")
	b.ReportMetric(renew, "renew-u/job")
	b.ReportMetric(settle, "settle-u/job")
	b.ReportMetric(exchange, "exchange-u/job")
}

// unitCost measures u in µs.
func unitCost(ctx context.Context, b *testing.B, raw *redis.Client) float64 {
	b.Helper()
	sha := raw.ScriptLoad(ctx, "return redis.call('zcard', ARGV[1])").Val()
	return usec(ctx, b, raw, func() {
		for range 40 {
			pipe := raw.Pipeline()
			for range 250 {
				pipe.EvalSha(ctx, sha, nil, "absent")
			}
			if _, err := pipe.Exec(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
}

var evalshaStats = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+),usec=(\d+)`)

// usec runs f and returns the server's time per EVALSHA in it, in µs.
func usec(ctx context.Context, b *testing.B, raw *redis.Client, f func()) float64 {
	b.Helper()
	raw.ConfigResetStat(ctx)
	f()
	m := evalshaStats.FindStringSubmatch(raw.Info(ctx, "commandstats").Val())
	if m == nil {
		b.Fatal("no EVALSHA in INFO commandstats")
	}
	calls, _ := strconv.ParseFloat(m[1], 64)
	time, _ := strconv.ParseFloat(m[2], 64)
	return time / calls
}

func putMany(ctx context.Context, b *testing.B, c *queue.Client, n int) {
	b.Helper()
	puts := make([]queue.Put, n)
	for i := range puts {
		puts[i] = queue.Put{Queue: "q", Klass: "Klass", Data: []byte(fmt.Sprintf(`{"path":"/usr/share/file-%d"}`, i))}
	}
	if _, err := c.PutAll(ctx, puts); err != nil {
		b.Fatal(err)
	}
}

func takeMany(ctx context.Context, b *testing.B, s *queue.Session, done []queue.Taken, n int) []queue.Taken {
	b.Helper()
	settlements := make([]queue.Settlement, len(done))
	for i, job := range done {
		settlements[i] = queue.Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: queue.Complete}
	}
	reply, err := s.Exchange(ctx, settlements, queue.Take{Queues: []string{"q"}, Count: n})
	if err != nil {
		b.Fatal(err)
	}
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
