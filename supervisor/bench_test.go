package supervisor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
	"oarlock/runner"
)

// BenchmarkReuse works no-op jobs, all queued before, through reused Python children.
// Beside the rate it reports what one job costs: Redis calls, Redis time, the
// supervisor's processor time; and the rate as a share of the ceiling that the
// Redis time sets.
func BenchmarkReuse(b *testing.B) {
	for _, shape := range []struct{ children, prefetch int }{{2, 16}, {10, 0}} {
		b.Run(fmt.Sprintf("children=%d/prefetch=%d", shape.children, shape.prefetch), func(b *testing.B) {
			benchmarkReuse(b, shape.children, shape.prefetch)
		})
	}
}

func benchmarkReuse(b *testing.B, children, prefetch int) {
	server := redistest.Start(b)
	client, err := queue.Open(b.Context(), queue.Options{URL: server.URL})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	host, err := runner.NewHost(runner.HostOptions{PrivateRoot: filepath.Join(b.TempDir(), "private")})
	if err != nil {
		b.Fatal(err)
	}
	defer host.Close()
	puts := make([]queue.Put, b.N)
	for i := range puts {
		puts[i] = queue.Put{Queue: "q", JID: "j" + strconv.Itoa(i), Klass: "K", Data: []byte("{}")}
	}
	if _, err := client.PutAll(b.Context(), puts); err != nil {
		b.Fatal(err)
	}

	done := make(chan struct{})
	var settled, calls atomic.Int64
	var first sync.Once
	var began, ended time.Time // the first job's start, the last one's settlement
	s := New(Config{
		DrainTimeout: time.Second,
		Pools: []Pool{{
			Name:     "p",
			Queues:   []string{"q"},
			Children: children,
			Prefetch: prefetch,
			Child: runner.Spec{
				Pool:    "p",
				Mode:    runner.Reuse,
				Command: []string{"python3", "-u", filepath.Join("testdata", "acks.py")},
				Env:     os.Environ(),
			},
		}},
		OnEvent: func(e Event) {
			switch e.Kind {
			case AttemptStarted:
				first.Do(func() { began = time.Now() })
			case RoundTrip:
				calls.Add(1)
			case Settled:
				if settled.Add(1) == int64(b.N) {
					ended = time.Now()
					close(done)
				}
			}
		},
	}, client, host)
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	client.Redis().ConfigResetStat(ctx)
	cpu := processTime()
	b.ResetTimer()
	go func() { over <- s.Run(ctx) }()
	<-done
	b.StopTimer()
	cpu = processTime() - cpu
	redis := redisTime(b, client)
	stop()
	if err := <-over; err != nil {
		b.Fatal(err)
	}
	n := float64(b.N)
	rate := n / ended.Sub(began).Seconds()
	b.ReportMetric(rate, "jobs/s")
	b.ReportMetric(float64(calls.Load())/n, "calls/job")
	b.ReportMetric(float64(cpu.Microseconds())/n, "µs-cpu/job")
	b.ReportMetric(float64(redis.Microseconds())/n, "µs-redis/job")
	b.ReportMetric(rate*redis.Seconds()/n*100, "%-of-ceiling")
}

// BenchmarkIdle measures what 50 pools with 500 queues and no job cost. It fails if
// that is more than a hundredth of a core.
func BenchmarkIdle(b *testing.B) {
	server := redistest.Start(b)
	client, err := queue.Open(b.Context(), queue.Options{URL: server.URL})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	host, err := runner.NewHost(runner.HostOptions{PrivateRoot: filepath.Join(b.TempDir(), "private")})
	if err != nil {
		b.Fatal(err)
	}
	defer host.Close()
	cfg := Config{DrainTimeout: time.Second}
	for i := range 50 {
		p := Pool{Name: fmt.Sprintf("p%d", i), Children: 2, Child: runner.Spec{Mode: runner.Once, Command: []string{"true"}}}
		for k := range 10 {
			p.Queues = append(p.Queues, fmt.Sprintf("q%d", 10*i+k))
		}
		cfg.Pools = append(cfg.Pools, p)
	}
	s := New(cfg, client, host)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	for !s.Ready() {
		time.Sleep(10 * time.Millisecond)
	}
	const window = 3 * time.Second
	for b.Loop() {
		before := processTime()
		time.Sleep(window)
		share := 100 * (processTime() - before).Seconds() / window.Seconds()
		b.ReportMetric(share, "%-of-core")
		if share > 1 {
			b.Errorf("%.2f %% of a core", share)
		}
	}
	stop()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

// processTime is the processor time that this process has used.
func processTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// redisTime is the time that Redis has spent in scripts since its statistics were reset.
func redisTime(b *testing.B, client *queue.Client) time.Duration {
	b.Helper()
	info, err := client.Redis().Info(context.Background(), "commandstats").Result()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(info) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_evalsha:"); ok {
			for field := range strings.SplitSeq(rest, ",") {
				if usec, ok := strings.CutPrefix(field, "usec="); ok {
					n, err := strconv.Atoi(usec)
					if err != nil {
						b.Fatal(err)
					}
					return time.Duration(n) * time.Microsecond
				}
			}
		}
	}
	b.Fatal("no evalsha in commandstats")
	return 0
}
