package queue_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// jidsOn reads a whole shelf in windows of so many jobs.
func jidsOn(t *testing.T, c *queue.Client, s queue.Shelf, limit int) []string {
	t.Helper()
	var jids []string
	for cursor := ""; ; {
		l := must(c.List(t.Context(), s, cursor, limit, queue.Brief, queue.Words{}))(t)
		for _, g := range l.Jobs {
			jids = append(jids, g.JID)
		}
		if cursor = l.Next; cursor == "" {
			return jids
		}
	}
}

// everyPlace puts jobs so that there is one in each place that a job may stand in, named like it, and tells of which shelf
// each is.
func everyPlace(t *testing.T, c *queue.Client) map[queue.Shelf][]string {
	t.Helper()
	ctx := t.Context()
	put := func(p queue.Put) { t.Helper(); must(c.Put(ctx, p))(t) }
	ok(t, c.SetThrottle(ctx, queue.Throttle{ID: "narrow", Maximum: 1}))
	s := session(t, c, "w")
	put(queue.Put{Queue: "done", JID: "complete", Klass: "K"})
	reply, _ := take(t, s, queue.Take{Queues: []string{"done"}, Count: 1})
	settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete})
	failedJob(t, c, s, "failed")
	put(queue.Put{Queue: "q", JID: "running", Klass: "K", Throttles: []string{"narrow"}})
	put(queue.Put{Queue: "q", JID: "throttled", Klass: "K", Throttles: []string{"narrow"}})
	take(t, s, queue.Take{Queues: []string{"q"}, Count: 2})
	must(c.Pop(ctx, "q", "w", 1))(t) // finds no place for the other
	put(queue.Put{Queue: "q", JID: "waiting", Klass: "K", Tags: []string{"red"}})
	put(queue.Put{Queue: "q", JID: "scheduled", Klass: "K", Delay: time.Hour})
	put(queue.Put{Queue: "q", JID: "depends", Klass: "K", Depends: []string{"waiting"}})
	put(queue.Put{Queue: "q", JID: "due", Klass: "K", Delay: time.Millisecond})
	put(queue.Put{Queue: "old", JID: "stalled", Klass: "K"})
	take(t, s, queue.Take{Queues: []string{"old"}, Count: 1})
	rdb := c.Redis()
	ok(t, rdb.ZAdd(ctx, "ql:q:old-locks", z(c.Now()-5, "stalled")).Err())
	ok(t, rdb.ZAdd(ctx, "ql:q:q-scheduled", z(c.Now()-5, "due")).Err())
	must(c.Track(ctx, "waiting"))(t)
	ok(t, rdb.ZAdd(ctx, "ql:tracked", z(1, "lost")).Err())
	shelf := func(kind queue.ShelfKind, name string) queue.Shelf { return queue.Shelf{Kind: kind, Name: name} }
	return map[queue.Shelf][]string{
		shelf("waiting", "q"): {"waiting", "due"}, shelf("running", "q"): {"running"}, shelf("stalled", "old"): {"stalled"},
		shelf("scheduled", "q"): {"scheduled"}, shelf("depends", "q"): {"depends"}, shelf("throttled", "q"): {"throttled"},
		shelf("failed", "g"): {"failed"}, shelf("tag", "red"): {"failed", "waiting"}, shelf("worker", "w"): {"running", "stalled"},
		shelf("holders", "narrow"): {"running"}, shelf("waiters", "narrow"): {"throttled"}, shelf("tracked", ""): {"lost", "waiting"},
		shelf("complete", ""): {"complete"}, shelf("running", "old"): nil, shelf("failed", "none"): nil,
	}
}

// rows are the rows of the jobs that everyPlace puts, where they are not named for them.
var rows = map[string]string{"due": "waiting", "lost": queue.RowGone}

