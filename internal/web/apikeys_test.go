package web

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"oarlock/internal/must"
	"oarlock/queue"
)

// steer does things by the API of an App.
type steer struct {
	t *testing.T
	a *App
	g guest
}

func (d steer) wants(status int, method, path, body string) string {
	d.t.Helper()
	return wants(d.t, status, d.ask(method, path, body))
}

func (d steer) ask(method, path, body string) *httptest.ResponseRecorder {
	return d.g.ask(d.a, method, "/api/v1"+path, body)
}

// put puts jobs of a key.
func putKeyed(t *testing.T, q *queue.Client, name, key string, jids ...string) {
	t.Helper()
	for _, jid := range jids {
		must.Get(q.Put(t.Context(), queue.Put{Queue: name, JID: jid, Klass: "Ship", Key: key, Data: []byte(`{}`)}))(t)
	}
}

// What can be done to keys is counted first if somebody asks for that, then done, told of, and kept in the audit; a job that had the turn
// tells who took it.
func TestKeysOfTheAPI(t *testing.T) {
	a, q := apart(t)
	ctx := t.Context()
	api := steer{t, a, as(t, "write")}
	must.Get(q.SetKeyOrder(ctx, queue.OrderFile{Orders: []queue.KeyOrder{{Queue: "orders", Hold: true}}}, queue.KeepOrders))(t)
	odd := "a/b \n\u202e<é>"
	putKeyed(t, q, "orders", "c", "c1", "c2", "c3")
	putKeyed(t, q, "orders", odd, "o1", "o2")
	putKeyed(t, q, "orders", "alone", "l1")
	if text := api.wants(200, "GET", "/queues/orders/keys?limit=1", ""); field(t, text, "total") != 2.0 || field(t, text, "next") != "1" || field(t, text, "behind") != 3.0 {
		t.Errorf("blocked keys: %s", text)
	}
	if text := api.wants(200, "GET", "/queues/orders/keys?limit=1&cursor=1", ""); field(t, text, "next") != nil {
		t.Errorf("the second of two: %s", text)
	}
	if text := api.wants(200, "GET", "/queues/orders/keys?by=name", ""); len(field(t, text, "items").([]any)) != 3 {
		t.Errorf("all keys: %s", text)
	}
	hostile := "/queues/orders/keys/a%2Fb%20%0A%E2%80%AE%3C%C3%A9%3E"
	if text := api.wants(200, "GET", hostile, ""); field(t, text, "holder") != "o1" {
		t.Errorf("an odd key: %s", text)
	}
	if code := codeOf(api.ask("POST", "/queues/orders/keys/c/pass", "")); code != "changed" {
		t.Errorf("pass of one that waits: %q", code)
	}
	jobs, err := q.Pop(ctx, "orders", "w", 3)
	if err != nil || !slices.ContainsFunc(jobs, func(j queue.Job) bool { return j.JID == "c1" }) {
		t.Fatal(jobs, err)
	}
	must.Do(t, q.Fail(ctx, "c1", "w", "broken", "no"))
	if text := api.wants(200, "GET", "/queues/orders/keys/c?limit=1", ""); field(t, text, "state") != "failed" || len(field(t, text, "next").([]any)) != 1 {
		t.Errorf("one whose turn is held: %s", text)
	}
	if text := api.wants(200, "POST", "/queues/orders/keys/c/pass", `{"dry_run": true}`); field(t, text, "from") != "c1" {
		t.Errorf("a dry pass: %s", text)
	}
	if text := api.wants(200, "GET", "/queues/orders/keys/c", ""); field(t, text, "holder") != "c1" {
		t.Errorf("a dry pass passed: %s", text)
	}
	api.wants(200, "POST", "/queues/orders/keys/c/pass", "")
	if text := api.wants(200, "GET", "/queues/orders/keys/c", ""); field(t, text, "holder") != "c2" {
		t.Errorf("after a pass: %s", text)
	}
	if job, err := q.Get(ctx, "c1"); err != nil || job.History[len(job.History)-1].What != "pass key, by anna" {
		t.Errorf("its history is %+v, %v", job.History, err)
	}
	if code := codeOf(api.ask("POST", "/queues/orders/keys/c/drop", `{"dryrun": true}`)); code != "bad_request" {
		t.Errorf("a field that is misspelled: %q", code)
	}
	if text := api.wants(200, "POST", hostile+"/drop", `{"dry_run": true}`); field(t, text, "jobs") != 2.0 {
		t.Errorf("a dry drop: %s", text)
	}
	if text := api.wants(200, "POST", hostile+"/drop", ""); field(t, text, "jobs") != 2.0 {
		t.Errorf("a drop: %s", text)
	}
	if text := api.wants(200, "GET", hostile, ""); field(t, text, "holder") != "" || field(t, text, "until").(float64) <= q.Now() {
		t.Errorf("whose job ran and was dropped: %s", text)
	}
	if text := api.wants(200, "POST", "/queues/orders/free", ""); field(t, text, "jobs") != 1.0 {
		t.Errorf("given up: %s", text)
	}
	if text := api.wants(200, "GET", "/queues/orders/keys?by=name", ""); len(field(t, text, "items").([]any)) != 0 {
		t.Errorf("keys of a queue without order: %s", text)
	}
	told := a.deeds.newest()
	if told[0].Action != "free keys" || told[0].Count != 1 || told[0].Who != "anna" {
		t.Errorf("the audit has %+v", told[0])
	}
}

