package ops

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/accord"
	"oarlock/internal/explain"
	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/internal/rules"
	"oarlock/queue"
)

// TestThrottlesTellWhoWaits: jobs that wait for a throttle of the rules stand in a waitlist, which the protocol does not know of;
// they are counted wherever one looks at the throttle, and the first of them named.
func TestThrottlesTellWhoWaits(t *testing.T) {
	q, ctx := open(t, redistest.Shared(t)), t.Context()
	rules := queue.NewRules{
		Doc:    "{}",
		Queues: []queue.RuledQueue{{Queue: "orders", Rules: `{"throttles":["erp"]}`}, {Queue: "fast", Rules: `{"throttles":["rate"]}`}},
		Throttles: []queue.RuledThrottle{
			{Name: "erp", Rules: `{"limit":1}`, Limit: 1}, {Name: "rate", Rules: `{"rate":[1,3600,1]}`},
		},
	}
	must.Get(q.InstallRules(ctx, "", rules))(t)
	const many = mostWaiters + 8
	var puts []queue.Put
	for i := range many {
		puts = append(puts, queue.Put{Queue: "orders", JID: fmt.Sprint("o", i), Klass: "K"})
	}
	put(t, q, append(puts, queue.Put{Queue: "fast", JID: "f1", Klass: "K"}, queue.Put{Queue: "fast", JID: "f2", Klass: "K"})...)
	s := q.Session("w")
	defer s.Close()
	for _, name := range []string{"orders", "fast"} {
		for more := true; more; {
			more = must.Get(s.Exchange(ctx, nil, queue.Take{Queues: []string{name}, Count: 2}))(t).More
		}
	}
	all := map[string]Throttle{}
	for _, th := range must.Get(ThrottlesIn(ctx, q, Window{}))(t).Items {
		all[th.ID] = th
	}
	some := map[string]ThrottleCount{}
	for _, th := range must.Get(ThrottlesFrom(ctx, q, Window{}))(t).Items {
		some[th.ID] = th
	}
	for id, want := range map[string]int{"erp": many - 1, "rate": 1} {
		one := must.Get(ShowThrottle(ctx, explain.Sources{Client: q, Host: func() string { return "" }}, id))(t)
		if all[id].Waiting != want || one.Waiting != want || some[id].Waiters != want || len(one.Waiters) != min(want, mostWaiters) {
			t.Errorf("for %s wait %d, %d and %d, of whom %d are named; want %d", id, all[id].Waiting, one.Waiting, some[id].Waiters, len(one.Waiters), want)
		}
		if err := ReleaseThrottle(ctx, q, id, one.Waiters[:1]); err == nil {
			t.Errorf("a job that waits gave %s up, which it does not hold", id)
		}
	}
}

