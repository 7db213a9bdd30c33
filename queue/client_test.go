package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/embedded"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// onEachServer runs a test against a real server and against the embedded one.
func onEachServer(t *testing.T, test func(t *testing.T, c *queue.Client)) {
	onServers(t, redistest.Shared(t), test)
}

// onServers is onEachServer with a real one that may be the test's alone.
func onServers(t *testing.T, real *redistest.Server, test func(t *testing.T, c *queue.Client)) {
	queue.Beside(t)
	t.Run("redis", func(t *testing.T) { test(t, open(t, real)) })
	t.Run("embedded", func(t *testing.T) {
		s := must(embedded.Start("127.0.0.1:0"))(t)
		t.Cleanup(func() { s.Close() })
		test(t, openURL(t, s.URL()))
	})
}

// onEachUser is onEachServer, and once more as a user with the least permissions.
func onEachUser(t *testing.T, test func(t *testing.T, c *queue.Client)) {
	onEachServer(t, test)
	t.Run("least privilege", func(t *testing.T) {
		server := redistest.Start(t)
		allow(t, server)
		test(t, openURL(t, "unix://oarlock:PASSWORD@"+server.Addr))
	})
}

// must passes a value on if there is no error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// ok, never and stop are those of the tests that are in the package.
var ok, never, stop = queue.CheckOK, queue.CheckNever, queue.CheckStop

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

func ptr[T any](v T) *T { return &v }

func TestJobsAreReadAsTheyWerePut(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		must(c.Put(ctx, queue.Put{Queue: "q", JID: "parent", Klass: "K"}))(t)
		must(c.Put(ctx, queue.Put{
			Queue: "q", JID: "child", Klass: "K2", Data: []byte(`{"a":[]}`), Delay: time.Minute, Priority: ptr(2.5), Retries: ptr(3),
			Tags: []string{"red", "blue"}, Depends: []string{"parent"}, Throttles: []string{"slow"}, Timeout: 90 * time.Second,
		}))(t)
		job := must(c.Get(ctx, "child"))(t)
		equal(t, "state", job.State, "depends")
		equal(t, "data", string(job.Data), `{"a":[]}`)
		equal(t, "priority, retries, remaining", []float64{job.Priority, float64(job.Retries), float64(job.Remaining)}, []float64{2.5, 3, 3})
		equal(t, "tags", job.Tags, []string{"red", "blue"})
		equal(t, "dependencies", job.Dependencies, []string{"parent"})
		equal(t, "throttles", job.Throttles, []string{"slow", "ql:q:q"})
		equal(t, "timeout", job.Kept.Timeout, 90*time.Second)
		equal(t, "history", len(job.History), 1)
		equal(t, "history", []string{job.History[0].What, job.History[0].Queue}, []string{"put", "q"})

		_, err := c.Get(ctx, "nobody")
		never(t, !errors.Is(err, queue.ErrNoJob), "an unknown job: %v", err)
		jobs := must(c.GetMany(ctx, "nobody", "parent"))(t)
		equal(t, "many", len(jobs), 1)
		equal(t, "dependents", jobs[0].Dependents, []string{"child"})
	})
}

