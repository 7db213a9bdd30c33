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
			equal(t, jid, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
		}
		equal(t, "one that is not there", must(c.Glances(ctx, queue.Whole, "none"))(t)[0].Row, queue.RowGone)
	})
}

// A history as programs before the list kept it is shown as the protocol's commands, which turn it into a list, do.
func TestALegacyHistoryIsReadAsItIs(t *testing.T) {
	c := open(t, redistest.Start(t))
	ctx := t.Context()
	must(c.Put(ctx, queue.Put{Queue: "q", JID: "j", Klass: "K"}))(t)
	ok(t, c.Redis().Del(ctx, "ql:j:j-history").Err())
	ok(t, c.Redis().HSet(ctx, "ql:j:j", "history", `[{"put":1.5,"q":"q","worker":"w","popped":2,"failed":3},{"put":4,"q":"r","popped":5.9,"done":6}]`).Err())
	got := must(c.Get(ctx, "j"))(t).History
	equal(t, "history", got, asTheProtocolSays(t, c, "j").History)
	equal(t, "history as a list", must(c.Get(ctx, "j"))(t).History, got)
}

func TestWindowsStayWhereTheyAre(t *testing.T) {
	c := open(t, redistest.Start(t))
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
		if len(all) != 23 {
			t.Fatalf("%v: %d jobs", shelf, len(all))
		}
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
			if times != 1 {
				t.Errorf("%v: %s was seen %d times", shelf, jid, times)
			}
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