// TestAValueHasItsPart: what is told of the throttle of one value is what a take goes by: its part of what there is now, or what somebody
// set for it alone.
func TestAValueHasItsPart(t *testing.T) {
	q, ctx := open(t, redistest.Shared(t)), t.Context()
	set := rules.Set{
		Throttles: map[string]rules.Throttle{
			"each":   {By: "/customer", Each: 2},
			"shares": {Limit: 10, By: "/region", Shares: map[string]string{"east": "40%"}},
			"lent":   {Limit: 10, By: "/region", Shares: map[string]string{"east": "40%"}, Borrow: true},
		},
		Queues: map[string]rules.Queue{"q": {Throttles: []string{"each", "shares", "lent"}}},
	}
	must.Get(accord.Apply(ctx, q, func(d rules.Document) (rules.Document, []rules.Conflict) {
		return d.Agree(rules.File{Owner: "test", Set: set}, false)
	}))(t)
	for i := range 3 {
		put(t, q, queue.Put{Queue: "q", JID: fmt.Sprint("j", i), Klass: "K", Data: []byte(`{"customer":7,"region":"east"}`)})
	}
	s := q.Session("w")
	defer s.Close()
	must.Get(s.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 3}))(t)
	told := func(want map[string]int) {
		t.Helper()
		all, some := map[string]int{}, map[string]int{}
		for _, th := range must.Get(ThrottlesIn(ctx, q, Window{}))(t).Items {
			all[th.ID] = th.Maximum
		}
		for _, th := range must.Get(ThrottlesFrom(ctx, q, Window{}))(t).Items {
			some[th.ID] = th.Maximum
		}
		for id, most := range want {
			one := must.Get(ShowThrottle(ctx, explain.Sources{Client: q, Host: func() string { return "" }}, id))(t)
			if one.Maximum != most || all[id] != most || some[id] != most {
				t.Errorf("%s has %d, %d and %d places, want %d", id, one.Maximum, all[id], some[id], most)
			}
		}
	}
	told(map[string]int{"each=7": 2, "shares": 10, "shares=east": 4})
	if one := must.Get(ShowThrottle(ctx, explain.Sources{Client: q, Host: func() string { return "" }}, "each"))(t); one.Waiting != 0 || one.BesideWords() == "" {
		t.Errorf("of each wait %d%s", one.Waiting, one.BesideWords())
	}
	if one := must.Get(ShowThrottle(ctx, explain.Sources{Client: q, Host: func() string { return "" }}, "lent=east"))(t); one.Maximum != 0 {
		t.Errorf("of what is lent a value has %d places at most", one.Maximum)
	}
	if _, err := ExplainRules(ctx, q, rules.Job{Queue: "q", Klass: "K", Data: []byte(`{"region":`)}, queue.Wants{}); err == nil {
		t.Error("it was told what a job would need whose data is no JSON")
	}
	lent := func(want string) {
		t.Helper()
		job := rules.Job{Queue: "q", Klass: "K", Data: []byte(`{"region":"east"}`)}
		for _, place := range must.Get(ExplainRules(ctx, q, job, queue.Wants{}))(t).Places {
			if place.ID == "lent=east" && place.Words() != want {
				t.Errorf("of what is lent a value has %s, want %s", place.Words(), want)
			}
		}
	}
	lent("4 places, and more that nobody else needs")
	must.Do(t, SetThrottle(ctx, q, queue.Throttle{ID: "lent=east", Maximum: 2}, Always))
	lent("2 places, set by hand")
	for id, most := range map[string]int{"each=7": 1, "shares": 5} {
		must.Do(t, SetThrottle(ctx, q, queue.Throttle{ID: id, Maximum: most}, Always))
	}
	told(map[string]int{"each=7": 1, "shares": 5, "shares=east": 2})
	for _, th := range must.Get(ShowThrottle(ctx, explain.Sources{Client: q, Host: func() string { return "" }}, "each"))(t).Values {
		if th.Cap != 1 || th.Used != 2 || th.Waiting != 1 {
			t.Errorf("%+v", th)
		}
	}
	must.Do(t, SetThrottle(ctx, q, queue.Throttle{ID: "each=7", Maximum: 0}, Always))
	if err := RemoveThrottle(ctx, q, "each=7"); err != nil {
		t.Error(err)
	}
	told(map[string]int{"each=7": 2})
}

// Who has given its place back since the holders were read is not said to keep it.
func TestWhoGaveAPlaceBackDoesNotKeepIt(t *testing.T) {
	q, ctx := open(t, redistest.Shared(t)), t.Context()
	must.Get(struct{}{}, q.SetThrottle(ctx, queue.Throttle{ID: "t", Maximum: 2}))(t)
	put(t, q, queue.Put{Queue: "q", JID: "j", Klass: "K", Throttles: []string{"t"}})
	must.Get(q.Pop(ctx, "q", "w", 1))(t)
	must.Get(struct{}{}, q.Redis().HSet(ctx, "ql:j:j", "state", "waiting").Err())(t) // it holds its place, and nobody runs it
	told := must.Get(explain.Sources{Client: q, Host: func() string { return "" }}.Idle(ctx, "t", []queue.Holder{{JID: "gone", Places: 1}, {JID: "j", Places: 1}}))(t)
	if len(told) != 1 || !strings.HasPrefix(told[0], "j holds it, but does not run") {
		t.Errorf("it says %q", told)
	}
}