func TestJobsAreReadAsTheyWereChanged(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		must(c.Put(ctx, queue.Put{Queue: "q", JID: "parent", Klass: "K"}))(t)
		must(c.Put(ctx, queue.Put{Queue: "q", JID: "child", Klass: "K2", Tags: []string{"red", "blue"}, Depends: []string{"parent"}}))(t)

		ok(t, c.Undepend(ctx, "child", "parent"))
		equal(t, "state without dependencies", must(c.Get(ctx, "child"))(t).State, "waiting")
		ok(t, c.SetPriority(ctx, "child", 7))
		ok(t, c.Log(ctx, "child", "hello", []byte(`{"n":1}`)))
		job := must(c.Get(ctx, "child"))(t)
		equal(t, "priority", job.Priority, 7.0)
		last := job.History[len(job.History)-1]
		equal(t, "logged", last.What+string(last.More["n"]), "hello1")
		equal(t, "tags", must(c.AddTags(ctx, "child", "green"))(t), []string{"red", "blue", "green"})
		equal(t, "tags", must(c.RemoveTags(ctx, "child", "red", "blue"))(t), []string{"green"})
		equal(t, "tags", len(must(c.RemoveTags(ctx, "child", "green"))(t)), 0)

		must(c.Put(ctx, queue.Put{Queue: "q", JID: "more", Klass: "K", Tags: []string{"red"}}))(t)
		must(c.AddTags(ctx, "parent", "red"))(t)
		jids, total, err := c.Tagged(ctx, "red", 0, 10)
		ok(t, err)
		equal(t, "tagged", fmt.Sprint(jids, total), "[more parent] 2")
		equal(t, "top tags", must(c.TopTags(ctx, 0, 10))(t), []string{"red"})

		equal(t, "track", must(c.Track(ctx, "more"))(t), true)
		tracked, expired, err := c.Tracked(ctx)
		ok(t, err)
		equal(t, "tracked", fmt.Sprint(len(tracked), expired), "1 []")
		equal(t, "untrack", must(c.Untrack(ctx, "more"))(t), true)

		ok(t, c.Move(ctx, "more", "elsewhere", time.Hour))
		job = must(c.Get(ctx, "more"))(t)
		equal(t, "moved", []string{job.Queue, job.State, fmt.Sprint(job.Tags)}, []string{"elsewhere", "scheduled", "[red]"})
		if err := c.Requeue(ctx, queue.Put{Queue: "q", JID: "nobody", Klass: "K"}); !errors.Is(err, queue.ErrNoJob) {
			t.Errorf("requeue of an unknown job: %v", err)
		}

		must(c.Put(ctx, queue.Put{Queue: "q", JID: "waits", Klass: "K", Depends: []string{"parent"}}))(t)
		ok(t, c.Depend(ctx, "waits", "child"))
		if err := c.Cancel(ctx, "parent"); queue.Class(err) != queue.Refused {
			t.Errorf("cancelling a job that another depends on: %v", err)
		}
		ok(t, c.UndependAll(ctx, "waits"))
		ok(t, c.Cancel(ctx, "parent", "waits"))
		if _, err := c.Get(ctx, "parent"); !errors.Is(err, queue.ErrNoJob) {
			t.Errorf("a cancelled job: %v", err)
		}
	})
}

func TestWorkersSingleCommands(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		for _, jid := range []string{"a", "b", "c", "d"} {
			must(c.Put(ctx, queue.Put{Queue: "q", JID: jid, Klass: "K", Retries: ptr(0)}))(t)
		}
		equal(t, "peeked", len(must(c.Peek(ctx, "q", 1, 2))(t)), 2)
		jobs := must(c.Pop(ctx, "q", "w", 10))(t)
		equal(t, "popped", len(jobs), 4)
		equal(t, "popped from an empty queue", len(must(c.Pop(ctx, "q", "w", 10))(t)), 0)
		if until := must(c.Heartbeat(ctx, "a", "w"))(t); float64(until) < c.Now()+50 {
			t.Errorf("heartbeat until %d, now it is %f", until, c.Now())
		}
		for name, err := range map[string]error{
			"heartbeat": second(c.Heartbeat(ctx, "a", "other")),
			"complete":  c.Complete(ctx, "a", "other", "q", []byte("{}")),
			"fail":      c.Fail(ctx, "a", "other", "g", "m"),
			"retry":     second(c.Retry(ctx, "nobody", "q", "w", 0, "", "")),
		} {
			if !errors.Is(err, queue.ErrLockLost) || queue.Class(err) != queue.Refused {
				t.Errorf("%s without a lock: %v (%v)", name, err, queue.Class(err))
			}
		}
		held, stalled, err := c.Worker(ctx, "w")
		ok(t, err)
		equal(t, "held", fmt.Sprint(len(held), stalled), "4 []")
		workers := must(c.Workers(ctx))(t)
		equal(t, "workers", workers, []queue.WorkerCounts{{Name: "w", Seen: must(c.WorkerSeen(ctx, "w"))(t), Jobs: 4}})

		ok(t, c.Complete(ctx, "a", "w", "q", []byte(`{"done":[]}`)))
		equal(t, "complete", must(c.Jobs(ctx, "complete", "", 0, 10))(t), []string{"a"})
		equal(t, "advanced", must(c.Advance(ctx, "b", "w", "q", []byte("{}"), "next", time.Minute))(t), "scheduled")
		ok(t, c.Fail(ctx, "c", "w", "grp", "why"))
		equal(t, "retries left", must(c.Retry(ctx, "d", "q", "w", 0, "grp", "again"))(t), -1)
		equal(t, "failed", must(c.FailedGroups(ctx))(t), map[string]int{"grp": 2})
		jids, total, err := c.Failed(ctx, "grp", 0, 1)
		ok(t, err)
		equal(t, "failed", fmt.Sprint(jids, total), "[d] 2")
		job := must(c.Get(ctx, "c"))(t)
		equal(t, "failure", job.Failure.Group+" "+job.Failure.Message+" "+job.Failure.Worker, "grp why w")
		equal(t, "unfailed", must(c.Unfail(ctx, "q", "grp", 10))(t), 2)

		must(c.Pop(ctx, "q", "w", 1))(t)
		jobs = must(c.GetMany(ctx, must(c.Jobs(ctx, "running", "q", 0, 10))(t)...))(t)
		equal(t, "running", len(jobs), 1)
		ok(t, c.Timeout(ctx, jobs[0].JID))
		equal(t, "timed out", must(c.Get(ctx, jobs[0].JID))(t).State, "stalled")
		ok(t, c.ForgetWorkers(ctx, "w"))
		equal(t, "workers", len(must(c.Workers(ctx))(t)), 0)

		stats := must(c.Stats(ctx, "q", time.Unix(int64(c.Now()), 0)))(t)
		equal(t, "stats", fmt.Sprint(stats.Wait.Count, stats.Run.Count, stats.Failures, len(stats.Run.Histogram)), "5 2 2 148")
	})
}

