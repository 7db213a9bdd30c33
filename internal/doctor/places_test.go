package doctor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/explain"
	"oarlock/internal/must"
	"oarlock/queue"
)

// TestPlacesOfRuledQueues: jobs that take several places of a throttle, and those that wait for some, are no findings; and
// it is told for what they wait.
func TestPlacesOfRuledQueues(t *testing.T) {
	p := newPatient(t)
	ctx := t.Context()
	must.Get(p.client.InstallRules(ctx, "", queue.NewRules{
		Doc:       "{}",
		Queues:    []queue.RuledQueue{{Queue: "places", Rules: `{"shape":"a","throttles":["erp"],"klass":{"Heavy":{"weight":3}}}`}},
		Throttles: []queue.RuledThrottle{{Name: "erp", Rules: `{"limit":4,"patience":60}`, Limit: 4}},
	}))(t)
	for _, put := range []queue.Put{{JID: "heavy", Klass: "Heavy"}, {JID: "light", Klass: "K"}, {JID: "waits", Klass: "Heavy"}, {JID: "waits too", Klass: "Heavy"}} {
		put.Queue, put.Data = "places", []byte("{}")
		must.Get(p.client.Put(ctx, put))(t)
	}
	s := p.client.Session("w")
	defer s.Close()
	reply, err := s.Exchange(ctx, nil, queue.Take{Queues: []string{"places"}, Count: 10})
	if err != nil || len(reply.Jobs) != 2 {
		t.Fatalf("took %v, %v", reply.Jobs, err)
	}
	if found := p.examine(t, true, func(d *Doctor) error { return d.Keys(ctx) }); len(found) > 0 {
		t.Fatalf("of a sound world: %v", found)
	}
	hold := p.why(t, "waits too")
	want := "Throttle erp is full: 4 of 4 places, held by heavy (3) light; it needs 3; 1 job of its waitlist is before it."
	if all := strings.Join(hold.Reasons, "\n"); !strings.Contains(all, want) {
		t.Errorf("why says\n%s\nwant %s", all, want)
	}
}

// TestAStalledJobKeepsItsPlaces: a take that was cut off before it judged a job that lost its lock leaves the job its places, which is no damage.
func TestAStalledJobKeepsItsPlaces(t *testing.T) {
	p := newPatient(t)
	ctx, raw := t.Context(), p.client.Redis()
	install := func(before, shape string) (version string) {
		return must.Get(p.client.InstallRules(ctx, before, queue.NewRules{
			Doc: "{}", Queues: []queue.RuledQueue{{Queue: "places", Rules: `{"shape":"` + shape + `","throttles":["erp"]}`}},
			Throttles: []queue.RuledThrottle{{Name: "erp", Rules: `{"limit":1,"patience":60}`, Limit: 1}},
		}))(t)
	}
	version := install("", "a")
	for i := range 100 {
		must.Get(p.client.Put(ctx, queue.Put{Queue: "places", JID: fmt.Sprint("j", i), Klass: "K"}))(t)
	}
	s := p.client.Session("w")
	defer s.Close()
	take := func() queue.Reply {
		return must.Get(s.Exchange(ctx, nil, queue.Take{Queues: []string{"places"}, Count: 10}))(t)
	}
	for take().More {
	}
	raw.ZAdd(ctx, "ql:q:places-locks", redis.Z{Score: p.client.Now() - 1, Member: "j0"})
	raw.HSet(ctx, "ql:j:j0", "grace", "1")
	install(version, "b") // all that wait are sorted anew first
	take()
	if state := raw.HGet(ctx, "ql:j:j0", "state").Val(); state != "stalled" {
		t.Fatalf("the job that lost its lock is %s", state)
	}
	if found := p.examine(t, true, func(d *Doctor) error { return d.Keys(ctx) }); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	var began []queue.Taken
	for more := true; more; {
		reply := take()
		began, more = append(began, reply.Jobs...), reply.More
	}
	if len(began) != 1 || began[0].JID != "j0" {
		t.Errorf("then %v begin", began)
	}
}

