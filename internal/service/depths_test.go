package service

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/internal/hub"
	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
	"oarlock/supervisor"
)

func TestRatesOfTheLastMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates()
		for range 30 {
			for range 20 {
				r.note("p", "q", hub.Done)
			}
			r.note("p", "q", hub.Failed)
			r.note("p", "q", hub.Retried) // is neither
			time.Sleep(time.Second)
		}
		r.note("p", "other", hub.Done)
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
		r.note("p", "q", hub.Done)
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

// TestQueuesOfARedisThatTakesNothing: what is in the queues is told as long as Redis can be read.
func TestQueuesOfARedisThatTakesNothing(t *testing.T) {
	s := &Service{rates: newRates(), depths: &depths{ask: func(context.Context, []string) (map[string]depth, error) {
		return map[string]depth{"q": {ready: 3}}, nil
	}}}
	for redis, told := range map[string]bool{
		"ok": true, "is out of memory: OOM command not allowed": true, "takes no writes: READONLY": true, "dial tcp: connection refused": false,
	} {
		shot := supervisor.Snapshot{Redis: redis, Pools: []supervisor.PoolSnapshot{{Name: "p", Queues: []string{"q"}}}}
		reports, _, known := s.queueReports(shot)
		if known != told || len(reports) != 1 || (reports[0].Ready != nil) != told {
			t.Errorf("of a Redis that says %q: known %v, %+v", redis, known, reports)
		}
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

// TestDepthsCountAllThatWait: whoever stands behind another of its key, or waits for a throttle, waits, though it is not ready.
func TestDepthsCountAllThatWait(t *testing.T) {
	ctx := t.Context()
	q := must.Get(queue.Open(ctx, queue.Options{URL: redistest.Start(t).URL}))(t)
	defer q.Close()
	must.Do(t, q.SetThrottle(ctx, queue.Throttle{ID: "one", Maximum: 1}))
	for _, p := range []queue.Put{
		{JID: "a", Throttles: []string{"one"}}, {JID: "b", Throttles: []string{"one"}}, {JID: "k1", Key: "k"}, {JID: "k2", Key: "k"}, {JID: "k3", Key: "k"}, {JID: "later", Delay: time.Hour},
	} {
		p.Queue, p.Klass = "q", "K"
		must.Get(q.Put(ctx, p))(t)
	}
	for range 2 { // b, which is met between the two, must wait for its throttle
		must.Get(q.Pop(ctx, "q", "w", 2))(t)
	}
	told, err := askDepths(q)(ctx, []string{"q"})
	if d := told["q"]; err != nil || d.ready != 0 || d.waiting != 3 || d.running != 2 || d.scheduled != 1 {
		t.Errorf("%+v, %v", d, err)
	}
}
