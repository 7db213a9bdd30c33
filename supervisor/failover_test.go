package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"oarlock/internal/faultproxy"
	"oarlock/internal/redistest"
	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
)

// TestAPoolFollowsTheMaster fails over behind one address beneath a pool with jobs that wait, some at work and others to come, whose connections stay with the old
// master: all are done, at their first attempt.
func TestAPoolFollowsTheMaster(t *testing.T) {
	t.Parallel()
	p := redistest.StartPair(t)
	proxy := faultproxy.Start(t, "unix", p.Master.Addr)
	client, err := queue.Open(t.Context(), queue.Options{URL: proxy.URL})
	must(t, err)
	t.Cleanup(func() { client.Close() })
	host := newFakeHost(t)
	host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
		time.Sleep(20 * time.Millisecond)
		return said(protocol.Ack)
	}
	var log lockedBuffer
	s := build(Config{
		Name: "host", DrainTimeout: 10 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Pools: []Pool{{Name: "p", Queues: []string{"q"}, Children: 4, Child: runner.Spec{Pool: "p", Mode: runner.Reuse, Command: []string{"fake"}, KillGrace: time.Second}}},
	}, redisClient{client}, host)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	n := 0
	for range 3 {
		for range 100 {
			n++
			must(t, errOf(client.Put(t.Context(), queue.Put{Queue: "q", JID: fmt.Sprint("j", n), Klass: "K"})))
		}
		p.FailOver(t, func() { proxy.Retarget("unix", p.Master.Addr) })
		_ = client.Writable(t.Context()) // this client puts, too, and may be the first to find it out
	}
	for late := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		found, err := p.Master.Client(t).ZCard(t.Context(), "ql:completed").Result()
		if err == nil && int(found) == n {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("%d of %d jobs are done (%v)\n%s", found, n, err, log.String())
		}
	}
	for i := range n {
		same(t, host.begun(fmt.Sprint("j", i+1)), 1, "j%d was begun %d times", i+1)
	}
}

// TestWhatHasNoAttemptIsNotRenewed has exchanges that never get through, while all else does, after an outage at whose end a child was killed: its job's lock is
// not kept fresh, and what it is owed, its release, goes over another connection.
func TestWhatHasNoAttemptIsNotRenewed(t *testing.T) {
	for _, stuck := range []bool{false, true} { // also where the release does not get through
		runFaked(t, fmt.Sprint(stuck), func(t *testing.T, w *fakeWorld) {
			w.cfg.Pools[0].Children = 1
			w.host.work = func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
				if w.host.begun(job.JID) > 1 {
					return said(protocol.Ack)
				}
				<-stop
				return &runner.Ending{Kind: runner.LockLost, Message: "the lock was lost"}
			}
			w.runFor(time.Second, 1)
			w.redis.faults(func(string) fault { return fault{away: errAway} })
			for w.s.Snapshot().Pools[0].Counters.Interrupted == 0 {
				time.Sleep(time.Second)
			}
			w.redis.faults(func(call string) fault {
				if call == "exchange" || stuck && call == "release" {
					return fault{away: errAway}
				}
				return fault{}
			})
			expires := w.redis.job("j0").Expires
			time.Sleep(3 * time.Minute)
			switch j := w.redis.job("j0"); {
			case stuck && j.Expires > expires:
				t.Error("nobody works on the job, and its lock was renewed")
			case !stuck && j.state != "waiting":
				t.Errorf("nobody works on the job, and it is %s", j.state)
			}
			w.redis.faults(nil)
			w.after(time.Minute, "complete", 1)
		})
	}
}

// TestALongOutageIsSaidAgain has a Redis that takes no writes for five minutes, by calls that fail or by pings: the log says so about once a minute.
func TestALongOutageIsSaidAgain(t *testing.T) {
	for _, pings := range []bool{false, true} {
		runFaked(t, fmt.Sprint(pings), func(t *testing.T, w *fakeWorld) {
			var log lockedBuffer
			w.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			w.runFor(time.Second, 0)
			w.redis.faults(func(call string) fault {
				if call == "ping" && !pings {
					return fault{}
				}
				return fault{away: errAway}
			})
			w.putFor(5*time.Minute, 1)
			if n := strings.Count(log.String(), `level=WARN msg="redis `); n < 5 || n > 7 {
				t.Errorf("in five minutes it is said %d times (pings fail: %v):\n%s", n, pings, log.String())
			}
			w.redis.faults(nil)
			w.after(time.Minute, "complete", 1)
		})
	}
}

// Release gives back, as an exchange without a take does.
func (s *fakeSession) Release(ctx context.Context, settlements []queue.Settlement) (results []queue.SettleResult, err error) {
	err = s.call(ctx, "release", func() {
		for _, x := range settlements {
			results = append(results, s.settle(x))
		}
	})
	return results, err
}