func TestEveryPlaceIsListed(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		for shelf, want := range everyPlace(t, c) {
			l := must(c.List(t.Context(), shelf, "", 10, queue.Brief, queue.Words{}))(t)
			var jids []string
			for _, g := range l.Jobs {
				jids = append(jids, g.JID)
				if row := cmp.Or(rows[g.JID], g.JID); g.Row != row || g.Damage != "" {
					t.Errorf("%v: %s stands as %s, want %s (%s)", shelf, g.JID, g.Row, row, g.Damage)
				}
			}
			if slices.Sort(jids); !slices.Equal(jids, slices.Sorted(slices.Values(want))) || l.Total != len(want) || l.Next != "" {
				t.Errorf("%v: %v of %d, next %q; want %v", shelf, jids, l.Total, l.Next, want)
			}
		}
	})
}

// asTheProtocolSays is a job as the protocol's own command shows it.
func asTheProtocolSays(t *testing.T, c *queue.Client, jid string) (job queue.Job) {
	t.Helper()
	text, _ := queue.Script(queue.Reqless, "job.get", queue.DefaultNamespace)
	sha := must(c.Redis().ScriptLoad(t.Context(), text).Result())(t)
	shown := must(c.Redis().EvalSha(t.Context(), sha, nil, fmt.Sprint(c.Now()), jid).Text())(t)
	ok(t, json.Unmarshal([]byte(shown), &job))
	return job
}

func TestAJobIsReadAsTheProtocolShowsIt(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		everyPlace(t, c)
		must(c.Put(ctx, queue.Put{Queue: "q", JID: "rich", Klass: "K", Data: []byte(`{"a":[]}`), Priority: ptr(2.5), Retries: ptr(3), Delay: time.Hour,
			Tags: []string{"red", "blue"}, Depends: []string{"waiting"}, Throttles: []string{"narrow"}, Timeout: 90 * time.Second}))(t)
		ok(t, c.Log(ctx, "rich", "noted", []byte(`{"by":"us","n":[1]}`)))
		for _, jid := range []string{"complete", "failed", "running", "throttled", "waiting", "scheduled", "depends", "due", "stalled", "rich"} {
			got, want := *must(c.Get(ctx, jid))(t), asTheProtocolSays(t, c, jid)
			if math.Abs(got.Expires-want.Expires) < 1e-3 {
				want.Expires = got.Expires // the protocol's view has fewer digits
			}
			want.Kept, want.Mark, want.Row, want.Moment = got.Kept, got.Mark, got.Row, got.Moment // which it does not show
			want.DependsOn, want.DependedOn = len(want.Dependencies), len(want.Dependents)
			equal(t, jid, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
		}
		equal(t, "one that is not there", must(c.Glances(ctx, queue.Whole, "none"))(t)[0].Row, queue.RowGone)
	})
}

// A history as programs before the list kept it is shown as the protocol's commands, which turn it into a list, do.
func TestALegacyHistoryIsReadAsItIs(t *testing.T) {
	c := fresh(t)
	ctx := t.Context()
	must(c.Put(ctx, queue.Put{Queue: "q", JID: "j", Klass: "K"}))(t)
	ok(t, c.Redis().Del(ctx, "ql:j:j-history").Err())
	ok(t, c.Redis().HSet(ctx, "ql:j:j", "history", `[{"put":1.5,"q":"q","worker":"w","popped":2,"failed":3},{"put":4,"q":"r","popped":5.9,"done":6}]`).Err())
	got := must(c.Get(ctx, "j"))(t).History
	equal(t, "history", got, asTheProtocolSays(t, c, "j").History)
	equal(t, "history as a list", must(c.Get(ctx, "j"))(t).History, got)
}

