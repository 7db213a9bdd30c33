package supervisor

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
	"oarlock/runner"
)

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
