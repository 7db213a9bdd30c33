package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/internal/embedded"
	"oarlock/supervisor"
)

func TestRatesOfTheLastMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates()
		for range 30 {
			for range 20 {
				r.note("p", "q", outcomeDone)
			}
			r.note("p", "q", outcomeFailed)
			r.note("p", "q", outcomeRetried) // is neither
			time.Sleep(time.Second)
		}
		r.note("p", "other", outcomeDone)
		// Of half a minute, as of a whole one.
		if got := r.lately()[lane{"p", "q"}]; got.donePerSecond != 20 || got.failedPerMinute != 60 {
			t.Errorf("after 30 s: %+v", got)
		}
		time.Sleep(40 * time.Second)
		if got := r.lately()[lane{"p", "q"}]; got.donePerSecond < 6 || got.donePerSecond > 7 || got.failedPerMinute != 19 && got.failedPerMinute != 20 {
			t.Errorf("after 70 s: %+v", got)
		}
		time.Sleep(time.Hour)
		if got := r.lately(); len(got) != 0 || len(r.windows) != 0 {
			t.Errorf("after an hour: %+v", got)
		}
		r.note("p", "q", outcomeDone)
		if got := r.lately()[lane{"p", "q"}]; got.donePerSecond != 1.0/60 {
			t.Errorf("after an hour, and a job: %+v", got)
		}
	})
}

// However many ask for the status, Redis is asked once a second, and nobody waits for one that
// does not answer.
func TestRedisIsAskedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		hangs := false
		d := &depths{ask: func(ctx context.Context, queues []string) (map[string]depth, error) {
			asked.Add(1)
			if hangs {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return map[string]depth{"q": {ready: 3}}, nil
		}}
		for range 100 {
			if got := d.look([]string{"q"}); got["q"].ready != 3 {
				t.Fatalf("%+v", got)
			}
			time.Sleep(30 * time.Millisecond)
		}
		if n := asked.Load(); n < 2 || n > 4 {
			t.Errorf("asked %d times in 3 s", n)
		}
		hangs = true
		time.Sleep(depthsLast)
		began := time.Now()
		if got := d.look([]string{"q"}); got != nil || time.Since(began) > depthsWait {
			t.Errorf("of a Redis that hangs it tells %+v after %v", got, time.Since(began))
		}
		time.Sleep(depthsWait)
	})
}

func TestStatusTellsDepths(t *testing.T) {
	one, many, zero, age := 1, 1234, 0, 90.0
	r := report{Snapshot: supervisor.Snapshot{Redis: "ok", Pools: []supervisor.PoolSnapshot{{Name: "p"}}}}
	r.Queues = []queueReport{
		{Pool: "p", Queue: "mail", Ready: &many, Running: &one, Scheduled: &zero, Oldest: &age, DonePerSecond: 40.2, FailedPerMinute: 0.5},
		{Pool: "p", Queue: "idle", Ready: &zero, Running: &zero, Scheduled: &zero, Oldest: &age, Paused: true},
		{Pool: "p", Queue: "damaged"},
		{Pool: "other", Queue: "not shown here"},
	}
	var out bytes.Buffer
	printStatus(&out, r)
	for _, want := range []string{"QUEUE READY RUNNING SCHEDULED OLDEST DONE/S FAILED/MIN", "mail 1,234 1 0 1m 30s 40 0.5", "idle (paused) 0 0 0 - 0 0", "damaged ? ? ? ? 0 0"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "not shown here") {
		t.Errorf("a queue of another pool:\n%s", out.String())
	}
	out.Reset()
	since := time.Now().Add(-3 * time.Minute)
	r.UnknownSince = &since
	for i := range 30 {
		r.Queues = append(r.Queues, queueReport{Pool: "p", Queue: fmt.Sprint("more", i)})
	}
	printStatus(&out, r)
	if text := out.String(); !strings.Contains(text, "unknown since "+since.Format("15:04:05")+" (3m 0s)") || !strings.Contains(text, "and 13 queues with less to do") {
		t.Errorf("it says\n%s", text)
	}
}

func TestWhatTheServiceManagerIsTold(t *testing.T) {
	away := supervisor.Snapshot{Redis: "dial tcp: connection refused\n\x1b[2J"}
	draining := away
	draining.Draining = true
	for _, tt := range []struct {
		shot  supervisor.Snapshot
		ready bool
		want  string
	}{
		{supervisor.Snapshot{Redis: "ok"}, true, "0 of 0 children busy"},
		{away, false, "waiting for Redis at r:6379"},
		{away, true, `Redis at r:6379 is away (dial tcp: connection refused \x1b[2J); no jobs are taken; 0 of 0 children busy`},
		{draining, true, `Redis at r:6379 is away (dial tcp: connection refused \x1b[2J); draining: 0 of 0 children busy`},
	} {
		if got := managerStatus(tt.shot, tt.ready, "r:6379"); got != tt.want {
			t.Errorf("it is told %q, want %q", got, tt.want)
		}
	}
}

// Depth and rates of a supervisor at work; and when Redis goes away, since when nothing is known.
func TestDepthAndRateInStatus(t *testing.T) {
	s := newScript(t, workFiles)
	server, err := embedded.Start("")
	if err != nil {
		t.Fatal(err)
	}
	s.env["REDIS_URL"] = server.URL()
	p := begin(t, s, "run")
	p.await(`INFO  ready`)
	p.ask("put", "work", `"slow"`)
	p.ask("put", "work", `"slow"`)
	p.await(`line=started`)
	p.await(`line=started`)
	p.ask("put", "work", `"good"`)
	p.ask("put", "work", `"later"`, "--delay", "1h")
	p.until("work   1      2        1", "status")
	var r report
	if err := json.Unmarshal([]byte(p.ask("status", "--json")), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Queues) != 1 || *r.Queues[0].Ready != 1 || *r.Queues[0].Running != 2 || *r.Queues[0].Scheduled != 1 || r.UnknownSince != nil {
		t.Errorf("%+v", r.Queues)
	}
	server.Close()
	p.until("What is in the queues is unknown since ", "status")
	p.signal(syscall.SIGTERM)
	p.await(`once more stops now`)
	p.signal(syscall.SIGTERM)
	p.leaves(exitOK)
}