func TestWindowsStayWhereTheyAre(t *testing.T) {
	c := fresh(t)
	ctx, rdb := t.Context(), c.Redis()
	for _, shelf := range []queue.Shelf{{Kind: queue.ShelfDepends, Name: "q"}, {Kind: queue.ShelfComplete}, {Kind: queue.ShelfFailed, Name: "g"}} {
		ok(t, rdb.FlushDB(ctx).Err())
		for i := range 23 { // three at a time at the same place, in whichever order of bytes
			jid := fmt.Sprintf("%c%02d", "zaM"[i%3], i)
			ok(t, rdb.ZAdd(ctx, "ql:q:q-depends", z(float64(i/3), jid)).Err())
			ok(t, rdb.ZAdd(ctx, "ql:completed", z(float64(i/3), jid)).Err())
			ok(t, rdb.LPush(ctx, "ql:f:g", jid).Err())
		}
		all := jidsOn(t, c, shelf, 200)
		stop(t, len(all) != 23, "%v: %d jobs", shelf, len(all))
		for limit := 1; limit < 24; limit++ {
			if in := jidsOn(t, c, shelf, limit); !slices.Equal(in, all) {
				t.Errorf("%v by %d: %v, want %v", shelf, limit, in, all)
			}
		}
		// What was seen goes, and others come in front: nothing that stays is missed or seen twice.
		seen, n := map[string]int{}, 0
		for cursor := ""; ; {
			l := must(c.List(ctx, shelf, cursor, 4, queue.Brief, queue.Words{}))(t)
			for _, g := range l.Jobs {
				seen[g.JID]++
				rdb.ZRem(ctx, "ql:q:q-depends", g.JID)
				rdb.ZRem(ctx, "ql:completed", g.JID)
				rdb.LRem(ctx, "ql:f:g", 0, g.JID)
			}
			n++
			rdb.LPush(ctx, "ql:f:g", fmt.Sprint("new", n))
			rdb.ZAdd(ctx, "ql:completed", z(float64(100+n), fmt.Sprint("new", n)))
			rdb.ZAdd(ctx, "ql:q:q-depends", z(-float64(100+n), fmt.Sprint("new", n)))
			if cursor = l.Next; cursor == "" {
				break
			}
		}
		if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, slices.Sorted(slices.Values(all))) {
			t.Errorf("%v, changed meanwhile: %v, want %v", shelf, got, all)
		}
		for jid, times := range seen {
			never(t, times != 1, "%v: %s was seen %d times", shelf, jid, times)
		}
	}
	for _, cursor := range []string{"x", "1:", "1:x", "9:1:j", ":", strings.Repeat("9", 400)} {
		for _, kind := range []queue.ShelfKind{queue.ShelfComplete, queue.ShelfFailed} {
			if _, err := c.List(ctx, queue.Shelf{Kind: kind, Name: "g"}, cursor, 4, queue.Brief, queue.Words{}); err != nil && !errors.Is(err, queue.ErrCursor) {
				t.Errorf("cursor %q: %v", cursor, err)
			}
		}
	}
}

// z is an entry of a sorted set.
func z(score float64, member string) redis.Z { return redis.Z{Score: score, Member: member} }

// Whatever a name consists of, it is listed, and a window goes on behind it.
func TestHostileNamesAreListed(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx, long := t.Context(), 16<<10
		if strings.HasSuffix(t.Name(), "embedded") {
			long = 1 << 10 // its Lua is slow
		}
		put, _ := queue.Script(queue.Qless, "put", queue.DefaultNamespace)
		names := []string{" ", "a:b", "1:2:3", "a/b", "line\nbreak", "nul\x00byte", "\u202ebidi", "bad\xffutf8", "%", "(1", "+5", strings.Repeat("l", long)}
		for _, name := range names {
			q := "q" + name
			named := func(jid string) string { return strings.ReplaceAll(name+jid, "\x00", "\x01") } // a jid has no NUL
			for i, jid := range names {
				// As another client puts it: some are longer than ours take.
				tags := `["` + strings.NewReplacer("\n", `\n`, "\x00", `\u0000`).Replace(strings.ToValidUTF8(name, "\uFFFD")) + `"]`
				ok(t, c.Redis().Eval(ctx, put, nil, fmt.Sprint(1700000000+i), "w", q, named(jid), name, "{}", 0, "priority", -i/3, "tags", tags).Err())
			}
			want := make([]string, 0, len(names))
			for _, jid := range names {
				want = append(want, named(jid))
			}
			slices.Sort(want)
			for _, shelf := range []queue.Shelf{{Kind: queue.ShelfWaiting, Name: q}, {Kind: queue.ShelfTag, Name: strings.ToValidUTF8(name, "\uFFFD")}} { // tags are JSON
				got := jidsOn(t, c, shelf, 2)
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("%s %.20q: %.200q", shelf.Kind, name, got)
				}
			}
			census, _, err := c.Census(ctx, []string{q})
			never(t, err != nil || census[0].Waiting != len(names) || census[0].Name != q, "%.20q: %+v %v", name, census, err)
		}
	})
}

