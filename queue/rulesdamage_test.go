package queue

import (
	"fmt"
	"strings"
	"testing"
)

// TestRulesThatCannotBeRead: nothing of a queue whose rules are damaged is taken, whoever asks first, and nothing behind a job
// that needs a throttle whose rules are; what runs there is settled all the same, and other queues go on.
func TestRulesThatCannotBeRead(t *testing.T) {
	for field, texts := range map[string][]string{
		"q:bad": {"", "{", "null", "7", `"x"`, "[]garbage", `{"klass":7}`, `{"globs":[{"klass":1}]}`, `{"throttles":7}`},
		"t:erp": {"", "{", "7", `{"limit":1,"rate":7}`, "\x00"},
	} {
		for _, text := range texts {
			t.Run(field+text, func(t *testing.T) { damageRules(t, field, text) })
		}
	}
}

func damageRules(t *testing.T, field, text string) {
	w := newGateWorld(t)
	ctx := t.Context()
	w.rule(map[string]string{"bad": `{"shape":"a","throttles":["erp"]}`, "good": `{"shape":"a","limited":true,"limit_of_queue":1}`},
		map[string]string{"erp": `{"limit":2,"patience":60}`})
	for _, name := range []string{"bad", "good", "plain"} {
		w.put(putsOf(4, func(i int) Put { return Put{Queue: name, JID: fmt.Sprint(name, i), Klass: "K"} })...)
	}
	session := w.client.Session("w")
	defer session.Close()
	began, err := session.Exchange(ctx, nil, Take{Queues: []string{"bad"}, Count: 1})
	must0(t, err)
	w.redis.HSet(ctx, "ql:oarlock:rules", field, text)
	for _, s := range []*Session{session, w.client.Session("new")} {
		reply, err := s.Exchange(ctx, nil, Take{Queues: []string{"bad"}, Count: 9})
		must0(t, err)
		if len(reply.Jobs) > 0 || reply.More || len(reply.Broken) != 1 || reply.Broken[0].Queue != "bad" || !strings.Contains(reply.Broken[0].Reason, "cannot be read") {
			t.Fatalf("of the queue %d were taken, more %v, left out %+v", len(reply.Jobs), reply.More, reply.Broken)
		}
	}
	reply, err := session.Exchange(ctx, done(began.Jobs...), Take{Queues: []string{"bad", "good", "plain"}, Count: 9})
	must0(t, err)
	if reply.Results[0].State != "complete" || len(reply.Jobs) != 5 || reply.Jobs[0].Queue != "good" {
		t.Errorf("settled %+v, taken %+v", reply.Results, reply.Jobs)
	}
	damaged, err := w.client.DamagedRules(ctx, "bad")
	must0(t, err)
	others, err := w.client.DamagedRules(ctx, "good")
	must0(t, err)
	if len(damaged) != 1 || "q:"+damaged[0].Queue != field && "t:"+damaged[0].Throttle != field || len(others) != 0 {
		t.Errorf("said to be damaged: %+v; of another queue: %+v", damaged, others)
	}
	// Rules that are written anew count, and nothing was lost.
	w.rule(map[string]string{"bad": `{"shape":"a","throttles":["erp"]}`}, map[string]string{"erp": `{"limit":2,"patience":60}`})
	if jobs := w.take("w", 9, "bad"); len(jobs) != 2 || w.many("erp") != 2 {
		t.Errorf("then %d run, and %d places are taken", len(jobs), w.many("erp"))
	}
}

// TestRulesOfAnotherType: where the key of all rules is no hash nobody knows which queues have any, so nothing is taken; what runs
// is settled, jobs are put, and looking at all queues says why.
func TestRulesOfAnotherType(t *testing.T) {
	for _, knows := range []bool{false, true} {
		w := newGateWorld(t)
		ctx := t.Context()
		w.rule(map[string]string{"ruled": `{"shape":"a","limited":true,"limit_of_queue":2}`}, nil)
		w.put(putsOf(3, func(i int) Put { return Put{Queue: "ruled", Klass: "K"} })...)
		w.put(Put{Queue: "plain", JID: "p", Klass: "K", Data: []byte("{}")})
		s := w.client.Session("w")
		defer s.Close()
		from := map[bool]string{false: "plain", true: "ruled"}[knows]
		began, err := s.Exchange(ctx, nil, Take{Queues: []string{from}, Count: 1})
		must0(t, err)
		w.redis.Set(ctx, "ql:oarlock:rules", "gone", 0)
		w.put(Put{Queue: "plain", JID: "late", Klass: "K", Data: []byte("{}")})
		reply, err := s.Exchange(ctx, done(began.Jobs...), Take{Queues: []string{"ruled", "plain"}, Count: 9})
		must0(t, err)
		if len(began.Jobs) != 1 || reply.Results[0].State != "complete" || len(reply.Jobs) > 0 || len(reply.Broken) != 2 {
			t.Errorf("settled %+v, taken %+v, left out %+v", reply.Results, reply.Jobs, reply.Broken)
		}
		outlook, _, err := w.client.Outlook(ctx, []string{"ruled", "plain", "empty"})
		must0(t, err)
		for _, q := range outlook {
			if !strings.Contains(q.Damage, "WRONGTYPE") {
				t.Errorf("of %s is said %q", q.Queue, q.Damage)
			}
		}
		if damaged, err := w.client.DamagedRules(ctx, "plain"); err != nil || len(damaged) != 1 || damaged[0].Queue+damaged[0].Throttle != "" {
			t.Errorf("said to be damaged: %+v, %v", damaged, err)
		}
	}
}

// TestAJobThatWaitsForAPlaceCannotBePutAgain: where a command fails as a job that waits is put again, it waits on, and has its place in the end.
func TestAJobThatWaitsForAPlaceCannotBePutAgain(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","limited":true,"limit_of_queue":1}`}, nil)
	w.put(putsOf(2, func(i int) Put { return Put{Queue: "q", JID: fmt.Sprint("j", i), Klass: "K"} })...)
	first := w.take("w", 2, "q")
	w.redis.Set(t.Context(), "ql:q:q-depends", "none", 0)
	results, err := w.client.PutAll(t.Context(), []Put{{Queue: "other", JID: "j1", Klass: "K"}})
	must0(t, err)
	if results[0].Err == nil {
		t.Fatal("it was put")
	}
	w.redis.Del(t.Context(), "ql:q:q-depends")
	w.exchange("w", done(first...), Take{})
	if jobs := w.take("w", 2, "q"); len(jobs) != 1 || jobs[0].JID != "j1" {
		t.Errorf("then %v run", jidsOf(jobs))
	}
}

// TestNoWaitlistButItsShape: what a call leaves that was cut off as the last waitlist went does not stop the queue when its rules change.
func TestNoWaitlistButItsShape(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"new","limited":true,"limit_of_queue":1}`}, nil)
	w.redis.HSet(t.Context(), "ql:oarlock:waitlists:q", "shape", "old")
	w.put(Put{Queue: "q", JID: "j", Klass: "K"})
	if jobs := w.take("w", 1, "q"); len(jobs) != 1 {
		t.Errorf("%v run", jidsOf(jobs))
	}
}