// TestManyThrottlesAreReadTogether: what it costs to list throttles is a few round trips, not some for each, and four commands for each;
// of many jobs that wait for one a thousand are named.
func TestManyThrottlesAreReadTogether(t *testing.T) {
	q, ctx := open(t, redistest.Start(t)), t.Context()
	raw := q.Redis()
	const many = 300
	for i := range many {
		must.Do(t, q.SetThrottle(ctx, queue.Throttle{ID: fmt.Sprint("t", i), Maximum: i + 1}))
	}
	must.Get(raw.ZAdd(ctx, "ql:th:t7-locks", redis.Z{Score: 1, Member: "a"}, redis.Z{Score: 2, Member: "b"}).Result())(t)
	must.Get(raw.ZAdd(ctx, "ql:th:t7-pending", redis.Z{Score: 1, Member: "c"}).Result())(t)
	must.Get(raw.Set(ctx, "ql:th:t8-pending", "x", 0).Result())(t)
	var waiting []redis.Z
	for i := range 2500 {
		waiting = append(waiting, redis.Z{Score: float64(i), Member: fmt.Sprint("w", i)})
	}
	must.Get(raw.ZAdd(ctx, "ql:th:t9-pending", waiting...).Result())(t)
	stat := func(name string) int {
		_, text, _ := strings.Cut(must.Get(raw.Info(ctx, "stats").Result())(t), name+":")
		text, _, _ = strings.Cut(text, "\r\n")
		return must.Get(strconv.Atoi(text))(t)
	}
	reads, commands := stat("total_reads_processed"), stat("total_commands_processed")
	found, _, err := Throttles(ctx, q, true)
	reads, commands = stat("total_reads_processed")-reads, stat("total_commands_processed")-commands
	if err != nil || len(found) != many || reads > many/4 || commands > 4*many+many/4 {
		t.Fatalf("%d throttles by %d calls and %d commands, %v", len(found), reads, commands, err)
	}
	by := map[string]Throttle{}
	for _, th := range found {
		by[th.ID] = th
	}
	if th := by["t7"]; th.Maximum != 8 || th.Used != 2 || strings.Join(th.Holders, " ") != "a b" || th.Waiting != 1 || strings.Join(th.Waiters, " ") != "c" {
		t.Errorf("%+v", th)
	}
	if th := by["t9"]; th.Waiting != 2500 || len(th.Waiters) != 1000 || th.Waiters[999] != "w999" {
		t.Errorf("one for which many wait: %d, and %d are named; %s", th.Waiting, len(th.Waiters), th.Damage)
	}
	if th := by["t8"]; !strings.Contains(th.Damage, "ql:th:t8-pending") {
		t.Errorf("one with a key of the wrong type: %+v", th)
	}
}

// TestARateSaysWhenTheNextStarts: who asks what a job would need is told that a rate lets nobody start now, and how long that is so.
func TestARateSaysWhenTheNextStarts(t *testing.T) {
	q, ctx := open(t, redistest.Shared(t)), t.Context()
	set := rules.Set{
		Throttles: map[string]rules.Throttle{"api": {Rate: "1/1h"}, "slides": {Rate: "1/1h", Sliding: true}},
		Queues:    map[string]rules.Queue{"q": {Throttles: []string{"api", "slides"}}},
	}
	must.Get(accord.Apply(ctx, q, func(d rules.Document) (rules.Document, []rules.Conflict) {
		return d.Agree(rules.File{Owner: "test", Set: set}, false)
	}))(t)
	told := func() (words [2]string) {
		for i, place := range must.Get(ExplainRules(ctx, q, rules.Job{Queue: "q", Klass: "K"}, queue.Wants{}))(t).Places {
			words[i] = place.Words()
		}
		return words
	}
	if got := told(); got != [2]string{"1 start in 1h", "1 start in 1h"} {
		t.Errorf("while one may start is told %q", got)
	}
	put(t, q, queue.Put{Queue: "q", JID: "j", Klass: "K"})
	s := q.Session("w")
	defer s.Close()
	must.Get(s.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 1}))(t)
	for _, got := range told() {
		if !strings.HasPrefix(got, "1 start in 1h, the next in 59m") && !strings.HasPrefix(got, "1 start in 1h, the next in 1h") {
			t.Errorf("when it has started is told %q", got)
		}
	}
}

// TestAQueuesOwnThrottleTellsWhoWasNotAsked: what came into a queue waits for its limit as soon as a take looks at it, and not before.
func TestAQueuesOwnThrottleTellsWhoWasNotAsked(t *testing.T) {
	q, ctx := open(t, redistest.Shared(t)), t.Context()
	must.Get(q.InstallRules(ctx, "", queue.NewRules{Doc: "{}", Queues: []queue.RuledQueue{{Queue: "lim", Rules: `{"limited":true}`, Limit: 1}}}))(t)
	var puts []queue.Put
	for i := range 3 {
		puts = append(puts, queue.Put{Queue: "lim", JID: fmt.Sprint("l", i), Klass: "K"})
	}
	put(t, q, puts...)
	want := func(used, waiting, unasked int) {
		t.Helper()
		one := must.Get(ShowThrottle(ctx, explain.Sources{Client: q, Host: func() string { return "" }}, "ql:q:lim"))(t)
		if one.Used != used || one.Waiting != waiting || one.Unasked != unasked {
			t.Errorf("%d run, %d wait and %d were not asked; want %d, %d and %d", one.Used, one.Waiting, one.Unasked, used, waiting, unasked)
		}
	}
	want(0, 0, 3)
	s := q.Session("w")
	defer s.Close()
	for more := true; more; {
		more = must.Get(s.Exchange(ctx, nil, queue.Take{Queues: []string{"lim"}, Count: 2}))(t).More
	}
	want(1, 2, 0)
}