func second[T any](_ T, err error) error { return err }

func TestQueuesAndSettings(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		equal(t, "queues", len(must(c.Queues(ctx))(t)), 0)
		must(c.Put(ctx, queue.Put{Queue: "q", Klass: "K"}))(t)
		must(c.Put(ctx, queue.Put{Queue: "q", Klass: "K", Delay: time.Hour}))(t)
		want := queue.QueueCounts{Name: "q", Waiting: 1, Scheduled: 1}
		equal(t, "queues", must(c.Queues(ctx))(t), []queue.QueueCounts{want})
		equal(t, "queue", must(c.Queue(ctx, "q"))(t), want)
		equal(t, "names", must(c.QueueNames(ctx))(t), []string{"q"})
		equal(t, "length", must(c.Length(ctx, "q"))(t), 2)
		ok(t, c.Pause(ctx, "q"))
		equal(t, "paused", must(c.Queue(ctx, "q"))(t).Paused, true)
		equal(t, "popped from a paused queue", len(must(c.Pop(ctx, "q", "w", 1))(t)), 0)
		outlook, now, err := c.Outlook(ctx, []string{"q", "empty"})
		ok(t, err)
		if first := outlook[0]; first.Ready != 1 || !first.Paused || first.NextDue < now+3590 || first.HeadPut > now {
			t.Errorf("outlook %+v", first)
		}
		equal(t, "outlook of an empty queue", outlook[1], queue.QueueOutlook{Queue: "empty"})
		ok(t, c.Resume(ctx, "q"))
		equal(t, "paused", must(c.Queue(ctx, "q"))(t).Paused, false)
		ok(t, c.ForgetQueues(ctx, "q"))
		equal(t, "names", len(must(c.QueueNames(ctx))(t)), 0)

		equal(t, "setting", must(c.Setting(ctx, "heartbeat"))(t), "60")
		ok(t, c.Set(ctx, "heartbeat", "30"))
		equal(t, "setting", must(c.Setting(ctx, "heartbeat"))(t), "30")
		all := must(c.Settings(ctx))(t)
		equal(t, "settings", all["heartbeat"]+" "+all["grace-period"]+" "+all["application"], "30 10 qless")
		ok(t, c.Unset(ctx, "heartbeat"))
		equal(t, "setting", must(c.Setting(ctx, "no-such"))(t), "")

		ok(t, c.SetThrottle(ctx, queue.Throttle{ID: "t", Maximum: 2, TTL: time.Minute}))
		throttle := must(c.Throttle(ctx, "t"))(t)
		if throttle.TTL < 50*time.Second { // Redis tells whole seconds of what is left
			t.Errorf("the throttle's TTL is %v, want a minute, about", throttle.TTL)
		}
		throttle.TTL = 0
		equal(t, "throttle", throttle, queue.Throttle{ID: "t", Maximum: 2})
		ok(t, c.SetQueueThrottle(ctx, "q", 1))
		equal(t, "queue throttle", must(c.QueueThrottle(ctx, "q"))(t).Maximum, 1)
		for _, jid := range []string{"t1", "t2"} {
			must(c.Put(ctx, queue.Put{Queue: "q", JID: jid, Klass: "K", Throttles: []string{"t"}, Priority: ptr(9.0)}))(t)
		}
		reply := must(session(t, c, "w").Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 9}))(t)
		equal(t, "taken under a queue throttle of one", len(reply.Jobs), 2) // and the one without throttles
		holders, waiters := must(c.ThrottleHolders(ctx, "t"))(t), must(c.ThrottleWaiters(ctx, "ql:q:q"))(t)
		equal(t, "holders and waiters", fmt.Sprint(holders, waiters), "[t1] [t2]")
		ok(t, c.ReleaseThrottle(ctx, "t", "t1"))
		equal(t, "holders", len(must(c.ThrottleHolders(ctx, "t"))(t)), 0)
		ok(t, c.DeleteThrottle(ctx, "t"))
		equal(t, "throttle", must(c.Throttle(ctx, "t"))(t).Maximum, 0)

		ok(t, c.SetIdentifierPatterns(ctx, map[string][]string{"fr": {"un", "deux"}}))
		equal(t, "identifiers", must(c.IdentifierPatterns(ctx))(t), map[string][]string{"default": {"*"}, "fr": {"un", "deux"}})
		ok(t, c.SetPriorityPatterns(ctx, []queue.PriorityPattern{{Fairly: true, Pattern: []string{"a"}}}))
		equal(t, "priorities", must(c.PriorityPatterns(ctx))(t),
			[]queue.PriorityPattern{{Fairly: true, Pattern: []string{"a"}}, {Pattern: []string{"default"}}})
	})
}