// All scheduled jobs of a queue run now, or those that were tried fail, where only a count was wanted nothing does.
func TestScheduledOfTheAPI(t *testing.T) {
	a, q := apart(t)
	ctx := t.Context()
	api := steer{t, a, as(t, "write")}
	for _, jid := range []string{"a", "b", "tried"} {
		p := queue.Put{Queue: "mail", JID: jid, Klass: "Send", Delay: 1 << 40, Data: []byte(`{"password":"s3cr3t"}`)}
		if jid == "tried" {
			p.Delay = 0
		}
		must.Get(q.Put(ctx, p))(t)
	}
	must.Get(q.Pop(ctx, "mail", "w", 1))(t)
	session := q.Session("w")
	defer session.Close()
	must.Get(q.Retry(ctx, "tried", "mail", "w", 1<<40, "g", "m"))(t)
	if text := api.wants(200, "GET", "/queues/mail/sorted?state=scheduled&by=jid&reverse=1", ""); field(t, text, "matched") != 3.0 || strings.Contains(text, "s3cr3t") || strings.Index(text, `"jid":"tried"`) > strings.Index(text, `"jid":"a"`) {
		t.Errorf("sorted: %s", text)
	}
	for path, want := range map[string]string{"sorted?by=size": "bad_request", "sorted?state=x": "bad_request", "sorted?limit=x": "bad_request", "sorted?from=x": "bad_request"} {
		if code := codeOf(api.ask("GET", "/queues/mail/"+path, "")); code != want {
			t.Errorf("%s: %q", path, code)
		}
	}
	if text := api.wants(200, "POST", "/queues/mail/kill", `{"dry_run":true}`); field(t, text, "count") != 1.0 || field(t, text, "done") != 0.0 {
		t.Errorf("a dry kill: %s", text)
	}
	if text := api.wants(200, "POST", "/queues/mail/kill", ``); field(t, text, "done") != 1.0 {
		t.Errorf("kill: %s", text)
	}
	if job, err := q.Get(ctx, "tried"); err != nil || job.State != "failed" {
		t.Errorf("it is %s, %v", job.State, err)
	}
	if text := api.wants(200, "POST", "/queues/mail/now", ``); field(t, text, "done") != 2.0 {
		t.Errorf("now: %s", text)
	}
	if n, err := q.Queue(ctx, "mail"); err != nil || n.Waiting != 2 {
		t.Errorf("%+v, %v", n, err)
	}
	if code := codeOf(api.ask("POST", "/queues/none/now", "")); code != "no_such_queue" {
		t.Errorf("a queue that is not there: %q", code)
	}
}