// One key of another type is said where it is met, and hides nothing else.
func TestWhatIsDamagedIsListed(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx, rdb := t.Context(), c.Redis()
		for _, jid := range []string{"a", "b", "c"} {
			must(c.Put(ctx, queue.Put{Queue: "q", JID: jid, Klass: "K"}))(t)
		}
		ok(t, rdb.Del(ctx, "ql:j:b").Err())
		ok(t, rdb.Set(ctx, "ql:j:b", "x", 0).Err())
		ok(t, rdb.HSet(ctx, "ql:j:c", "priority", "high", "tags", "{", "failure", "[", "oarlock-crashes", "many").Err())
		l := must(c.List(ctx, queue.Shelf{Kind: queue.ShelfWaiting, Name: "q"}, "", 10, queue.Brief, queue.Words{}))(t)
		rows := map[string]string{}
		for _, job := range l.Jobs {
			rows[job.JID] = job.Row
			never(t, (job.Damage == "") != (job.JID == "a"), "%s: %q", job.JID, job.Damage)
		}
		equal(t, "rows", rows, map[string]string{"a": "waiting", "b": queue.RowDamaged, "c": "waiting"})
		ok(t, rdb.Set(ctx, "ql:f:broken", "x", 0).Err())
		ok(t, rdb.SAdd(ctx, "ql:failures", "broken", "empty").Err())
		groups := must(c.FailureGroups(ctx, "", 10, queue.Brief))(t)
		equal(t, "groups", groups.Groups, []queue.FailureGroup{{Name: "empty"}, {Name: "broken", Jobs: -1}})
		ok(t, rdb.Set(ctx, "ql:q:broken-work", "x", 0).Err())
		census, _, err := c.Census(ctx, []string{"broken", "q"})
		never(t, err != nil || census[0].Damage == "" || census[1].Damage != "" || census[1].Waiting != 3, "%+v %v", census, err)
		if _, err := c.List(ctx, queue.Shelf{Kind: queue.ShelfWaiting, Name: "broken"}, "", 10, queue.Brief, queue.Words{}); queue.Class(err) != queue.Refused {
			t.Errorf("a shelf that is none: %v", err)
		}
	})
}

// Thousands of groups are told in pages, in no order, each once; fewer come with the largest first.
func TestFailureGroupsInPages(t *testing.T) {
	c := fresh(t)
	ctx := t.Context()
	for _, many := range []int{45, 3000} {
		ok(t, c.Redis().FlushDB(ctx).Err())
		ok(t, c.Redis().Eval(ctx, `for i = 1, tonumber(ARGV[1]) do redis.call('SADD', 'ql:failures', 'g' .. i) for _ = 1, i % 7 + 1 do redis.call('LPUSH', 'ql:f:g' .. i, 'none') end end return 1`, nil, many).Err())
		seen, last := map[string]bool{}, 1000
		for cursor := ""; ; {
			f := must(c.FailureGroups(ctx, cursor, 20, queue.Brief))(t)
			stop(t, f.Total != many || f.Sorted != (many == 45), "%d groups, sorted %v", f.Total, f.Sorted)
			for _, g := range f.Groups {
				if seen[g.Name] = true; f.Sorted && g.Jobs > last {
					t.Errorf("%s with %d comes behind one with %d", g.Name, g.Jobs, last)
				}
				last = g.Jobs
			}
			if cursor = f.Next; cursor == "" {
				break
			}
		}
		equal(t, "groups seen", len(seen), many)
	}
}