func TestRecurringJobs(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		jid := must(c.Recur(ctx, queue.Recurring{Queue: "q", JID: "r", Klass: "K", Interval: time.Minute, Tags: []string{"x"}, Backlog: 1, Priority: 2}))(t)
		r := must(c.Recurring(ctx, jid))(t)
		equal(t, "recurring", fmt.Sprint(r.Queue, r.Klass, string(r.Data), r.Interval, r.Priority, r.Tags, r.Backlog), "qK{}1m0s 2 [x] 1")
		if r.Next == 0 || r.Next > c.Now() {
			t.Errorf("next is due at %f, now it is %f", r.Next, c.Now())
		}
		reply := must(session(t, c, "w").Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 5}))(t)
		equal(t, "copies", reply.Jobs[0].JID, "r-1")
		never(t, reply.NextDue < reply.Now+50 || reply.NextDue > reply.Now+60, "next due at %f, now it is %f", reply.NextDue, reply.Now)
		ok(t, c.UpdateRecurring(ctx, jid, queue.RecurringChange{Queue: ptr("other"), Interval: ptr(time.Hour), Data: []byte("[1]"), Retries: ptr(4)}))
		r = must(c.Recurring(ctx, jid))(t)
		equal(t, "changed", fmt.Sprint(r.Queue, string(r.Data), r.Interval, r.Retries, r.Count), "other[1]1h0m0s 4 1")
		equal(t, "tags", must(c.TagRecurring(ctx, jid, "y"))(t), []string{"x", "y"})
		equal(t, "tags", must(c.UntagRecurring(ctx, jid, "x"))(t), []string{"y"})
		equal(t, "listed", must(c.Jobs(ctx, "recurring", "other", 0, 5))(t), []string{"r"})
		ok(t, c.Unrecur(ctx, jid))
		if _, err := c.Recurring(ctx, jid); !errors.Is(err, queue.ErrNoJob) {
			t.Errorf("a recurring job that was ended: %v", err)
		}
		must(c.Recur(ctx, queue.Recurring{Queue: "q", JID: "th", Klass: "K", Interval: time.Minute, Throttles: []string{"t"}}))(t)
		equal(t, "throttles", must(c.Recurring(ctx, "th"))(t).Throttles, []string{"t", "ql:q:q"})
	})
}

