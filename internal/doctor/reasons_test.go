package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/accord"
	"oarlock/internal/explain"
	"oarlock/internal/must"
	"oarlock/internal/rules"
	"oarlock/queue"
	"oarlock/supervisor"
)

// why is what job why says, where no supervisor runs.
func (p patient) why(t *testing.T, jid string) explain.Hold {
	t.Helper()
	sources := explain.Sources{Client: p.client, Host: func() string { return "h" }, Supervisor: func(context.Context) (supervisor.Snapshot, error) {
		return supervisor.Snapshot{}, errors.New("none runs here")
	}}
	return must.Get(sources.Why(t.Context(), jid))(t)
}

// TestEachReasonOfTheGate: why says all that keeps a job of a ruled queue from starting, in the order in which a take asks: pause, answer, window,
// throttles, share, rate.
func TestEachReasonOfTheGate(t *testing.T) {
	p := newPatient(t)
	ctx, raw := t.Context(), p.client.Redis()
	days := func(later int) string {
		return fmt.Sprint(time.Unix(int64(p.client.Now()), 0).UTC().AddDate(0, 0, later).Weekday())[:3] + " 00:00-24:00"
	}
	shut, today := days(2), days(0)
	set := rules.Set{
		Throttles: map[string]rules.Throttle{
			"erp": {Limit: 1}, "db": {Limit: 2}, "api": {Rate: "1/1000s"},
			"region": {Limit: 10, By: "/region", Shares: map[string]string{"east": "50%", "north": "50%"}, Borrow: true},
			"each":   {By: "/customer", Each: 2},
			"lent":   {Limit: 2, By: "/region", Shares: map[string]string{"east": "50%", "north": "50%"}, Borrow: true},
			"kept":   {Limit: 3, By: "/region", Shares: map[string]string{"east": "50%", "north": "50%"}, Borrow: true, Keep: 1},
			"one":    {Limit: 1},
		},
		Windows: map[string]rules.Window{"night": {Open: []string{shut}}, "closing": {Open: []string{today}, Margin: 86400}},
		Queues: map[string]rules.Queue{
			"full": {Throttles: []string{"erp", "db"}}, "rated": {Throttles: []string{"api"}}, "shared": {Throttles: []string{"region"}},
			"valued": {Throttles: []string{"each"}}, "both": {Throttles: []string{"each", "db"}},
			"windowed": {Windows: []string{"night"}}, "closing": {Windows: []string{"closing"}}, "lent": {Throttles: []string{"lent"}}, "kept": {Throttles: []string{"kept"}},
			"first": {Throttles: []string{"one"}}, "second": {Throttles: []string{"one"}}, "limited": {Limit: 1},
		},
	}
	must.Get(accord.Apply(ctx, p.client, func(d rules.Document) (rules.Document, []rules.Conflict) {
		return d.Agree(rules.File{Owner: "test", Set: set}, false)
	}))(t)
	s := p.client.Session("w")
	defer s.Close()
	put := func(name, jid, data string) {
		t.Helper()
		must.Get(p.client.Put(ctx, queue.Put{Queue: name, JID: jid, Klass: "K", Data: []byte(data)}))(t)
	}
	take := func(name string, count, want int) {
		t.Helper()
		reply, err := s.Exchange(ctx, nil, queue.Take{Queues: []string{name}, Count: count})
		if err != nil || len(reply.Jobs) != want {
			t.Fatalf("of %s were taken %v, %v", name, reply.Jobs, err)
		}
	}
	put("full", "f1", "{}")
	take("full", 1, 1)
	put("full", "f2", "{}")
	take("full", 1, 0)
	raw.HSet(ctx, "ql:th:db", "maximum", 1)
	for i := range 3 {
		put("valued", fmt.Sprint("v", i), `{"customer":7}`)
	}
	take("valued", 3, 2)
	put("both", "b1", `{"customer":7}`)
	take("both", 1, 0)
	must.Get(p.client.Put(ctx, queue.Put{Queue: "full", JID: "f3", Klass: "K", Wants: queue.Wants{Weight: 5}}))(t)
	take("full", 1, 0)
	put("rated", "r1", "{}")
	take("rated", 1, 1)
	put("rated", "r2", "{}")
	take("rated", 1, 0)
	for i := range 7 {
		put("shared", fmt.Sprint("e", i), `{"region":"east"}`)
	}
	take("shared", 6, 6)
	for i := range 5 {
		put("shared", fmt.Sprint("n", i), `{"region":"north"}`)
	}
	take("shared", 10, 4)
	for i, want := range []int{1, 1, 0, 0} {
		put("lent", fmt.Sprint("le", i), `{"region":"east"}`)
		take("lent", 1, want)
	}
	put("lent", "ln0", `{"region":"north"}`) // it comes later, and is within its share
	take("lent", 1, 0)
	for i, want := range []int{1, 1, 0} {
		put("kept", fmt.Sprint("k", i), `{"region":"east"}`)
		take("kept", 1, want)
	}
	for _, name := range []string{"first", "second"} {
		put(name, name+"1", "{}")
		put(name, name+"2", "{}")
	}
	take("first", 2, 1)
	take("second", 2, 0)
	put("limited", "l1", "{}")
	take("limited", 1, 1)
	put("limited", "l2", "{}")
	take("limited", 1, 0) // it looks at none, for none may run
	put("windowed", "w1", "{}")
	put("closing", "c1", "{}")
	for jid, wants := range map[string]queue.Wants{"w2": {Windows: []string{shut}, Zone: "Europe/Berlin"}, "w3": {Windows: []string{"night"}}} {
		must.Get(p.client.Put(ctx, queue.Put{Queue: "rated", JID: jid, Klass: "K", Wants: wants}))(t)
	}
	soon := p.client.Now() + 60
	must.Get(p.client.Put(ctx, queue.Put{Queue: "windowed", JID: "w4", Klass: "K", Delay: time.Minute}))(t)
	raw.ZAdd(ctx, "ql:q:windowed-scheduled", redis.Z{Score: soon, Member: "w4"}) // as a delay of a client that knows no windows
	raw.HDel(ctx, "ql:j:w4", "oarlock-window")
	must.Do(t, p.client.Pause(ctx, "full"))
	must.Do(t, p.client.Set(ctx, "first-max-concurrency", "1"))
	for jid, want := range map[string][]string{
		"f2":      {"The queue full is paused", "Throttle erp is full: 1 of 1 place, held by f1; it needs 1", "Throttle db is full: 1 of 1 place, held by f1; it needs 1"},
		"f3":      {"Throttle erp is full: 1 of 1 place, held by f1; it needs 5, so all of them"},
		"v2":      {"Throttle 'each=7' is full: 2 of 2 places, held by v0 v1; it needs 1"},
		"b1":      {"Throttle 'each=7' is full: 2 of 2 places, held by v0 v1", "Throttle db is full: 1 of 1 place, held by f1; it needs 1"},
		"r2":      {"Throttle api starts 1 in", "the next token comes in"},
		"e6":      {"region=east has 6 places, its share is 5"},
		"le3":     {"Throttle lent is full: 2 of 2 places, held by le0 le1; it needs 1; 1 job of its waitlist is before it; north has the next turn."},
		"k2":      {"kept=east has 2 places, its share is 1, and 2 of 3 places are taken; 1 is never lent."},
		"c1":      {"Window closing (" + today + " UTC) shuts too soon; it opens "},
		"l2":      {"Throttle ql:q:limited is full: 1 of 1 place, held by l1; it needs 1.", "It is the next of its queue."},
		"ln0":     {"Throttle lent is full: 2 of 2 places, held by le0 le1; it needs 1."},
		"first2":  {"The queue first may run 1 job at a time, and has 1 running.", "Throttle one is full: 1 of 1 place, held by first1; it needs 1."},
		"second2": {"Throttle one is full: 1 of 1 place, held by first1; it needs 1; 1 job of its waitlist is before it; first has the next turn."},
		"w1":      {"Window night (" + shut + " UTC) is shut; it opens "},
		"w4":      {"It is scheduled for ", "Window night (" + shut + " UTC) is shut then; it opens "},
		"w2":      {"Window (" + shut + " Europe/Berlin) of its own is shut; it opens "},
		"w3":      {"Window night (" + shut + " UTC) is shut"},
	} {
		hold := p.why(t, jid)
		all, at := strings.Join(hold.Reasons, "\n"), -1
		for _, one := range want {
			if i := strings.Index(all, one); i <= at {
				t.Errorf("why says of %s\n%s\nwant in this order %q", jid, all, want)
				break
			} else {
				at = i
			}
		}
	}
}