// The user of ACL.md who only looks may look at everything, and change nothing.
func TestWhoOnlyLooks(t *testing.T) {
	server := redistest.Start(t)
	allowUser(t, server, "looker")
	worker := open(t, server)
	shelves := everyPlace(t, worker)
	must(worker.Put(t.Context(), queue.Put{Queue: "parks", JID: "answered", Klass: "K"}))(t)
	s := session(t, worker, "asks")
	reply, _ := take(t, s, queue.Take{Queues: []string{"parks"}, Count: 1})
	settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Park, Correlation: "c", Delay: time.Hour})
	must(worker.Respond(t.Context(), queue.Response{Klass: "K", Correlation: "c"}))(t)
	c, ctx := openURL(t, "unix://looker:PASSWORD@"+server.Addr), t.Context()
	for shelf := range shelves {
		must(c.List(ctx, shelf, "", 10, queue.Brief, queue.Words{Data: "x", Message: "y"}))(t)
	}
	must(c.GetMany(ctx, "waiting", "failed", "none"))(t)
	for _, job := range must(c.Glances(ctx, queue.Whole, "waiting", "answered"))(t) {
		equal(t, "damage of "+job.JID, job.Damage, "")
	}
	must(c.FailureGroups(ctx, "", 10, queue.Brief))(t)
	must(c.Days(ctx, "q", time.Now(), 30))(t)
	must(c.Named(ctx, "waiting"))(t)
	if _, _, err := c.Census(ctx, []string{"q", "none"}); err != nil {
		t.Error(err)
	}
	ok(t, server.Client(t).Do(ctx, "ACL", "SETUSER", "looker", "-hmget").Err())
	if jobs, err := c.Glances(ctx, queue.Whole, "answered"); queue.Class(err) != queue.Denied { // it is not the job that is damaged
		t.Errorf("without HMGET it says %+v, %v", jobs, err)
	}
	for what, err := range map[string]error{
		"a put": second(c.Put(ctx, queue.Put{Queue: "q", Klass: "K"})), "a pause": c.Pause(ctx, "q"), "a setting": c.Set(ctx, "heartbeat", "70"),
		"a cancel": c.Cancel(ctx, "waiting"), "an event": c.Redis().Publish(ctx, "ql:x", "y").Err(),
	} {
		never(t, err == nil, "%s went through", what)
	}
}

func TestRecurringJobsOfManyQueues(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		var want []queue.Recurring
		for i, name := range []string{"a", "b"} {
			for n := range 3 {
				r := queue.Recurring{Queue: name, JID: fmt.Sprint(name, n), Klass: "K", Data: []byte(`{"a":[]}`), Interval: time.Hour, Offset: time.Duration(n+1) * time.Minute,
					Priority: 2.5, Retries: 3, Tags: []string{"x"}, Backlog: 4, Throttles: [][]string{nil, {"t"}}[i]}
				must(c.Recur(ctx, r))(t)
				want = append(want, *must(c.Recurring(ctx, r.JID))(t))
			}
		}
		equal(t, "all", fmt.Sprintf("%+v", must(c.RecurringJobs(ctx, []string{"a", "none", "b"}, 0, 10))(t)), fmt.Sprintf("%+v", want))
		equal(t, "the second of each", fmt.Sprintf("%+v", must(c.RecurringJobs(ctx, []string{"a", "b"}, 1, 1))(t)), fmt.Sprintf("%+v", []queue.Recurring{want[1], want[4]}))
		ok(t, c.Redis().HSet(ctx, "ql:r:a1", "interval", "often").Err())
		ok(t, c.Redis().Del(ctx, "ql:r:a2").Err())
		damaged := must(c.RecurringJobs(ctx, []string{"a"}, 0, 10))(t)
		never(t, len(damaged) != 2 || damaged[0].Damage != "" || damaged[1].Damage == "" || damaged[1].JID != "a1", "%+v", damaged)
	})
}