func TestEventsAndNotices(t *testing.T) {
	onServers(t, redistest.Start(t), func(t *testing.T, c *queue.Client) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		events := make(chan queue.Event, 100)
		following, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for event, err := range c.Events(following) {
				if err != nil {
					t.Error(err)
					return
				}
				events <- event
			}
		}()
		notices := c.Notices(following, "w")
		awaitSubscribers(t, c, "ql:log", "ql:w:w", c.WakeChannel())

		must(c.Put(ctx, queue.Put{Queue: "q", JID: "j", Klass: "K"}))(t)
		equal(t, "event", <-events, queue.Event{Channel: "log", Event: "put", JID: "j", Queue: "q"})
		equal(t, "notice", <-notices, queue.Notice{Kind: queue.NoticeWake, Queue: "q"})
		must(c.Pop(ctx, "q", "w", 1))(t)
		ok(t, c.Cancel(ctx, "j"))
		equal(t, "event", <-events, queue.Event{Channel: "log", Event: "canceled", JID: "j", Queue: "q", Worker: "w"})
		equal(t, "notice", <-notices, queue.Notice{Kind: queue.NoticeCanceled, JID: "j", Worker: "w"})
		stop()
		<-done
		for range notices { // ends when it is closed
		}
	})
}

func TestForeignPutsAreNoticedByKeyspaceNotifications(t *testing.T) {
	server := redistest.Start(t, "--notify-keyspace-events", "Kz")
	c, raw := openURL(t, server.URL+"?db=3"), server.Client(t)
	notices := c.Notices(t.Context(), "w")
	await(t, "the subscription", func() bool { return raw.PubSubNumPat(t.Context()).Val() == 1 })
	must(c.Pop(t.Context(), "mail", "w", 1))(t) // nothing of which anyone need be told
	must(queue.Protocol(queue.Qless).Run(t.Context(), c.Redis(), nil, "put", 1, "w", "mail", "j", "K", "{}", 0).Result())(t)
	equal(t, "notice", <-notices, queue.Notice{Kind: queue.NoticeWake, Queue: "mail"})
}

// awaitSubscribers returns when each channel has one.
func awaitSubscribers(t *testing.T, c *queue.Client, channels ...string) {
	t.Helper()
	private(t, c)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		counts := must(c.Redis().PubSubNumSub(t.Context(), channels...).Result())(t)
		if !slices.ContainsFunc(channels, func(name string) bool { return counts[name] == 0 }) {
			return
		}
	}
}

// Dependencies outlive a job that is pruned, and a new job of that name has them, whether it
// is put alone or with others.
func TestPutWaitsForWhatAPrunedJobLeft(t *testing.T) {
	server := redistest.Shared(t)
	c, raw, ctx := open(t, server), server.Client(t), t.Context()
	must(c.Put(ctx, queue.Put{Queue: "q", JID: "first", Klass: "K"}))(t)
	ok(t, raw.SAdd(ctx, "ql:j:second-dependencies", "first").Err())
	ok(t, raw.SAdd(ctx, "ql:j:first-dependents", "second").Err())
	putAll(t, c, queue.Put{Queue: "q", JID: "second", Klass: "K"}, queue.Put{Queue: "q", JID: "third", Klass: "K"})
	s := session(t, c, "w")
	reply, jids := take(t, s, queue.Take{Queues: []string{"q"}, Count: 9})
	equal(t, "taken", jids, []string{"first", "third"})
	settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete})
	_, jids = take(t, s, queue.Take{Queues: []string{"q"}, Count: 9})
	equal(t, "taken then", jids, []string{"second"})
}

// TestQueuesWithADamagedOne breaks a key of a queue: the others are counted.
func TestQueuesWithADamagedOne(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		putAll(t, c, queue.Put{Queue: "good", JID: "a", Klass: "K"}, queue.Put{Queue: "bad", JID: "b", Klass: "K"})
		ok(t, c.Redis().Del(t.Context(), "ql:q:bad-work").Err())
		ok(t, c.Redis().Set(t.Context(), "ql:q:bad-work", "z", 0).Err())
		for _, q := range must(c.Queues(t.Context()))(t) {
			never(t, q.Name == "good" && (q.Waiting != 1 || q.Damage != "") || q.Name == "bad" && q.Damage == "", "counted %+v", q)
		}
	})
}

