package web

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"oarlock/internal/must"
	"oarlock/queue"
)

// putWays are all ways in which one job is put over HTTP, each answered by a code of a problem, or "".
var putWays = map[string]func(g guest, a *App, p map[string]any) (code, text string){
	"PUT": func(g guest, a *App, p map[string]any) (string, string) {
		w := g.ask(a, "PUT", "/api/v1/jobs/"+p["jid"].(string), asJSON(p))
		return codeOf(w), w.Body.String()
	},
	"POST": func(g guest, a *App, p map[string]any) (string, string) {
		w := g.ask(a, "POST", "/api/v1/queues/"+p["queue"].(string)+"/jobs", asJSON(p))
		return codeOf(w), w.Body.String()
	},
	"POST of a list": func(g guest, a *App, p map[string]any) (string, string) {
		return lineCode(g.ask(a, "POST", "/api/v1/queues/"+p["queue"].(string)+"/jobs", "["+asJSON(p)+"]"))
	},
	"POST of lines": func(g guest, a *App, p map[string]any) (string, string) {
		return lineCode(g.ask(a, "POST", "/api/v1/queues/"+p["queue"].(string)+"/jobs", asJSON(p), "Content-Type", "application/x-ndjson"))
	},
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// lineCode is the code of the problem of the first line.
func lineCode(w *httptest.ResponseRecorder) (code, text string) {
	var line struct{ Problem *Problem }
	if err := json.Unmarshal(w.Body.Bytes(), &line); err != nil || line.Problem == nil {
		return codeOf(w), w.Body.String()
	}
	return line.Problem.Code, w.Body.String()
}

// A put of a jid that a job of another queue or class has is refused, in whatever state that job is, for it would never run. The
// same put again is answered as before, wherever the job is by now. Who may only put hears of a job of another queue nothing but
// that its jid is taken.
func TestTakenJID(t *testing.T) {
	a, q := apart(t)
	ctx := t.Context()
	worker := q.Session("w")
	defer worker.Close()
	take := func(name string) queue.Taken {
		t.Helper()
		reply, err := worker.Exchange(ctx, nil, queue.Take{Queues: []string{name}, Count: 1})
		if err != nil || len(reply.Jobs) != 1 {
			t.Fatalf("take: %+v, %v", reply, err)
		}
		return reply.Jobs[0]
	}
	settle := func(s queue.Settlement) {
		t.Helper()
		if done, err := worker.Exchange(ctx, []queue.Settlement{s}, queue.Take{}); err != nil || done.Results[0].Err != nil {
			t.Fatalf("%+v, %v", done, err)
		}
	}
	states := map[string]func(jid string){
		"waiting": func(string) {},
		"moved":   func(jid string) { must.Do(t, q.Move(ctx, jid, "elsewhere", 0)) },
		"running": func(string) { take("orders-a") },
		"complete": func(string) {
			job := take("orders-a")
			settle(queue.Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: queue.Complete})
		},
		"failed": func(string) {
			job := take("orders-a")
			settle(queue.Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: queue.Fail, Group: "secret-group", Message: "secret-message"})
		},
		"scheduled": func(string) {},
	}
	reader, putter, stranger := as(t, "read,put"), as(t, "put:orders-*"), as(t, "put:mail")
	n := 0
	for way, put := range putWays {
		for state, reach := range states {
			n++
			jid := fmt.Sprintf("j%d", n)
			first := map[string]any{"jid": jid, "queue": "orders-a", "klass": "Secret", "data": map[string]int{"n": 1}}
			if state == "scheduled" {
				first["delay"] = 1000
			}
			if code, text := put(putter, a, first); code != "" || !strings.Contains(text, `"existed":false`) {
				t.Fatalf("%s: %s", way, text)
			}
			reach(jid)
			if code, text := put(putter, a, first); code != "" || !strings.Contains(text, `"existed":true`) {
				t.Errorf("%s of the same again, %s: %s", way, state, text)
			}
			for other, change := range map[string]map[string]any{"queue": {"queue": "orders-b"}, "class": {"klass": "Other"}, "queue of the stranger": {"queue": "mail"}} {
				second := map[string]any{"jid": jid, "queue": "orders-a", "klass": "Secret", "data": map[string]int{"n": 1}}
				for key, value := range change {
					second[key] = value
				}
				for who, g := range map[string]guest{"reader": reader, "putter": putter, "stranger": stranger} {
					if mayPut := who == "reader" || (who == "stranger") == (second["queue"] == "mail"); !mayPut {
						continue
					}
					code, text := put(g, a, second)
					if code != "differs" {
						t.Errorf("%s of another %s by a %s, %s: %s", way, other, who, state, text)
					}
					for _, known := range []string{"Secret", "secret-", "orders-a", "elsewhere", `"` + state + `"`} {
						if who == "stranger" && strings.Contains(text, known) {
							t.Errorf("%s by a stranger of one that is %s tells %s: %s", way, state, known, text)
						}
					}
				}
			}
			if job, err := q.Get(ctx, jid); err != nil || job.Klass != "Secret" || putInto(job) != "orders-a" {
				t.Errorf("%s, %s: the job is now %+v, %v", way, state, job, err)
			}
			must.Do(t, q.Cancel(ctx, jid))
		}
	}
}