func TestThrottlesAreFoundAmongManyKeys(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ctx, keys := t.Context(), 30_000
		if strings.HasSuffix(t.Name(), "embedded") {
			keys = 100 // it is slow
		}
		ok(t, c.SetThrottle(ctx, queue.Throttle{ID: "x-locks", Maximum: 3, TTL: time.Hour}))
		ok(t, c.SetThrottle(ctx, queue.Throttle{ID: "held", Maximum: 1}))
		ok(t, c.Redis().ZAdd(ctx, "ql:th:held-locks", z(1, "a")).Err())
		ok(t, c.Redis().ZAdd(ctx, "ql:th:held-pending", z(1, "b"), z(2, "c")).Err())
		pipe := c.Redis().Pipeline()
		for i := range keys {
			pipe.HSet(ctx, fmt.Sprint("ql:j:", i), "jid", i)
		}
		must(pipe.Exec(ctx))(t)
		found := map[string]queue.ThrottleCounts{}
		for cursor := ""; ; {
			ids, next, err := c.ThrottleNames(ctx, cursor, 1)
			ok(t, err)
			some := must(c.CountThrottles(ctx, ids))(t)
			for _, th := range some {
				found[th.ID] = th
			}
			if cursor = next; cursor == "" {
				break
			}
		}
		equal(t, "held", found["held"], queue.ThrottleCounts{Throttle: queue.Throttle{ID: "held", Maximum: 1}, Holders: 1, Waiters: 2})
		if th := found["x-locks"]; th.Maximum != 3 || th.TTL <= 59*time.Minute || len(found) != 2 {
			t.Errorf("%+v", found)
		}
		if _, _, err := c.ThrottleNames(ctx, "x", 1); !errors.Is(err, queue.ErrCursor) {
			t.Errorf("a cursor that is none: %v", err)
		}
	})
}

// TestAThrottleIsFoundThatBeginsToBeWaitedFor: while one looks through many keys, jobs begin to wait for a throttle that was not met yet.
func TestAThrottleIsFoundThatBeginsToBeWaitedFor(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ctx, met := t.Context(), map[string]bool{}
		for i := range 40 {
			ok(t, c.SetThrottle(ctx, queue.Throttle{ID: fmt.Sprint("t", i), Maximum: 1}))
		}
		for cursor := ""; ; {
			ids, next, err := c.ThrottleNames(ctx, cursor, 1)
			ok(t, err)
			for _, id := range ids {
				met[id] = true
			}
			if cursor = next; cursor == "" {
				break
			}
			for i := range 40 {
				ok(t, c.Redis().SAdd(ctx, "ql:oarlock:waited", fmt.Sprint("t", i)).Err())
			}
		}
		never(t, len(met) != 40, "met are %d of 40", len(met))
	})
}

