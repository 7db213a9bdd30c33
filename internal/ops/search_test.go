package ops

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

func TestParseQuery(t *testing.T) {
	now := 1000.0
	at := func(f float64) *float64 { return &f }
	for query, want := range map[string]struct {
		name string
		f    Filter
	}{
		"":                                       {},
		"  8f2c  ":                               {name: "8f2c"},
		"a b":                                    {name: "a b"},
		"no:term":                                {name: "no:term"},
		`"klass:K"`:                              {name: "klass:K"},
		`"a \"b\" \\"`:                           {name: `a "b" \`},
		"group:exit-1":                           {f: Filter{Group: "exit-1"}},
		`group:"a b" klass:K*`:                   {f: Filter{Group: "a b", Klass: "K*"}},
		`queue:q  state:waiting text:x:y`:        {f: Filter{Queue: "q", State: "waiting", Text: "x:y"}},
		"tag:t since:5m before:1970-01-01T00:15": {f: Filter{Tag: "t", Since: at(700), Before: at(900)}},
		"worker:w message:\"a\\nb\"":             {f: Filter{Worker: "w", Message: "anb"}},
		"since:1970-01-01":                       {f: Filter{Since: at(0)}},
	} {
		name, f, err := ParseQuery(query, now)
		if err != nil || name != want.name || !reflect.DeepEqual(f, want.f) {
			t.Errorf("%q: %q %+v %v", query, name, f, err)
		}
	}
	for _, query := range []string{"group:", "group:a group:b", "group:a klas:b", `group:"a`, "group:a b", "since:ever", "since:-5m", "group:a \x00"} {
		var wrong *Wrong
		if _, f, err := ParseQuery(query, now); !errors.As(err, &wrong) {
			t.Errorf("%q: %+v %v", query, f, err)
		}
	}
}

func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{`group:"a b" klass:K*`, "since:2h", `"`, ":", `tag:\`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) { _, _, _ = ParseQuery(query, 0) })
}

func TestSearchFindsEverythingOfAName(t *testing.T) {
	q, ctx := open(t, redistest.Shared(t)), t.Context()
	name := "a:b/ c\x01\u202e\n"
	put(t, q, queue.Put{Queue: name, JID: name, Klass: "K", Tags: []string{name}})
	fail(t, q, name, "m", queue.Put{Queue: "q", JID: "j", Klass: "K"})
	must.Get(q.Recur(ctx, queue.Recurring{Queue: "q", JID: name, Klass: "K", Interval: time.Hour, Offset: time.Hour}))(t)
	must.Get(q.Session(name).Exchange(ctx, nil, queue.Take{Queues: []string{name}, Count: 1}))(t)
	must.Do(t, q.SetThrottle(ctx, queue.Throttle{ID: name, Maximum: 1}))
	want := []Hit{}
	for _, kind := range []string{"job", "recurring", "queue", "group", "tag", "worker", "throttle"} {
		want = append(want, Hit{Kind: kind, Name: name})
	}
	put(t, q, queue.Put{Queue: "q", JID: "keyed", Klass: "K", Key: name})
	want = append(want, Hit{"key", name, "q"})
	if r := must.Get(Search(ctx, q, `"`+name+`"`, Window{}))(t); !slices.Equal(r.Hits, want) {
		t.Errorf("%v", r.Hits)
	}
	if r := must.Get(Search(ctx, q, "nothing of that name", Window{}))(t); len(r.Hits) != 0 || r.Jobs != nil {
		t.Errorf("%+v", r)
	}
}

func TestFindGoesOnWhereItWas(t *testing.T) {
	q, ctx := open(t, redistest.Shared(t)), t.Context()
	fail(t, q, "g", "m", failures("q", 250)...)
	fail(t, q, "h", "m", queue.Put{Queue: "q", JID: "other", Klass: "Thumb", Data: []byte(`{"file":"cat.jpg"}`)})
	for name, tt := range map[string]struct {
		f    Filter
		want int
	}{
		"all groups": {Filter{State: "failed"}, 251}, "a class": {Filter{Group: "g", Klass: "Resize"}, 125}, "a text": {Filter{State: "failed", Text: "cat"}, 1},
		"none": {Filter{Group: "g", Queue: "elsewhere"}, 0}, "a group that is not there": {Filter{Group: "none"}, 0}, "by glob": {Filter{Group: "g", Queue: "?"}, 250},
	} {
		for _, limit := range []int{1, 7, 200} {
			if limit == 1 && tt.want > 1 {
				continue
			}
			seen, lookedAt := map[string]bool{}, 0
			for cursor := ""; ; {
				found := must.Get(Find(ctx, q, tt.f, Window{cursor, limit}))(t)
				if len(found.Items) > limit {
					t.Fatalf("%s: %d of at most %d", name, len(found.Items), limit)
				}
				lookedAt += found.LookedAt
				for _, job := range found.Items {
					if seen[job.JID] {
						t.Errorf("%s by %d: %s twice", name, limit, job.JID)
					}
					seen[job.JID] = true
				}
				if cursor = found.Next; cursor == "" {
					if tt.f.State == "failed" && lookedAt != found.Total {
						t.Errorf("%s by %d: looked at %d of %d", name, limit, lookedAt, found.Total)
					}
					break
				}
			}
			if len(seen) != tt.want {
				t.Errorf("%s by %d: %d, want %d", name, limit, len(seen), tt.want)
			}
		}
	}
	var wrong *Wrong
	if _, err := Find(ctx, q, Filter{Klass: "K"}, Window{}); !errors.As(err, &wrong) {
		t.Errorf("anywhere: %v", err)
	}
}

// Whatever anybody asks leaves the keys as they are, byte for byte, be there due, expired and old things, and asks for no command
// that writes; see also the test of package queue, which does the same as a user who may not write.
func TestLookingWritesNothing(t *testing.T) {
	server := redistest.Start(t)
	q, ctx := open(t, server), t.Context()
	rdb := q.Redis()
	fail(t, q, "g", "m", failures("q", 3)...)
	put(t, q, queue.Put{Queue: "q", JID: "due", Klass: "K", Delay: time.Millisecond}, queue.Put{Queue: "q", JID: "later", Klass: "K", Delay: time.Hour},
		queue.Put{Queue: "q", JID: "tagged", Klass: "K", Tags: []string{"red"}}, queue.Put{Queue: "q", JID: "big", Klass: "K", Data: []byte(`"` + string(make([]byte, 0)) + `"`)})
	must.Get(q.Recur(ctx, queue.Recurring{Queue: "q", JID: "every", Klass: "K", Interval: time.Minute}))(t)
	must.Get(q.Session("gone").Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 1}))(t)
	must.Get(q.Track(ctx, "later"))(t)
	for key, place := range map[string]float64{"ql:workers": 1, "ql:q:q-locks": 5} { // a worker long gone, a lock that ran out
		for _, member := range must.Get(rdb.ZRange(ctx, key, 0, -1).Result())(t) {
			rdb.ZIncrBy(ctx, key, place-must.Get(rdb.ZScore(ctx, key, member).Result())(t), member)
		}
	}
	rdb.HSet(ctx, "ql:j:later", "history", `[{"put":1,"q":"q","worker":"w","popped":2}]`)
	server.Client(t).Do(ctx, "ACL", "SETUSER", "looker", "on", ">PASSWORD", "~ql:*", "&*", "+@read", "+@connection", "+evalsha", "+evalsha_ro", "+script|load", "+time", "-@write")
	looker := openURL(t, "unix://looker:PASSWORD@"+server.Addr)
	before := everything(t, q)
	rdb.ConfigResetStat(ctx)
	for name, look := range map[string]func(q *queue.Client) error{
		"queues":   func(q *queue.Client) error { return second(Queues(ctx, q, nil)) },
		"queue":    func(q *queue.Client) error { return second(queueOf(ctx, q, "q")) },
		"days":     func(q *queue.Client) error { return second(Days(ctx, q, "q", 0)) },
		"stats":    func(q *queue.Client) error { return second(StatsOf(ctx, q, "q", "")) },
		"backlogs": func(q *queue.Client) error { return second(backlogs(ctx, q)) },
		"failures": func(q *queue.Client) error { return second(Failures(ctx, q, Window{})) },
		"glance":   func(q *queue.Client) error { return second(Glance(ctx, q, "later")) },
		"job":      func(q *queue.Client) error { return second(q.Get(ctx, "later")) },
		"search":   func(q *queue.Client) error { return second(Search(ctx, q, "later", Window{})) },
		"find":     func(q *queue.Client) error { return second(Search(ctx, q, "state:failed klass:K*", Window{})) },
		"dry run": func(q *queue.Client) error {
			return second(Bulk{Action: "retry", Where: Filter{Group: "g"}}.DryRun(ctx, q))
		},
		"recurring": func(q *queue.Client) error { return second(ListRecurring(ctx, q, nil, Page{Limit: 25})) },
		"one of it": func(q *queue.Client) error { return second(ShowRecurring(ctx, q, "every")) },
		"eta":       func(q *queue.Client) error { return second(Eta(ctx, q, nil, time.Second)) },
		"workers":   func(q *queue.Client) error { return second(Workers(ctx, q)) },
		"tags":      func(q *queue.Client) error { return second(TopTags(ctx, q, Page{Limit: 25})) },
		"throttles": func(q *queue.Client) error { return second(ThrottlesIn(ctx, q, Window{})) },
		"settings":  func(q *queue.Client) error { return second(q.Settings(ctx)) },
		"contents":  func(q *queue.Client) error { return second(ShowQueue(ctx, q, "q", Page{Limit: 25})) },
		"peek":      func(q *queue.Client) error { return second(Peek(ctx, q, "q", Page{Limit: 25})) },
		"tracked":   func(q *queue.Client) error { return second(Tracked(ctx, q, "", Page{Limit: 25})) },
		"complete":  func(q *queue.Client) error { return second(Complete(ctx, q, "", Page{Limit: 25})) },
		"tagged":    func(q *queue.Client) error { return second(JobsTagged(ctx, q, "red", Page{Limit: 25})) },
		"worker":    func(q *queue.Client) error { return second(JobsOf(ctx, q, "gone")) },
		"failed":    func(q *queue.Client) error { return second(FailedJobs{All: true}.Find(ctx, q)) },
		"shelves": func(q *queue.Client) error {
			for _, state := range QueueStates {
				if _, err := JobsIn(ctx, q, "q", state, Window{}); err != nil {
					return err
				}
			}
			for _, s := range []queue.Shelf{{Kind: "tag", Name: "red"}, {Kind: "worker", Name: "gone"}, {Kind: "tracked"}, {Kind: "complete"}, {Kind: "holders", Name: "t"}, {Kind: "waiters", Name: "t"}} {
				if _, err := JobsOn(ctx, q, s, Window{}); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		for who, q := range map[string]*queue.Client{"anybody": q, "who may not write": looker} {
			if err := look(q); err != nil {
				t.Errorf("%s, %s: %v", name, who, err)
			}
		}
		if after := everything(t, q); !reflect.DeepEqual(after, before) {
			t.Errorf("%s wrote something: %v", name, differing(before, after))
			before = after
		}
	}
	writing := must.Get(server.Client(t).Do(ctx, "ACL", "CAT", "write").StringSlice())(t)
	stats := must.Get(server.Client(t).Info(ctx, "commandstats").Result())(t)
	for _, m := range regexp.MustCompile(`cmdstat_([^:]+):`).FindAllStringSubmatch(stats, -1) {
		if slices.Contains(writing, m[1]) {
			t.Errorf("somebody sent %s", m[1])
		}
	}
	if !strings.Contains(stats, "cmdstat_evalsha_ro:") {
		t.Error("Redis was not asked to see to it that nothing is written")
	}
}

// differing are the keys in which two key spaces differ.
func differing(a, b map[string]string) (keys []string) {
	for key := range a {
		if a[key] != b[key] {
			keys = append(keys, key)
		}
	}
	for key := range b {
		if _, is := a[key]; !is {
			keys = append(keys, key)
		}
	}
	return keys
}

func second[T any](_ T, err error) error { return err }

// The counts that lowkiq's statistics have, against jobs counted by hand.
// backlogs are those of all queues as they are now.
func backlogs(ctx context.Context, q *queue.Client) (Backlogs, error) {
	names, err := q.QueueNames(ctx)
	if err != nil {
		return Backlogs{}, err
	}
	census, now, err := q.Census(ctx, names)
	if err != nil {
		return Backlogs{}, err
	}
	failed, err := FailedOf(ctx, q, census)
	return BacklogsOf(census, now, failed), err
}

func TestBacklogsAreAHandCount(t *testing.T) {
	q, ctx := open(t, redistest.Shared(t)), t.Context()
	want := Backlogs{ByWorker: map[string]Backlog{}}
	for i, name := range []string{"a", "b"} {
		n := 3 + i
		fail(t, q, "g", "m", failures(name, n)...)
		for k := range n {
			put(t, q, queue.Put{Queue: name, JID: fmt.Sprint(name, "-w", k), Klass: "K"}, queue.Put{Queue: name, JID: fmt.Sprint(name, "-s", k), Klass: "K", Delay: time.Hour},
				queue.Put{Queue: name, JID: fmt.Sprint(name, "-d", k), Klass: "K", Depends: []string{fmt.Sprint(name, "-s", k)}})
		}
		must.Get(q.Session("w").Exchange(ctx, nil, queue.Take{Queues: []string{name}, Count: 2}))(t) // two run, and one of them stalls
		locks := must.Get(q.Redis().ZRange(ctx, "ql:q:"+name+"-locks", 0, 0).Result())(t)
		q.Redis().ZIncrBy(ctx, "ql:q:"+name+"-locks", -1000, locks[0])
		must.Get(Retry(ctx, q, name+"-0"))(t)
		b := Backlog{Length: n - 2 + n + n + 1 + 1, Morgue: n - 1}
		want.ByWorker[name] = b
		want.Total.Length += b.Length
		want.Total.Morgue += b.Morgue
	}
	got := must.Get(backlogs(ctx, q))(t)
	for name, b := range got.ByWorker {
		if b.Lag < 939 || b.Lag > 960 {
			t.Errorf("the lag of %s is %v", name, b.Lag) // the lock was to last 60 s
		}
		b.Lag = 0
		got.ByWorker[name] = b
	}
	got.Total.Lag = 0
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
