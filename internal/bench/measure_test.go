package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/redistest"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// asCrew is the word that makes the test's binary a crew.
const asCrew = "bench-crew"

func TestMain(m *testing.M) {
	runner.Hidden(os.Args)
	if len(os.Args) != 2 || os.Args[1] != asCrew {
		os.Exit(m.Run())
	}
	if err := Crew(context.Background(), os.Stdin, os.Stdout, Parts{Open: open, Pool: pool}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func open(ctx context.Context, r config.Redis) (*queue.Client, error) {
	return queue.Open(ctx, queue.Options{URL: r.URL, Namespace: r.Namespace})
}

func pool(s Shape) (supervisor.Pool, error) {
	mode, err := runner.ParseMode(s.Mode)
	return supervisor.Pool{
		Name: "bench", Children: s.Children, Prefetch: s.Prefetch,
		Policy: supervisor.Policy{MaxCrashes: 3, Retry: supervisor.Retry{Backoff: supervisor.Constant, Delay: 10 * time.Millisecond}},
		Child:  runner.Spec{Pool: "bench", Mode: mode, Command: s.Command, Env: os.Environ(), KillGrace: time.Second},
	}, err
}

// newBench is a bench on a server of its own.
func newBench(t *testing.T, args ...string) *Bench {
	t.Helper()
	self, err := Self(asCrew)
	if err != nil {
		t.Fatal(err)
	}
	r := config.Redis{URL: redistest.Start(t, args...).URL, Namespace: "bench-test:"}
	client, err := open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return &Bench{Redis: r, Client: client, Self: self, Log: os.Stderr}
}

func TestSeries(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatal("python3 not found: install it (apt install python3)")
	}
	helper, err := os.ReadFile("../../examples/python/oarlock.py")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	for _, shape := range []Shape{{Mode: "reuse", Children: 2, Prefetch: 4}, {Mode: "preload", Children: 2}, {Mode: "once", Children: 2}} {
		t.Run(shape.Mode, func(t *testing.T) {
			if shape.Command, err = noop(t.TempDir(), shape.Mode, string(helper)); err != nil {
				t.Fatal(err)
			}
			const jobs = 20
			r, err := b.series(t.Context(), shape, jobs, 3, "")
			if err != nil {
				t.Fatal(err)
			}
			if r.Mode != shape.Mode || r.Jobs != jobs || r.Seconds <= 0 || r.Rate <= 0 {
				t.Errorf("what was measured is %+v", r)
			}
			// At least one call brought the jobs; and each job has a share in what was spent.
			if r.RedisCalls < 1.0/jobs || r.RedisTime <= 0 || r.SupervisorCPU <= 0 || r.ChildrenCPU <= 0 || r.SupervisorRSS <= 0 {
				t.Errorf("what was spent is %+v", r)
			}
			if r.PutToStart == nil || r.PutToStart.P50 <= 0 || r.PutToStart.P99 < r.PutToStart.P50 || r.Wakeup == nil {
				t.Errorf("the waits are %+v, %+v", r.PutToStart, r.Wakeup)
			}
		})
	}
	if left := must(b.Client.Queue(t.Context(), queueName)); left.Waiting+left.Running > 0 {
		t.Errorf("jobs are left: %+v", left)
	}
	if err := b.clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	if keys := must(b.Client.Redis().Keys(t.Context(), "*").Result()); len(keys) > 0 {
		t.Errorf("keys are left: %q", keys)
	}
}

func TestSoak(t *testing.T) {
	b := newBench(t)
	b.Scratch = t.TempDir()
	r, err := b.Soak(t.Context(), Shape{Mode: "reuse", Children: 2}, 3*time.Second, NewReport(io.Discard, io.Discard, false))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	if r.Jobs == 0 || r.Lost > 0 || r.Failed > 0 || r.Children+r.Supervisors+r.Drops+r.Pauses == 0 {
		t.Errorf("%+v", r)
	}
}

func TestPuts(t *testing.T) {
	b := newBench(t)
	seen := 0
	b.progress = func(done, all int) { seen = done * 1000 / all }
	r, err := b.puts(t.Context(), 700)
	if err != nil {
		t.Fatal(err)
	}
	if r.Rate <= 0 || r.RedisTime <= 0 || seen != 1000 {
		t.Errorf("%+v; progress went to %d of 1000", r, seen)
	}
	if waiting := must(b.Client.Queue(t.Context(), queueName)).Waiting; waiting != 700 {
		t.Errorf("%d jobs are waiting", waiting)
	}
}

// A supervisor that cannot do its work ends the measurement, rather than to let it wait.
func TestCrewThatFails(t *testing.T) {
	b := newBench(t)
	b.Self = []string{"false"}
	if _, err := b.series(t.Context(), Shape{Mode: "once", Children: 1, Command: []string{"true"}}, 1, 0, ""); err == nil {
		t.Error("no error")
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