// TestADamagedJobIsShown writes junk into the fields of a job: it is shown with what can be read of
// it, and those beside it as ever.
func TestADamagedJobIsShown(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		for _, field := range []string{"klass", "state", "queue", "priority", "retries", "remaining", "expires", "data", "tags", "failure", "history", "throttles"} {
			for _, value := range []string{"gone", "", "high", "-5", "inf", "nan", "{}", `{"a"`} {
				putAll(t, c, queue.Put{Queue: "q", JID: "bad", Klass: "K"}, queue.Put{Queue: "q", JID: "good", Klass: "K"})
				if value == "gone" {
					ok(t, c.Redis().HDel(ctx, "ql:j:bad", field).Err())
				} else {
					ok(t, c.Redis().HSet(ctx, "ql:j:bad", field, value).Err())
				}
				for how, jobs := range map[string][]queue.Job{"get": must(c.GetMany(ctx, "bad", "good"))(t), "peek": must(c.Peek(ctx, "q", 0, 9))(t)} {
					stop(t, len(jobs) != 2, "%s %q: %s shows %d jobs", field, value, how, len(jobs))
					for _, job := range jobs {
						if job.JID == "good" && (job.Klass != "K" || job.Damage != "") || job.JID == "bad" && field != "data" && string(job.Data) != "{}" {
							t.Errorf("%s %q: %s shows %+v", field, value, how, job)
						}
					}
				}
				ok(t, c.Redis().FlushDB(ctx).Err())
			}
		}
	})
}

// BeforePut sees each job, may change a copy of it, and refuse it alone.
func TestBeforePut(t *testing.T) {
	server := redistest.Shared(t)
	bad := errors.New("not this one")
	c, err := queue.Open(t.Context(), queue.Options{URL: server.URL, BeforePut: func(_ context.Context, p *queue.Put) error {
		if p.Klass == "Bad" {
			return bad
		}
		p.Tags = append(slices.Clone(p.Tags), "seen")
		return nil
	}})
	ok(t, err)
	defer c.Close()
	puts := []queue.Put{{Queue: "q", JID: "a", Klass: "K", Tags: []string{"x"}}, {Queue: "q", JID: "b", Klass: "Bad"}, {Queue: "q", JID: "c", Klass: "K"}}
	results, err := c.PutAll(t.Context(), puts)
	if err != nil || results[0].Err != nil || !errors.Is(results[1].Err, bad) || results[1].JID != "b" || results[2].Err != nil {
		t.Errorf("%+v (%v)", results, err)
	}
	for jid, tags := range map[string]string{"a": "[x seen]", "c": "[seen]"} {
		if job, err := c.Get(t.Context(), jid); err != nil || fmt.Sprint(job.Tags) != tags {
			t.Errorf("%s is %+v (%v)", jid, job, err)
		}
	}
	if _, err := c.Put(t.Context(), puts[1]); !errors.Is(err, bad) || len(puts[0].Tags) != 1 {
		t.Errorf("alone it is %v, and the caller's are %+v", err, puts)
	}
	if _, err := c.Get(t.Context(), "b"); !errors.Is(err, queue.ErrNoJob) {
		t.Errorf("there is a refused job (%v)", err)
	}
}

// fresh returns a client of an empty key space.
func fresh(t testing.TB) *queue.Client {
	t.Helper()
	return open(t, redistest.Shared(t))
}

// private ends a test of what concerns a whole server which others use, too.
func private(t testing.TB, c *queue.Client) {
	t.Helper()
	if one, is := c.Redis().(*redis.Client); is && one.Options().DB > 0 {
		t.Fatal("other tests use this server, too")
	}
}

// open returns a client of a server.
func open(t testing.TB, s *redistest.Server) *queue.Client {
	t.Helper()
	return openURL(t, s.URL)
}

func openURL(t testing.TB, url string) *queue.Client {
	t.Helper()
	queue.Beside(t)
	c, err := queue.Open(t.Context(), queue.Options{URL: url, ReadTimeout: 30 * time.Second}) // the machine may be busy
	ok(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func session(t testing.TB, c *queue.Client, worker string) *queue.Session {
	t.Helper()
	s := c.Session(worker)
	t.Cleanup(func() { s.Close() })
	return s
}
