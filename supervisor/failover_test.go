package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"oarlock/internal/faultproxy"
	"oarlock/internal/redistest"
	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
)

// followed is what TestAPoolFollowsTheMaster tries beneath a pool.
type followed struct {
	name  string
	short bool // also in short runs
	pool  func(*Pool)
	begin func(*testing.T, *queue.Client)             // before the pool runs; may be nil
	put   func(*testing.T, *queue.Client, int) string // puts the n-th job and returns its jid; nil: jobs come by themselves
	limit int32                                       // so many run at a time at most
}

// followedJob puts a job of the queue.
func followedJob(change func(*queue.Put)) func(*testing.T, *queue.Client, int) string {
	return func(t *testing.T, c *queue.Client, n int) string {
		put := queue.Put{Queue: "q", JID: fmt.Sprint("j", n), Klass: "K"}
		if change != nil {
			change(&put)
		}
		must(t, errOf(c.Put(t.Context(), put)))
		return put.JID
	}
}

var followedModes = []followed{
	{name: "reuse", short: true, put: followedJob(nil)},
	{name: "once", pool: func(p *Pool) { p.Child.Mode = runner.Once }, put: followedJob(nil)},
	{name: "preload", pool: func(p *Pool) { p.Child.Mode = runner.Preload }, put: followedJob(nil)},
	{name: "keys", put: followedJob(func(p *queue.Put) { p.Key = "k" + p.JID[len(p.JID)-1:] })},
	{name: "limit", limit: 2, begin: func(t *testing.T, c *queue.Client) {
		must(t, c.SetThrottle(t.Context(), queue.Throttle{ID: "two", Maximum: 2}))
	}, put: followedJob(func(p *queue.Put) { p.Throttles = []string{"two"} })},
	{name: "rules", limit: 2, begin: func(t *testing.T, c *queue.Client) {
		must(t, errOf(c.InstallRules(t.Context(), "", queue.NewRules{
			Doc:       "{}",
			Queues:    []queue.RuledQueue{{Queue: "q", Rules: `{"shape":"a","throttles":["two"]}`}},
			Throttles: []queue.RuledThrottle{{Name: "two", Rules: `{"limit":2,"patience":60}`, Limit: 2}},
		})))
	}, put: followedJob(nil)},
	{name: "list", short: true, pool: func(p *Pool) {
		p.Queues, p.List = nil, &queue.List{Name: "hworker:mail", Timeout: 30 * time.Second, Heartbeat: true, Monitor: true, Failed: 1000}
	}, put: func(t *testing.T, c *queue.Client, n int) string {
		id := fmt.Sprint("e", n)
		must(t, c.Redis().LPush(t.Context(), "hworker-jobs-mail", queue.Envelope(id, []byte("{}"))).Err())
		return id
	}},
	{name: "recurring", begin: func(t *testing.T, c *queue.Client) {
		must(t, errOf(c.Recur(t.Context(), queue.Recurring{JID: "r", Queue: "q", Klass: "K", Interval: 50 * time.Millisecond})))
	}},
}

// TestAPoolFollowsTheMaster fails over behind one address beneath a pool with jobs that wait, some at work and others to come, whose connections stay with the old
// master: all are done, at their first attempt. So it is for each mode of a pool, and for whatever gives it jobs.
func TestAPoolFollowsTheMaster(t *testing.T) {
	t.Parallel()
	for _, mode := range followedModes {
		t.Run(mode.name, func(t *testing.T) {
			if testing.Short() && !mode.short {
				t.Skip("long: two modes show it")
			}
			t.Parallel()
			mode.follow(t)
		})
	}
}

func (mode *followed) follow(t *testing.T) {
	p := redistest.StartPair(t)
	proxy := faultproxy.Start(t, "unix", p.Master.Addr)
	client, err := queue.Open(t.Context(), queue.Options{URL: proxy.URL})
	must(t, err)
	t.Cleanup(func() { client.Close() })
	host := newFakeHost(t)
	var running, most, done atomic.Int32
	host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
		n := running.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		time.Sleep(20 * time.Millisecond)
		running.Add(-1)
		done.Add(1)
		return said(protocol.Ack)
	}
	var log lockedBuffer
	pool := Pool{Name: "p", Queues: []string{"q"}, Children: 4, Child: runner.Spec{Pool: "p", Mode: runner.Reuse, Command: []string{"fake"}, KillGrace: time.Second}}
	if mode.pool != nil {
		mode.pool(&pool)
	}
	if mode.begin != nil {
		mode.begin(t, client)
	}
	s := build(Config{Name: "host", DrainTimeout: 10 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil)), Pools: []Pool{pool}}, redisClient{client}, host)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	var jids []string
	await := func(what string, over func(*goredis.Client) (bool, error)) {
		t.Helper()
		for late := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			is, err := over(p.Master.Client(t))
			if err == nil && is {
				return
			}
			if time.Now().After(late) {
				t.Fatalf("%s: not so (%v): %d of %d jobs were worked\n%s", what, err, done.Load(), len(jids), log.String())
			}
		}
	}
	for range 3 {
		before := done.Load()
		for range 100 {
			if mode.put != nil {
				jids = append(jids, mode.put(t, client, len(jids)+1))
			}
		}
		if mode.put == nil {
			await("jobs come by themselves", func(*goredis.Client) (bool, error) { return done.Load() >= before+5, nil })
		}
		p.FailOver(t, func() { proxy.Retarget("unix", p.Master.Addr) })
		_ = client.Writable(t.Context()) // this client puts, too, and may be the first to find it out
	}
	if mode.put == nil {
		before := done.Load()
		await("jobs come after the last failover", func(*goredis.Client) (bool, error) { return done.Load() >= before+5, nil })
		must(t, client.Unrecur(t.Context(), "r"))
	}
	await("all is done and nothing is left", func(c *goredis.Client) (bool, error) {
		completed, err := c.ZCard(t.Context(), "ql:completed").Result()
		left := c.LLen(t.Context(), "hworker-jobs-mail").Val() + c.HLen(t.Context(), "hworker-progress-mail").Val() + c.ZCard(t.Context(), "ql:q:q-locks").Val()
		if pool.List != nil || mode.put == nil {
			return left == 0 && int(done.Load()) >= len(jids), err
		}
		return int(completed) == len(jids), err
	})
	for _, jid := range jids {
		same(t, host.begun(jid), 1, "%s was begun %d times", jid)
	}
	host.mu.Lock()
	defer host.mu.Unlock()
	for jid, n := range host.attempts {
		same(t, n, 1, "%s was begun %d times", jid)
	}
	if mode.limit > 0 && most.Load() > mode.limit {
		t.Errorf("%d ran at a time; want %d at most", most.Load(), mode.limit)
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