// The rules of the file are compared, applied, explained and taken away; what takes over others' wants to be forced.
func TestRulesOfTheAPI(t *testing.T) {
	a, q := apart(t)
	ctx := t.Context()
	api := steer{t, a, as(t, "write")}
	q.Redis().HSet(ctx, "ql:oarlock:tended", "rules-since", 1) // so that nobody has to be waited for
	if text := api.wants(200, "GET", "/rules", ""); field(t, text, "version") != nil {
		t.Errorf("none: %s", text)
	}
	if text := api.wants(200, "GET", "/rules/diff", ""); strings.Count(text, `"word":"added"`) != 2 {
		t.Errorf("before: %s", text)
	}
	if text := api.wants(200, "POST", "/rules/apply", `{"dry_run":true}`); strings.Count(text, `"word":"added"`) != 2 {
		t.Errorf("a dry apply: %s", text)
	}
	if text := api.wants(200, "GET", "/rules", ""); field(t, text, "version") != nil {
		t.Errorf("a dry apply applied: %s", text)
	}
	api.wants(200, "POST", "/rules/apply", "")
	if text := api.wants(200, "GET", "/rules?name=erp", ""); !strings.Contains(text, `"entry":"throttles.erp","owner":"here:oarlock.toml"`) {
		t.Errorf("after: %s", text)
	}
	for i := range 3 {
		must.Get(q.Put(ctx, queue.Put{Queue: "mail", Klass: "Send", JID: string(rune('a' + i))}))(t)
	}
	session := q.Session("w")
	defer session.Close()
	if reply, err := session.Exchange(ctx, nil, queue.Take{Queues: []string{"mail"}, Count: 3}); err != nil || len(reply.Jobs) != 1 {
		t.Fatalf("%+v, %v", reply.Jobs, err)
	}
	text := api.wants(200, "GET", "/throttles/erp", "")
	var erp struct {
		Used, Waiting, Rule int
		Oldest              float64
		Waitlists           []queue.Waitlist
		Held                []struct{ Places int }
	}
	if err := json.Unmarshal([]byte(text), &erp); err != nil || erp.Used != 1 || erp.Waiting != 2 || erp.Rule != 1 || erp.Oldest == 0 || len(erp.Waitlists) != 1 || erp.Waitlists[0].Jobs != 2 || len(erp.Held) != 1 || erp.Held[0].Places != 1 {
		t.Errorf("a throttle that is full: %s", text)
	}
	if text := api.wants(200, "PUT", "/throttles/erp", `{"maximum":5}`); field(t, text, "by_hand") != true {
		t.Errorf("set by hand: %s", text)
	}
	if text := api.wants(200, "POST", "/throttles/erp/unset", ""); field(t, text, "by_hand") != nil || field(t, text, "maximum") != 1.0 {
		t.Errorf("as the rules say again: %s", text)
	}
	if code := codeOf(api.ask("POST", "/throttles/other/unset", "")); code != "no_such_throttle" {
		t.Errorf("of which no rule says anything: %q", code)
	}
	if text := api.wants(200, "GET", "/rules/explain?queue=mail&klass=Send", ""); !strings.Contains(text, `"throttle":"erp"`) || field(t, text, "ruled") != true {
		t.Errorf("explained: %s", text)
	}
	for path, want := range map[string]string{"/rules/explain": "bad_request", "/rules/explain?queue=q&data=%7B": "bad_request", "/rules?name=epr": "no_such_rule", "/windows/next": "bad_request", "/windows/next?spec=noon": "no_such_window", "/windows/next?spec=25:00-26:00": "bad_request"} {
		if code := codeOf(api.ask("GET", path, "")); code != want {
			t.Errorf("%s: %q, want %q", path, code, want)
		}
	}
	if code := codeOf(api.ask("POST", "/rules/remove", `{"names":["throttles.epr"]}`)); code != "no_such_rule" {
		t.Errorf("none of that name: %q", code)
	}
	if code := codeOf(api.ask("POST", "/rules/remove", ``)); code != "doubt" {
		t.Errorf("all of them: %q", code)
	}
	if text := api.wants(200, "POST", "/rules/remove?force=1", ``); strings.Count(text, `"word":"removed"`) != 2 {
		t.Errorf("all of them, for sure: %s", text)
	}
}