// TestEachJobStandsOnTheShelfOfItsRow plays random histories of the protocol's commands: whatever they are, each job is on one
// shelf, which is that of its row, the census counts what the shelves hold, and to look changes nothing.
func TestEachJobStandsOnTheShelfOfItsRow(t *testing.T) {
	l := queue.NewRandomLab(t)
	c, ctx := l.Open(t), t.Context()
	// A delay of inf is one of those that leave keys which contradict each other.
	sound := func(call []string, field func(jid, name string) string) bool {
		return isSound(call, field) && !slices.Contains(call, "inf")
	}
	for _, dialect := range l.Dialects() {
		for seed := range queue.Seeds(t, 20) {
			n := 0
			l.Play(t, dialect, 100+seed, 120, sound, func(calls fmt.Stringer) {
				if n++; n%8 > 0 {
					return
				}
				before := l.Keys(t)
				on := map[string]string{}
				look := func(kind queue.ShelfKind, name string) int {
					shelf := must(c.List(ctx, queue.Shelf{Kind: kind, Name: name}, "", queue.MaxListed, queue.Brief, queue.Words{}))(t)
					for _, job := range shelf.Jobs {
						if job.Row == queue.RowGone {
							continue
						}
						if job.Row != string(kind) || on[job.JID] != "" || job.Damage != "" {
							t.Fatalf("%s %d: %s is on the shelf %s of %q and on %q, its row is %s (%s) after%s", dialect, seed, job.JID, kind, name, on[job.JID], job.Row, job.Damage, calls)
						}
						on[job.JID] = string(kind)
					}
					return shelf.Total
				}
				queues := map[string]bool{}
				for key := range before {
					if name, is := strings.CutPrefix(key, "ql:q:"); is {
						queues[name[:strings.LastIndex(name, "-")]] = true
					}
				}
				for name := range queues {
					census, _, err := c.Census(ctx, []string{name})
					ok(t, err)
					q := census[0]
					for kind, want := range map[queue.ShelfKind]int{queue.ShelfWaiting: q.Waiting, queue.ShelfRunning: q.Running, queue.ShelfStalled: q.Stalled,
						queue.ShelfScheduled: q.Scheduled, queue.ShelfDepends: q.Depends, queue.ShelfThrottled: q.Throttled} {
						if got := look(kind, name); got != want {
							t.Fatalf("%s %d: %d %s of %s on the shelf, %d counted after%s", dialect, seed, got, kind, name, want, calls)
						}
					}
				}
				for _, g := range must(c.FailureGroups(ctx, "", queue.MaxListed, queue.Brief))(t).Groups {
					look(queue.ShelfFailed, g.Name)
				}
				look(queue.ShelfComplete, "")
				for key := range before {
					jid, is := strings.CutPrefix(key, "ql:j:")
					if is && on[jid] == "" && before[key] != "" && !strings.HasSuffix(jid, "-history") && !strings.HasSuffix(jid, "-dependents") && !strings.HasSuffix(jid, "-dependencies") {
						t.Fatalf("%s %d: %s is on no shelf: %s after%s", dialect, seed, jid, before[key], calls)
					}
				}
				if after := l.Keys(t); !maps.Equal(before, after) {
					t.Fatalf("%s %d: looking changed %v", dialect, seed, difference(before, after))
				}
			})
		}
	}
}

// Large jobs are read a few in a call, and each as a whole.
func TestLargeJobsAreReadAFewAtATime(t *testing.T) {
	c := open(t, redistest.Start(t))
	ctx := t.Context()
	large := `"` + strings.Repeat("x", 2<<20) + `"`
	var jids []string
	for i := range 4 {
		jids = append(jids, fmt.Sprint(i))
		must(c.Put(ctx, queue.Put{Queue: "q", JID: jids[i], Klass: "K", Data: []byte(large)}))(t)
	}
	of := costOf(t, c, func() {
		for i, job := range must(c.GetMany(ctx, jids...))(t) {
			stop(t, job.JID != jids[i] || string(job.Data) != large, "%s has %d bytes", job.JID, len(job.Data))
		}
	})
	equal(t, "calls", of.calls, 2)
	for _, g := range must(c.Glances(ctx, queue.Whole, jids...))(t) {
		if g.Size != len(large) || len(g.Data) > 0 || !g.Cut {
			t.Errorf("%d of %d bytes were read to be shown", len(g.Data), g.Size)
		}
	}
}