// A job that was complete and was put again is that of the second put: the same put sent again is no other job.
func TestAJobThatWasPutAgainIsTheSame(t *testing.T) {
	a, q := apart(t)
	s := q.Session("w")
	defer s.Close()
	putter := as(t, "put:orders-*")
	for way, put := range putWays {
		jid := "nightly" + strings.ReplaceAll(way, " ", "")
		p := queue.Put{Queue: "orders-a", JID: jid, Klass: "K", Data: []byte("{}"), IfExists: queue.Final}
		if _, err := q.Put(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		reply, err := s.Exchange(t.Context(), nil, queue.Take{Queues: []string{"orders-a"}, Count: 1})
		must.Do(t, err)
		_, err = s.Exchange(t.Context(), []queue.Settlement{{JID: jid, Queue: "orders-a", Popped: reply.Jobs[0].Popped, Action: queue.Complete}}, queue.Take{})
		must.Do(t, err)
		p.Queue = "orders-b"
		if _, err := q.Put(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		code, text := put(putter, a, map[string]any{"jid": jid, "queue": "orders-b", "klass": "K", "data": map[string]int{}})
		if code != "" || !strings.Contains(text, `"existed":true`) {
			t.Errorf("%s of one that was put again: %s", way, text)
		}
	}
}

// Nothing that somebody who may only put can ask tells whether a job of another queue is there, but that its jid is taken.
func TestPutTellsNothingOfOthers(t *testing.T) {
	a, q := apart(t)
	ctx := t.Context()
	worker := q.Session("w")
	defer worker.Close()
	high := 9.0
	for _, p := range []queue.Put{
		{JID: "theirs", Queue: "bank", Klass: "Secret", Data: []byte("{}")},
		{JID: "over", Queue: "bank", Klass: "Secret", Data: []byte("{}"), Priority: &high},
		{JID: "mine", Queue: "mail", Klass: "Send", Data: []byte("{}")},
	} {
		must.Get(q.Put(ctx, p))(t)
	}
	reply, err := worker.Exchange(ctx, nil, queue.Take{Queues: []string{"bank"}, Count: 1})
	if err != nil || len(reply.Jobs) != 1 || reply.Jobs[0].JID != "over" {
		t.Fatalf("%+v, %v", reply, err)
	}
	if done, err := worker.Exchange(ctx, []queue.Settlement{{JID: "over", Queue: "bank", Popped: reply.Jobs[0].Popped, Action: queue.Complete}}, queue.Take{}); err != nil || done.Results[0].Err != nil {
		t.Fatalf("%+v, %v", done, err)
	}
	g := as(t, "put:mail")
	ask := func(body string) string {
		w := g.ask(a, "POST", "/api/v1/queues/mail/jobs", body)
		return fmt.Sprint(w.Code, " ", w.Body)
	}
	for _, jid := range []string{"theirs", "over"} {
		there, gone := ask(`{"jid":"d1","depends":["`+jid+`"]}`), ask(`{"jid":"d1","depends":["nobody"]}`)
		if strings.ReplaceAll(there, jid, "nobody") != gone {
			t.Errorf("depends tells of %s: %s, where of none it says %s", jid, there, gone)
		}
		there, gone = ask(`[{"jid":"d2","depends":["`+jid+`"]}]`), ask(`[{"jid":"d2","depends":["nobody"]}]`)
		if strings.ReplaceAll(there, jid, "nobody") != gone {
			t.Errorf("depends of a list tells of %s: %s, where of none it says %s", jid, there, gone)
		}
		for _, how := range []string{"replace", "final"} {
			if text := ask(`{"jid":"` + jid + `","if_exists":"` + how + `"}`); !strings.Contains(text, `"no_right"`) || strings.Contains(text, "complete") || strings.Contains(text, "bank") {
				t.Errorf("%s of %s: %s", how, jid, text)
			}
		}
		if job, err := q.Get(ctx, jid); err != nil || job.Klass != "Secret" {
			t.Errorf("%s was replaced: %+v, %v", jid, job, err)
		}
	}
	if text := ask(`{"jid":"d3","depends":["mine"]}`); !strings.HasPrefix(text, "201 ") {
		t.Errorf("depends on one of its own: %s", text)
	}
}

// A key of an Idempotency-Key is its token's own: two tokens that use the same one get a job each. What the version before made of
// a key is found.
func TestIdempotencyKeysOfTwoTokens(t *testing.T) {
	a, q := apart(t)
	anna, bert := as(t, "put"), as(t, "put")
	bert.door.Gate.Tokens = tokensOf(t, "bert put "+sumOf(bert)+"\n")
	put := func(g guest, body, key string) string {
		t.Helper()
		w := g.ask(a, "POST", "/api/v1/queues/mail/jobs", body, "Idempotency-Key", key)
		var done struct{ JID string }
		if err := json.Unmarshal(w.Body.Bytes(), &done); err != nil || done.JID == "" {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return done.JID
	}
	for _, body := range []string{`{"data":1}`, `[{"data":1}]`} {
		one, two, again := put(anna, body, "k1"), put(bert, body, "k1"), put(anna, body, "k1")
		if one == two || one != again {
			t.Errorf("%s: two tokens get %s and %s, the first again %s", body, one, two, again)
		}
		text := "mail\x00k2"
		if body[0] == '[' {
			text += "\x001"
		}
		sum := sha256.Sum256([]byte(text))
		before := fmt.Sprintf("%x", sum[:16]) // as the version before made it
		must.Get(q.Put(t.Context(), queue.Put{JID: before, Queue: "mail", Klass: "job", Data: []byte("1")}))(t)
		if got := put(anna, body, "k2"); got != before {
			t.Errorf("%s: what was put before is put again as %s", body, got)
		}
		if got := put(anna, strings.Replace(body, "1", "2", 1), "k2"); got == before {
			t.Errorf("%s: other data got the job that somebody else put before", body)
		}
	}
}

// sumOf is the hash of the token that a guest shows.
func sumOf(g guest) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.TrimPrefix(g.shows[1], "Bearer "))))
}
