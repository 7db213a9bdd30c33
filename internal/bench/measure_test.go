package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"oarlock/queue/admin"

	"oarlock/internal/config"
	"oarlock/internal/must"
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
	var list *queue.List
	if s.List != "" {
		list = &queue.List{Name: s.List, Timeout: time.Minute, Heartbeat: true, Monitor: true, Failed: 10}
	}
	return supervisor.Pool{
		List: list,
		Name: "bench", Children: s.Children, Prefetch: s.Prefetch, Batch: s.Batch,
		Policy: supervisor.Policy{MaxCrashes: 3, Retry: supervisor.Retry{Backoff: supervisor.Constant, Delay: 10 * time.Millisecond}},
		Child:  runner.Spec{Pool: "bench", Mode: mode, Command: s.Command, Env: os.Environ(), KillGrace: time.Second},
	}, err
}

// newBench is a bench on a server of its own.
func newBench(t *testing.T, args ...string) *Bench {
	t.Helper()
	self := must.Get(Self(asCrew))(t)
	r := config.Redis{URL: redistest.Start(t, args...).URL, Namespace: "bench-test:"}
	client := must.Get(open(t.Context(), r))(t)
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
			if shape.Command, err = noop(t.TempDir(), shape, string(helper)); err != nil {
				t.Fatal(err)
			}
			const jobs = 20
			r := must.Get(b.series(t.Context(), shape, jobs, 3, ""))(t)
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
	if left := must.Get(b.Client.Queue(t.Context(), queueName))(t); left.Waiting+left.Running > 0 {
		t.Errorf("jobs are left: %+v", left)
	}
	must.Do(t, b.clear(t.Context()))
	if keys := must.Get(b.Client.Redis().Keys(t.Context(), "*").Result())(t); len(keys) > 0 {
		t.Errorf("keys are left: %q", keys)
	}
}

// Jobs that do nothing go at least three times as fast a hundred in a message as one by one, with the same children.
func TestBatchesAreThreeTimesAsFast(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a ratio of speeds")
	}
	b := newBench(t)
	measure := func(shape Shape, jobs int) (r Result) {
		var err error
		if shape.Command, err = noop(t.TempDir(), shape, ""); err != nil {
			t.Fatal(err)
		}
		if r, err = b.series(t.Context(), shape, jobs, 0, ""); err != nil {
			t.Fatal(err)
		}
		return r
	}
	var best float64
	for range 5 {
		one, many := measure(Shape{Mode: "reuse", Children: 2}, 3000), measure(Shape{Mode: "reuse", Children: 2, Batch: 100}, 15000)
		t.Logf("one by one %.0f/s, together %.0f/s", one.Rate, many.Rate)
		if best = max(best, many.Rate/one.Rate); best >= 3 {
			return
		}
	}
	t.Errorf("together they go %.1f times as fast, want 3 times", best)
}

func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a soak")
	}
	b := newBench(t)
	b.Scratch = t.TempDir()
	r := must.Get(b.Soak(t.Context(), Shape{Mode: "reuse", Children: 2}, 3*time.Second, NewReport(io.Discard, io.Discard, false)))(t)
	t.Logf("%+v", r)
	if r.Jobs == 0 || r.Lost > 0 || r.Failed > 0 || r.Children+r.Supervisors+r.Drops+r.Pauses == 0 {
		t.Errorf("%+v", r)
	}
}

func TestPuts(t *testing.T) {
	b := newBench(t)
	seen := 0
	b.progress = func(done, all int) { seen = done * 1000 / all }
	r := must.Get(b.puts(t.Context(), 700))(t)
	if r.Rate <= 0 || r.RedisTime <= 0 || seen != 1000 {
		t.Errorf("%+v; progress went to %d of 1000", r, seen)
	}
	if waiting := must.Get(b.Client.Queue(t.Context(), queueName))(t).Waiting; waiting != 700 {
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

// What others are measured against is a loop that pops and completes: it works all, leaves nothing, and says so where there is nothing to work.
func TestAgainstAPlainLoop(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a measurement")
	}
	b := newBench(t)
	b.Scratch = t.TempDir()
	var out bytes.Buffer
	plan := Plan{Series: []Series{{Shape{Mode: "reuse", Children: 2}, 60}}, One: true, Against: b.Client}
	must.Do(t, b.Measure(t.Context(), plan, NewReport(&out, io.Discard, true)))
	var r Result
	must.Do(t, json.Unmarshal(out.Bytes(), &r))
	a := r.Against
	if r.Jobs != 60 || a == nil || a.Rate <= 0 || a.Low <= 0 || a.Low > a.Ratio || a.Ratio > a.High {
		t.Errorf("measured is %+v against %+v", r, a)
	}
	if r.Busiest == "" || r.Busy <= 0 {
		t.Errorf("%q was busiest, by %g", r.Busiest, r.Busy)
	}
	if keys := must.Get(b.Client.Redis().Keys(t.Context(), "*").Result())(t); len(keys) > 0 {
		t.Errorf("keys are left: %q", keys)
	}
	loop := must.Get(admin.NewLoop(t.Context(), b.Client))(t)
	defer loop.Close()
	if err := loop.Work(t.Context(), queueName, 2); err == nil || !strings.Contains(err.Error(), "no job after 0 of 2") {
		t.Errorf("of an empty queue it says %v", err)
	}
}

// Who is busiest is told by what each can use at most.
func TestBusiest(t *testing.T) {
	for _, tt := range []struct {
		r    Result
		who  string
		busy float64
	}{
		{Result{Seconds: 2, Children: 4, RedisCPU: 1.8, SupervisorCPU: 1, ChildrenCPU: 3}, "redis", 0.9},
		{Result{Seconds: 2, Children: 1, RedisCPU: 1.2, SupervisorCPU: 1, ChildrenCPU: 1.6}, "children", 0.8},
		{Result{Seconds: 2, Children: 9, RedisCPU: 1, SupervisorCPU: 1.5, ChildrenCPU: 2}, "supervisor", 0.75},
		{Result{Seconds: 2, Children: 2}, "", 0},
	} {
		if who, busy := tt.r.busiest(2); who != tt.who || math.Abs(busy-tt.busy) > 1e-9 {
			t.Errorf("%+v: %s, %g", tt.r, who, busy)
		}
	}
}