// TestPlacesKeptForWhoWaitsForMore: a place that is free, but kept for a job that needs another, too, is not one that the next take gives.
func TestPlacesKeptForWhoWaitsForMore(t *testing.T) {
	p := newPatient(t)
	ctx := t.Context()
	must.Get(p.client.InstallRules(ctx, "", queue.NewRules{
		Doc: "{}",
		Queues: []queue.RuledQueue{
			{Queue: "both", Rules: `{"shape":"a","throttles":["a","b"]}`}, {Queue: "one", Rules: `{"shape":"a","throttles":["a"]}`}, {Queue: "other", Rules: `{"shape":"a","throttles":["b"]}`},
		},
		Throttles: []queue.RuledThrottle{{Name: "a", Rules: `{"limit":1,"patience":0}`, Limit: 1}, {Name: "b", Rules: `{"limit":1,"patience":60}`, Limit: 1}},
	}))(t)
	s := p.client.Session("w")
	defer s.Close()
	for _, one := range []struct {
		queue string
		want  int
	}{{"other", 1}, {"both", 0}, {"one", 0}} {
		must.Get(p.client.Put(ctx, queue.Put{Queue: one.queue, JID: one.queue, Klass: "K", Data: []byte("{}")}))(t)
		reply, err := s.Exchange(ctx, nil, queue.Take{Queues: []string{one.queue}, Count: 10})
		if err != nil || len(reply.Jobs) != one.want {
			t.Fatalf("of %s were taken %v, %v", one.queue, reply.Jobs, err)
		}
		p.client.Redis().HSet(ctx, "ql:oarlock:seen", one.queue, p.client.Now()+600) // somebody works it on and on
	}
	hold := p.why(t, "one")
	want := "Throttle a has room for it, 0 of 1 are taken, but keeps 1 place for a job of both, which has waited for longer, and waits for throttle b."
	if all := strings.Join(hold.Reasons, "\n"); !strings.Contains(all, want) {
		t.Errorf("why says\n%s\nwant %s", all, want)
	}
}

// TestRulesThatCannotBeRead: it is said once of which queue or throttle, and by a job that they hold up.
func TestRulesThatCannotBeRead(t *testing.T) {
	p := newPatient(t)
	ctx := t.Context()
	must.Get(p.client.InstallRules(ctx, "", queue.NewRules{
		Doc:       "{}",
		Queues:    []queue.RuledQueue{{Queue: "places", Rules: `{"shape":"a","throttles":["erp"]}`}},
		Throttles: []queue.RuledThrottle{{Name: "erp", Rules: `{"limit":4}`, Limit: 4}},
	}))(t)
	must.Get(p.client.Put(ctx, queue.Put{Queue: "places", JID: "j", Klass: "K", Data: []byte("{}")}))(t)
	look := func(d *Doctor) error { return d.Rules(ctx) }
	if found := p.examine(t, true, look); len(found) > 0 {
		t.Fatalf("of a sound world: %v", found)
	}
	p.client.Redis().HSet(ctx, "ql:oarlock:rules", "t:erp", "{\x1b[31m")
	const says = `he rules of throttle erp cannot be read, they are "{\x1b[31m"`
	if found := p.examine(t, false, look); len(found) != 1 || !strings.Contains(fmt.Sprint(found), says) {
		t.Errorf("found %v", found)
	}
	p.client.Redis().HSet(ctx, "ql:oarlock:outside", "ruby-7", fmt.Sprintf("%.0f places", p.client.Now()))
	if found := fmt.Sprint(p.examine(t, false, look)); !strings.Contains(found, "Worker ruby-7 took jobs of queue places past its rules") {
		t.Errorf("of a worker that knows no rules is said %s", found)
	}
	const turns = "The queue is fair: such a worker takes no turns"
	if found := fmt.Sprint(p.examine(t, false, look)); strings.Contains(found, turns) {
		t.Errorf("of a queue that is not fair is said %s", found)
	}
	p.client.Redis().HSet(ctx, "ql:oarlock:rules", "q:places", `{"shape":"a","fair":"fair:places","throttles":["fair:places","erp"],"by":{"fair:places":["path","t"]}}`)
	if found := fmt.Sprint(p.examine(t, false, look)); !strings.Contains(found, turns) {
		t.Errorf("of a worker in a fair queue is said %s", found)
	}
	hold := p.why(t, "j")
	if len(hold.Reasons) == 0 || !strings.Contains(hold.Reasons[0], says) || hold.Codes[0] != explain.DamagedRules {
		t.Errorf("why says %+v", hold)
	}
}