// Lists are found a part at a time among many other keys: all of them in the end, each part of no more keys than a moment takes; and a cursor
// that is none of ours is refused.
func TestListsAreFoundInParts(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		pipe := c.Redis().Pipeline()
		var want []string
		for i := range 200 {
			pipe.LPush(t.Context(), fmt.Sprintf("hworker-jobs-%03d", i), "[1,2]")
			pipe.HSet(t.Context(), fmt.Sprintf("ql:oarlock:broken:plain-%03d", i), "x", "1")
			want = append(want, fmt.Sprintf("hworker:%03d", i), fmt.Sprintf("plain-%03d", i))
		}
		for i := range 1000 {
			pipe.Set(t.Context(), fmt.Sprint("noise-", i), 1, 0)
		}
		must(pipe.Exec(t.Context()))(t)
		slices.Sort(want)
		var found []string
		parts := 0
		for cursor := ""; ; parts++ {
			some, next, err := c.KnownListsFrom(t.Context(), cursor)
			ok(t, err)
			never(t, len(some) > 500, "a part has %d lists", len(some))
			found = append(found, some...)
			if cursor = next; cursor == "" {
				break
			}
		}
		slices.Sort(found)
		equal(t, "found in parts", slices.Compact(found), want)
		never(t, parts < 1, "all came in one part")
		known := must(c.KnownLists(t.Context()))(t)
		equal(t, "found at once", known, want)
		for _, cursor := range []string{"x", "9 0", "0", "0 x", "-1 0", "0 0 0", "\x00"} {
			if _, _, err := c.KnownListsFrom(t.Context(), cursor); !errors.Is(err, queue.ErrCursor) {
				t.Errorf("%q: %v", cursor, err)
			}
		}
		for name, want := range map[string]bool{"hworker:none": true, "plain-007": true, "noise-1": false, "none": false, "ql:oarlock:broken:plain-007": false} {
			shows := must(c.ShowsList(t.Context(), name))(t)
			equal(t, name, shows, want)
		}
	})
}

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"mail", "mail", true},
		{"mail", "mails", false},
		{"*", "", true},
		{"*", "a/b", true},
		{"mail*", "mail/eu", true},
		{"mail-*", "mail-", true},
		{"mail-*", "mail-a/b*", true},
		{"mail-*", "xmail-a", false},
		{"*-out", "a-out-out", true},
		{"a?c", "abc", true},
		{"a?c", "a/c", true},
		{"a?c", "ac", false},
		{"[a]", "[a]", true},
		{"[a]", "a", false},
		{"[ab", "[ab", true},
		{`a\*`, `a\b`, true},
		{`a\*`, "a*", false},
		{"*a*b*", "xxaxxbxx", true},
		{"*a*b*", "xxbxxaxx", false},
		{"*", "\xff\xfe", true},
		{"mail-*", "mail-\xff", true},
		{"mail-?", "mail-\xff", true},
		{"mail-\xff", "mail-\xff", true},
		{"mail-\xff", "mail-\xfe", false},
		{"mail-\ufffd", "mail-\xff", false},
	}
	for _, tt := range tests {
		if got := queue.Match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("Match(%q, %q) = %v", tt.pattern, tt.name, got)
		}
	}
	if !queue.MatchAny([]string{"a", "b*"}, "b/c") || queue.MatchAny([]string{"a", "b"}, "b/c") || queue.MatchAny(nil, "") {
		t.Error("MatchAny is not any of Match")
	}
	never(t, queue.IsGlob(`[a]\`) || !queue.IsGlob("a?") || !queue.IsGlob("*"), "a glob is what has * or ? in it")
}

// Names are bytes, and come out of Redis as they went in.
func TestNamesNeedNotBeUTF8(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		name := "mail-\xff\xfe"
		must(c.Put(t.Context(), queue.Put{Queue: name, Klass: "K"}))(t)
		equal(t, "names", must(c.QueueNames(t.Context()))(t), []string{name})
		equal(t, "counts", must(c.Queues(t.Context()))(t)[0].Name, name)
	})
}