// TestReasonsOfParkedJobs: why says of a park whose time is over that nobody has found so yet, of an answered job that its queue is paused, and of a
// job that depends on a parked one that it is parked.
func TestReasonsOfParkedJobs(t *testing.T) {
	p := newPatient(t)
	ctx, raw := t.Context(), p.client.Redis()
	s := p.client.Session("w")
	defer s.Close()
	for _, jid := range []string{"over", "answered", "parked"} {
		must.Get(p.client.Put(ctx, queue.Put{Queue: "pays", JID: jid, Klass: "K"}))(t)
	}
	reply, err := s.Exchange(ctx, nil, queue.Take{Queues: []string{"pays"}, Count: 3})
	if err != nil || len(reply.Jobs) != 3 {
		t.Fatal(reply, err)
	}
	var parks []queue.Settlement
	for _, job := range reply.Jobs {
		parks = append(parks, queue.Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: queue.Park, Correlation: job.JID, Delay: time.Hour})
	}
	must.Get(s.Exchange(ctx, parks, queue.Take{}))(t)
	raw.ZAdd(ctx, "ql:q:pays-scheduled", redis.Z{Score: p.client.Now() - 7230, Member: "over"})
	if answer, err := p.client.Respond(ctx, queue.Response{Klass: "K", Correlation: "answered", Data: []byte("1")}); err != nil || answer.Word != queue.Resumed {
		t.Fatal(answer, err)
	}
	must.Get(p.client.Put(ctx, queue.Put{Queue: "pays", JID: "behind", Klass: "K", Depends: []string{"parked"}}))(t)
	must.Do(t, p.client.Pause(ctx, "pays"))
	for jid, want := range map[string]string{
		"over":     "It waited for an answer to over, in vain since 2h 0m ago: the next take of pays finds that, and it counts as a failure. Until then an answer lets it go on.\nThe queue pays is paused",
		"answered": "The queue pays is paused; `oarlock queue resume pays` ends that.\nIt was answered; nothing else holds it but free children.",
		"behind":   "It waits for parked (K), which is parked in pays.",
	} {
		if hold := p.why(t, jid); !strings.HasPrefix(strings.Join(hold.Reasons, "\n"), want) {
			t.Errorf("why says of %s %q", jid, hold.Reasons)
		}
	}
}