// What any program pushes is seen and steered; an entry tells no secret, and no list is destroyed by the way.
func TestListsOfTheAPI(t *testing.T) {
	a, q := apart(t)
	api := steer{t, a, as(t, "write")}
	list := "/lists/hworker:pics"
	if text := api.wants(201, "POST", list+"/entries", `{"data":{"password":"s3cr3t","n":12345678901234567890}}`); !strings.Contains(text, "12345678901234567890") {
		t.Errorf("pushed: %s", text)
	}
	for body, want := range map[string]string{`{}`: "bad_request", `{"data":1,"text":"x"}`: "bad_request", `{"text":"no JSON"}`: "bad_request", `{"dat":1}`: "bad_request"} {
		if code := codeOf(api.ask("POST", list+"/entries", body)); code != want {
			t.Errorf("%s: %q", body, code)
		}
	}
	api.wants(201, "POST", "/lists/plain/entries", `{"text":"no JSON"}`)
	if text := api.wants(200, "GET", "/lists/plain/entries", ""); !strings.Contains(text, `"entry":"no JSON"`) || field(t, text, "total") != 1.0 {
		t.Errorf("a list without envelopes: %s", text)
	}
	if text := api.wants(200, "GET", "/lists", ""); !strings.Contains(text, `"name":"hworker:pics","waiting":1`) {
		t.Errorf("lists: %s", text)
	}
	if text := api.wants(200, "GET", list+"/entries", ""); strings.Contains(text, "s3cr3t") || !strings.Contains(text, "12345678901234567890") {
		t.Errorf("entries: %s", text)
	}
	for path, want := range map[string]string{list + "/entries?part=x": "bad_request", list + "/entries?cursor=x": "bad_request", "/lists/hworker:": "bad_request"} {
		if code := codeOf(api.ask("GET", path, "")); code != want {
			t.Errorf("%s: %q", path, code)
		}
	}
	if text := api.wants(200, "POST", list+"/retry", ""); field(t, text, "retried") != 0.0 {
		t.Errorf("nothing failed: %s", text)
	}
	if code := codeOf(api.ask("DELETE", list, "")); code != "doubt" {
		t.Errorf("destroyed at once: %q", code)
	}
	if text := api.wants(200, "DELETE", list+"?force=1", ""); field(t, text, "waiting") != 1.0 {
		t.Errorf("destroyed: %s", text)
	}
	if code := codeOf(api.ask("DELETE", list+"?force=1", "")); code != "no_such_list" {
		t.Errorf("destroyed twice: %q", code)
	}
	if n, err := q.CountLists(t.Context(), []string{"hworker:pics"}); err != nil || n[0] != (queue.ListCounts{}) {
		t.Errorf("there is %+v, %v", n, err)
	}
	reader := steer{t, a, as(t, "read")}
	must.Do(t, q.Redis().Set(t.Context(), "secret", "s3cr3t", 0).Err())
	for _, path := range []string{"/lists/plain", "/lists/plain/entries", "/lists/none", "/lists/secret", "/lists/ql:q:mail-work", "/lists?name=hworker:pics&name=plain"} {
		if w := reader.ask("GET", path, ""); codeOf(w) != "no_such_list" || !strings.Contains(w.Body.String(), "is no list that a pool works") {
			t.Errorf("who may look asks for %s: %d %s", path, w.Code, w.Body)
		}
	}
	if code, text, _ := as(t, "read").browse(a, "GET", "/lists/plain", ""); code != 404 || strings.Contains(text, "no JSON") {
		t.Errorf("its page: %d %s", code, mainOf(text))
	}
	must.Do(t, q.Redis().HSet(t.Context(), "ql:oarlock:tries:plain", "x", 1).Err())
	reader.wants(200, "GET", "/lists/plain/entries", "")
	reader.wants(200, "GET", "/lists/hworker:pics", "")
	if code := codeOf(reader.ask("GET", "/lists?cursor=x", "")); code != "bad_request" {
		t.Errorf("a cursor that is none: %q", code)
	}
	putter := steer{t, a, as(t, "put")}
	if code := codeOf(putter.ask("POST", "/lists/ql:paused_queues/entries", `{"text":"x"}`)); code != "no_right" {
		t.Errorf("who may put pushed to a key: %q", code)
	}
}
