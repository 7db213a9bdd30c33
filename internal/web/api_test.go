package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/internal/hub"
	"oarlock/internal/must"
	"oarlock/internal/redact"
	"oarlock/internal/redistest"
	"oarlock/internal/rules"
	"oarlock/queue"
	"oarlock/supervisor"
)

// opened is a client of a Redis.
func opened(t testing.TB, server *redistest.Server) *queue.Client {
	t.Helper()
	q := must.Get(queue.Open(t.Context(), queue.Options{URL: server.URL, ReadTimeout: time.Minute}))(t)
	t.Cleanup(func() { q.Close() })
	return q
}

// apart is an App with a database of its own; the test runs beside others.
func apart(t *testing.T) (*App, *queue.Client) {
	t.Helper()
	return apartOn(t, redistest.Shared(t))
}

// apartOn is one on a server that may be the test's own.
func apartOn(t *testing.T, server *redistest.Server) (*App, *queue.Client) {
	t.Helper()
	t.Parallel()
	q := opened(t, server)
	secrets := must.Get(redact.New([]string{"$..password"}, nil))(t)
	return New(Options{Redis: q, Supervisor: aSupervisor(), Log: slog.New(slog.DiscardHandler), Version: "v1", Census: counting(t, q), Rules: someRules, Redactor: secrets}), q
}

// someRules are those of a file: a throttle.
func someRules() rules.File {
	erp := rules.DefaultThrottle()
	erp.Limit = 1
	mail := rules.DefaultQueue()
	mail.Throttles = []string{"erp"}
	return rules.File{Owner: "here:oarlock.toml", Set: rules.Set{Throttles: map[string]rules.Throttle{"erp": erp}, Queues: map[string]rules.Queue{"mail": mail}}}
}

// wants is the body of an answer that must have that status.
func wants(t *testing.T, status int, w *httptest.ResponseRecorder) string {
	t.Helper()
	if w.Code != status {
		t.Fatalf("answered %d, want %d: %s", w.Code, status, w.Body)
	}
	return w.Body.String()
}

// field is a field of a JSON object.
func field(t *testing.T, text, name string) any {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return all[name]
}

// A job is put once however often it is sent, its data as it was sent, and another job of its name is refused.
func TestPutOnce(t *testing.T) {
	a, q := apart(t)
	g := as(t, "put:mail,read")
	const data = `{ "to": "ann", "n": 12345678901234567890, "list": [], "é": "\u00e9" }`
	body := `{"queue":"mail","klass":"Send","data":` + data + `}`
	if text := wants(t, 201, g.ask(a, "PUT", "/api/v1/jobs/order-17", body)); text != `{"jid":"order-17","existed":false}`+"\n" {
		t.Errorf("put says %s", text)
	}
	if text := wants(t, 200, g.ask(a, "PUT", "/api/v1/jobs/order-17", body)); text != `{"jid":"order-17","existed":true,"state":"waiting"}`+"\n" {
		t.Errorf("put again says %s", text)
	}
	if job, err := q.Get(t.Context(), "order-17"); err != nil || string(job.Data) != data {
		t.Errorf("its data is %s, %v", job.Data, err)
	}
	for _, other := range []string{
		`{"queue":"mail","klass":"Send","data":{}}`, `{"queue":"mail","klass":"Other","data":` + data + `}`, `{"queue":"mail"}`,
	} {
		if code := codeOf(g.ask(a, "PUT", "/api/v1/jobs/order-17", other)); code != "differs" {
			t.Errorf("%s: %q", other, code)
		}
	}
	for body, want := range map[string]string{
		`{"queue":"other"}`:                      "no_right",
		`{"klass":"x"}`:                          "bad_request",
		`{"queue":"mail","klas":"x"}`:            "bad_request",
		`{"queue":"mail","jid":"another"}`:       "bad_request",
		`{"queue":"mail","if_exists":"replace"}`: "bad_request",
		`{"queue":"mail","retries":-1}`:          "bad_request",
		`{"queue":"mail","depends":["nobody"]}`:  "doubt",
		`{"queue":"mail","tags":[" blank "]}`:    "doubt",
		`{"queue":"mail","data":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`: "bad_request",
		`{"queue":"mail"`: "bad_request",
		``:                "bad_request",
	} {
		if code := codeOf(g.ask(a, "PUT", "/api/v1/jobs/new", body)); code != want {
			t.Errorf("%.60s: %q, want %q", body, code, want)
		}
	}
	if w := g.ask(a, "PUT", "/api/v1/jobs/new", `{"queue":"mail","klas":"x"}`); !strings.Contains(w.Body.String(), "did you mean klass?") {
		t.Errorf("a field that is misspelled: %s", w.Body)
	}
	wants(t, 201, g.ask(a, "PUT", "/api/v1/jobs/forced?force=1", `{"queue":"mail","depends":["nobody"]}`))
	wants(t, 201, g.ask(a, "PUT", "/api/v1/jobs/a%2Fb", `{"queue":"mail"}`))
	wants(t, 200, g.ask(a, "GET", "/api/v1/jobs/a%2Fb", ""))
	wants(t, 201, g.ask(a, "PUT", "/api/v1/jobs/_?name=..", `{"queue":"mail"}`))
	if text := wants(t, 200, g.ask(a, "GET", "/api/v1/jobs/%2e%2e", "")); field(t, text, "jid") != ".." {
		t.Errorf("the job .. is %s", text)
	}

	one := wants(t, 201, g.ask(a, "POST", "/api/v1/queues/mail/jobs", `{"data":1}`, "Idempotency-Key", "k1"))
	if again := wants(t, 200, g.ask(a, "POST", "/api/v1/queues/mail/jobs", `{"data":1}`, "Idempotency-Key", "k1")); field(t, one, "jid") != field(t, again, "jid") || len(field(t, one, "jid").(string)) != 32 {
		t.Errorf("by one key there are %s and %s", one, again)
	}
	other := wants(t, 201, g.ask(a, "POST", "/api/v1/queues/mail/jobs", `{"data":1}`, "Idempotency-Key", "k2"))
	if field(t, one, "jid") == field(t, other, "jid") {
		t.Error("two keys make one job")
	}
}

// A right to put into some queues is none to replace a job of another: not by one put, a list or a line of many.
func TestPutReplacesNoJobOfAnotherQueue(t *testing.T) {
	a, q := apart(t)
	write, g := as(t, "write"), as(t, "put:mail,put:post-*")
	for jid, name := range map[string]string{"theirs": "secret", "ours": "post-1"} {
		wants(t, 201, write.ask(a, "PUT", "/api/v1/jobs/"+jid, `{"queue":"`+name+`","delay":900,"data":{"n":1}}`))
	}
	const path = "/api/v1/queues/mail/jobs"
	for _, word := range []string{"replace", "final"} {
		body := `{"jid":"theirs","delay":900,"if_exists":"` + word + `"}`
		if text := wants(t, 403, g.ask(a, "POST", path, body)); field(t, text, "code") != "no_right" || strings.Contains(text, "secret") {
			t.Errorf("one put: %s", text)
		}
		for _, text := range []string{
			wants(t, 200, g.ask(a, "POST", path, "["+body+`,{"jid":"l-`+word+`"}]`)),
			wants(t, 200, g.ask(a, "POST", path, body+"\n"+`{"jid":"n-`+word+`"}`, "Content-Type", "application/x-ndjson")),
		} {
			if first, second, _ := strings.Cut(text, "\n"); !strings.Contains(first, `"no_right"`) || !strings.Contains(second, `"existed":false`) {
				t.Errorf("many: %s", text)
			}
		}
	}
	if job, err := q.Get(t.Context(), "theirs"); err != nil || job.Queue != "secret" || string(job.Data) != `{"n":1}` {
		t.Fatalf("%+v, %v", job, err)
	}
	wants(t, 200, g.ask(a, "POST", path, `{"jid":"ours","if_exists":"replace"}`))
	wants(t, 200, write.ask(a, "POST", path, `{"jid":"theirs","if_exists":"replace"}`))
	for _, jid := range []string{"ours", "theirs"} {
		if job, err := q.Get(t.Context(), jid); err != nil || job.Queue != "mail" {
			t.Errorf("%s: %+v, %v", jid, job, err)
		}
	}
}

// A job that is moved between the look at its queue and the put that would replace it is left alone; one that a put before it of the
// same request made, or moved, is not.
func TestPutReplacesNoJobThatWasMovedAway(t *testing.T) {
	a, q := apart(t)
	c := &Call{Who: Caller{Name: "ann", Put: []string{"mail", "post-*"}}, R: httptest.NewRequest("POST", "/", nil)}
	putAll := func(puts ...queue.Put) []queue.PutResult {
		t.Helper()
		results := must.Get(q.PutAll(t.Context(), puts))(t)
		return results
	}
	putAll(queue.Put{Queue: "post-1", JID: "j", Klass: "K"})
	puts := []queue.Put{{Queue: "mail", JID: "j", Klass: "K"}, {Queue: "mail", JID: "new", Klass: "K"}, {Queue: "post-2", JID: "new", Klass: "K"}, {Queue: "mail", JID: "new", Klass: "K", IfExists: queue.Final}}
	theirs, err := a.theirs(c, puts)
	if err != nil || slices.ContainsFunc(theirs, func(p *Problem) bool { return p != nil }) {
		t.Fatalf("%v, %v", theirs, err)
	}
	must.Do(t, q.Move(t.Context(), "j", "secret", 0))
	got := putAll(puts...)
	if p := problemOf(got[0].Err); p.Status != 409 || p.Code != "changed" || strings.Contains(p.Detail, "secret") {
		t.Errorf("one that was moved is answered by %+v", p)
	}
	if job, err := q.Get(t.Context(), "j"); err != nil || job.Queue != "secret" {
		t.Errorf("it is %+v, %v", job, err)
	}
	if got[1].Err != nil || got[2].Err != nil || !got[2].Replaced || !got[3].Existed {
		t.Errorf("of one request: %+v", got[1:])
	}
}

// What a put says of a job that was there is so, by one put and by a list, and a list says no less than a body of its own.
func TestWhatAPutIsAnswered(t *testing.T) {
	a, _ := apart(t)
	g := as(t, "write")
	const path = "/api/v1/queues/mail/jobs"
	wants(t, 201, g.ask(a, "POST", path, `{"jid":"j"}`))
	if text := wants(t, 200, g.ask(a, "POST", path, `{"jid":"j","if_exists":"replace"}`)); text != `{"jid":"j","existed":true,"replaced":true,"state":"waiting"}`+"\n" {
		t.Errorf("one that replaces: %s", text)
	}
	if text := wants(t, 200, g.ask(a, "POST", path, `[{"jid":"j","if_exists":"replace","delay":60},{"jid":"j"},{"jid":"k"}]`)); text != `{"jid":"j","existed":true,"replaced":true,"state":"waiting","line":1}`+"\n"+
		`{"jid":"j","existed":true,"state":"scheduled","line":2}`+"\n"+`{"jid":"k","existed":false,"line":3}`+"\n" {
		t.Errorf("many: %s", text)
	}
	for body, want := range map[string]string{"null": "a job is a JSON object, not a JSON null", `{"queue":"other"}`: "queue: it is another one than that of the path", " 5": "a job is a JSON object, not a JSON number"} {
		alone := wants(t, 400, g.ask(a, "POST", path, body))
		if detail := field(t, alone, "detail"); !strings.HasSuffix(detail.(string), want) {
			t.Errorf("%s alone: %s", body, alone)
		}
		for _, text := range []string{wants(t, 200, g.ask(a, "POST", path, "[{}, "+body+"]")), wants(t, 200, g.ask(a, "POST", path, "{}\n"+body+"\n", "Content-Type", "application/x-ndjson"))} {
			if _, second, _ := strings.Cut(text, "\n"); !strings.HasPrefix(second, `{"line":2,"problem"`) || !strings.Contains(second, want) {
				t.Errorf("%s among others: %s", body, text)
			}
		}
	}
	for body, want := range map[string][2]any{`[{},{"jid":"k"}]`: {"done", 1}, `[{"jid":"k"}]`: {"done", 0}, `[null, {"queue":"other"}]`: {"bad_request", 0}} {
		wants(t, 200, g.ask(a, "POST", path, body))
		if last := a.deeds.newest()[0]; last.Result != want[0] || last.Count != want[1] {
			t.Errorf("the audit says of %s: %+v", body, last)
		}
	}
	wants(t, 200, g.ask(a, "PUT", "/api/v1/jobs/k", `{"queue":"mail"}`))
	if last := a.deeds.newest()[0]; last.Count != 0 || last.Result != "done" {
		t.Errorf("the audit says of a put that changes nothing: %+v", last)
	}
}

// What a request says that nobody reads is refused, with what is meant perhaps: a coded body, a parameter, a field within another.
func TestWhatIsNotReadIsRefused(t *testing.T) {
	a, _ := apart(t)
	g := as(t, "write")
	for _, how := range []string{"gzip", "br, gzip"} {
		text := wants(t, 415, g.ask(a, "POST", "/api/v1/queues/mail/jobs", "\x1f\x8b", "Content-Encoding", how))
		if detail := field(t, text, "detail").(string); field(t, text, "code") != "media_type" || !strings.Contains(detail, "encoded as "+how) {
			t.Errorf("%s: %s", how, text)
		}
	}
	wants(t, 201, g.ask(a, "POST", "/api/v1/queues/mail/jobs", "{}", "Content-Encoding", "identity"))
	for path, want := range map[string]string{
		"/queues?mach=x":            "mach: there is no such parameter; did you mean match?",
		"/queues/mail/jobs?stat=up": "stat: there is no such parameter; did you mean state?",
		"/status?verbose":           "verbose: there is no such parameter",
	} {
		if text := wants(t, 400, g.ask(a, "GET", "/api/v1"+path, "")); field(t, text, "detail") != want {
			t.Errorf("%s: %s", path, text)
		}
	}
	wants(t, 400, g.ask(a, "POST", "/api/v1/queues/mail/jobs?forse=1", "{}"))
	wants(t, 201, g.ask(a, "POST", "/api/v1/queues/_/jobs?queue=mail", "{}"))
	if text := wants(t, 400, g.ask(a, "POST", "/api/v1/bulk", `{"action":"retry","where":{"grup":"g"}}`)); field(t, text, "detail") != "grup: there is no such field; did you mean group?" {
		t.Errorf("a field within another: %s", text)
	}
}

// A method that is not for a path is answered with those that are, all of them.
func TestMethodsOfAPath(t *testing.T) {
	a, _ := apart(t)
	g := as(t, "write")
	for path, want := range map[string][2]string{
		"/jobs/j":        {"GET, HEAD, PUT", "PATCH is not for this path; GET and PUT are"},
		"/queues/q/jobs": {"GET, HEAD, POST", "PATCH is not for this path; GET and POST are"},
		"/bulk":          {"POST", "PATCH is not for this path; POST is"},
		"/throttles/t":   {"GET, HEAD, PUT, DELETE", "PATCH is not for this path; GET, PUT and DELETE are"},
	} {
		w := g.ask(a, "PATCH", "/api/v1"+path, "")
		if text := wants(t, 405, w); w.Header().Get("Allow") != want[0] || field(t, text, "detail") != want[1] {
			t.Errorf("%s: Allow: %s; %s", path, w.Header().Get("Allow"), text)
		}
	}
}

// What an answer says of a request's fields and of a job is so.
func TestAnswersNameWhatIs(t *testing.T) {
	a, q := browsed(t)
	g := as(t, "write")
	if text := wants(t, 400, g.ask(a, "POST", "/api/v1/bulk", `{"action":"retry","where":{"group":"g"},"plan":"p"}`)); field(t, text, "field") != "plan" {
		t.Errorf("a plan of the wrong kind: %s", text)
	}
	if text := wants(t, 400, g.ask(a, "POST", "/api/v1/bulk", `{"action":"retry","where":{"group":5}}`)); field(t, text, "field") != "where.group" {
		t.Errorf("a group of the wrong kind: %s", text)
	}
	if text := wants(t, 400, g.ask(a, "GET", "/api/v1/tracked?limit=-1", "")); field(t, text, "detail") != "limit: -1 is no whole number from 0 on" {
		t.Errorf("a limit below zero: %s", text)
	}
	must.Do(t, q.Redis().Do(t.Context(), "HSET", "ql:j:over", "jid", "over", "klass", "k", "state", "complete", "queue", "", "data", "{}").Err())
	if text := wants(t, 409, g.ask(a, "POST", "/api/v1/jobs/over/retry", "")); field(t, text, "code") != "changed" {
		t.Errorf("a retry of what is complete: %s", text)
	}
}

// Of many lines each is answered, and bad ones cost no other its place.
func TestPutManyLines(t *testing.T) {
	a, q := apart(t)
	g := as(t, "put:mail,put:other")
	var body strings.Builder
	bad := 0
	for i := range 10_000 {
		switch {
		case i%100 == 3:
			body.WriteString("{\"data\": nonsense\n")
			bad++
		case i%100 == 5:
			body.WriteString("{\"queue\": \"forbidden\"}\n")
			bad++
		default:
			fmt.Fprintf(&body, "{\"jid\":\"j%d\",\"data\":%d}\n", i, i)
		}
	}
	for round := range 2 {
		text := wants(t, 200, g.ask(a, "POST", "/api/v1/queues/mail/jobs", body.String(), "Content-Type", "application/x-ndjson"))
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) != 10_000 {
			t.Fatalf("%d lines are answered", len(lines))
		}
		wrong := 0
		for i, line := range lines {
			var said struct {
				JID     string
				Existed bool
				Line    int
				Problem *Problem
			}
			if err := json.Unmarshal([]byte(line), &said); err != nil || said.Line != i+1 {
				t.Fatalf("line %d: %s, %v", i+1, line, err)
			}
			switch {
			case said.Problem != nil:
				wrong++
			case said.JID != fmt.Sprintf("j%d", i) || said.Existed != (round == 1):
				t.Fatalf("line %d: %s", i+1, line)
			}
		}
		if wrong != bad {
			t.Errorf("%d lines are refused, of %d that are bad", wrong, bad)
		}
	}
	if n, err := q.Queue(t.Context(), "mail"); err != nil || n.Waiting != 10_000-bad {
		t.Errorf("%d jobs wait, %v", n.Waiting, err)
	}
	text := wants(t, 200, g.ask(a, "POST", "/api/v1/queues/mail/jobs", ` [{"jid":"l1","data":[1, 2]}, 3, {"jid":"l2"}]`))
	if n := strings.Count(text, "\n"); n != 3 || !strings.Contains(text, `"jid":"l2"`) || !strings.Contains(text, `"line":2,"problem"`) {
		t.Errorf("a list is answered by %s", text)
	}
	if job, err := q.Get(t.Context(), "l1"); err != nil || string(job.Data) != "[1, 2]" {
		t.Errorf("its data is %s, %v", job.Data, err)
	}
	if code := codeOf(g.ask(a, "POST", "/api/v1/queues/mail/jobs", "", "Content-Type", "application/x-ndjson")); code != "bad_request" {
		t.Errorf("no line at all: %q", code)
	}
	if code := codeOf(g.ask(a, "POST", "/api/v1/queues/nope/jobs", "{}")); code != "no_right" {
		t.Errorf("into a queue that is another's: %q", code)
	}
}

// What is done to a job is done as it was seen, tells of the job as it is then, and stands in its history.
func TestJobDeeds(t *testing.T) {
	a, q := apart(t)
	g, ctx := as(t, "write"), t.Context()
	must.Get(q.Put(ctx, queue.Put{Queue: "mail", JID: "j", Klass: "Send", Data: []byte(`{"password":"s3cr3t","to":"ann"}`)}))(t)
	w := g.ask(a, "GET", "/api/v1/jobs/j", "")
	tag := w.Header().Get("ETag")
	if text := wants(t, 200, w); strings.Contains(text, "s3cr3t") || field(t, text, "redacted") != true || tag == "" {
		t.Errorf("it says %s, tag %s", text, tag)
	}
	post := func(verb, body string, headers ...string) *httptest.ResponseRecorder {
		return g.ask(a, "POST", "/api/v1/jobs/j/"+verb, body, headers...)
	}
	if text := wants(t, 200, post("priority", `{"priority": 7}`, "If-Match", tag)); field(t, text, "priority") != 7.0 || !strings.Contains(text, "change priority of job, by anna") {
		t.Errorf("priority says %s", text)
	}
	if text := wants(t, 200, post("move", `{"queue":"other"}`, "If-Match", tag)); field(t, text, "queue") != "other" {
		t.Errorf("move says %s", text)
	}
	if code := codeOf(post("move", `{"queue":"third"}`, "If-Match", tag)); code != "changed" {
		t.Errorf("move of one that was moved: %q", code)
	}
	if text := wants(t, 200, post("tags", `{"add":["a","b"],"remove":["b"]}`)); fmt.Sprint(field(t, text, "tags")) != "[a]" {
		t.Errorf("tags says %s", text)
	}
	if text := wants(t, 200, post("track", ``)); field(t, text, "tracked") != true {
		t.Errorf("track says %s", text)
	}
	wants(t, 200, post("note", `{"message":"looked into it"}`))
	if text := wants(t, 200, g.ask(a, "GET", "/api/v1/jobs/j/history", "")); !strings.Contains(text, "looked into it") {
		t.Errorf("the history says %s", text)
	}
	for verb, want := range map[string]string{"timeout": "changed", "depends": "changed", "note": "bad_request", "priority": "bad_request", "tags": "bad_request"} {
		if code := codeOf(post(verb, `{}`)); code != want {
			t.Errorf("%s: %q, want %q", verb, code, want)
		}
	}
	jobs, err := q.Pop(ctx, "other", "w1", 1)
	if err != nil || len(jobs) != 1 {
		t.Fatal(jobs, err)
	}
	for _, verb := range []string{"retry", "move"} {
		if code := codeOf(post(verb, `{"queue":"x"}`)); code != "changed" {
			t.Errorf("%s of one that runs: %q", verb, code)
		}
	}
	if text := wants(t, 200, g.ask(a, "GET", "/api/v1/queues/other/jobs?state=running", "")); !strings.Contains(text, `"jid":"j"`) || strings.Contains(text, "s3cr3t") {
		t.Errorf("what runs is %s", text)
	}
	must.Do(t, q.Fail(ctx, "j", "w1", "broken", "password=s3cr3t is wrong"))
	if text := wants(t, 200, g.ask(a, "GET", "/api/v1/jobs/j?wait=30", "")); field(t, text, "state") != "failed" {
		t.Errorf("waited for the end: %s", text)
	}
	for _, path := range []string{"/failures", "/failures/broken", "/jobs/j/why", "/jobs/j/history"} {
		if text := wants(t, 200, g.ask(a, "GET", "/api/v1"+path, "")); strings.Contains(text, "s3cr3t") {
			t.Errorf("%s says %s", path, text)
		}
	}
	if text := wants(t, 200, post("retry", ``)); field(t, text, "state") != "waiting" {
		t.Errorf("retry says %s", text)
	}
	if text := wants(t, 200, post("cancel", ``)); field(t, text, "state") != "gone" {
		t.Errorf("cancel says %s", text)
	}
	for _, path := range []string{"", "/why", "/history", "/record"} {
		if code := codeOf(g.ask(a, "GET", "/api/v1/jobs/j"+path, "")); code != "no_such_job" {
			t.Errorf("%s of one that is gone: %q", path, code)
		}
	}
	if code := codeOf(post("retry", ``)); code != "no_such_job" {
		t.Errorf("retry of one that is gone: %q", code)
	}
}

// Every list and view can be read, and what can be changed beside jobs is.
func TestReadsAndSettings(t *testing.T) {
	a, q := apart(t)
	g, ctx := as(t, "write"), t.Context()
	for i := range 60 {
		must.Get(q.Put(ctx, queue.Put{Queue: fmt.Sprintf("q%02d", i), Klass: "k", Tags: []string{"t"}, Throttles: []string{"lic"}}))(t)
	}
	api := func(method, path, body string) *httptest.ResponseRecorder {
		return g.ask(a, method, "/api/v1"+path, body)
	}
	text := wants(t, 200, api("GET", "/queues?limit=40", ""))
	if field(t, text, "total") != 60.0 || len(field(t, text, "items").([]any)) != 40 {
		t.Errorf("a page of queues: %s", text)
	}
	if text = wants(t, 200, api("GET", "/queues?sort=lag&cursor="+field(t, text, "next").(string), "")); len(field(t, text, "items").([]any)) != 20 || field(t, text, "next") != nil {
		t.Errorf("the second: %s", text)
	}
	if text = wants(t, 200, api("GET", "/queues?match=q0*&match=q59", "")); field(t, text, "total") != 11.0 {
		t.Errorf("some: %s", text)
	}
	if text = wants(t, 200, api("POST", "/queues/q00/pause", "")); field(t, text, "paused") != true {
		t.Errorf("pause says %s", text)
	}
	if text = wants(t, 200, api("POST", "/queues/q00/resume", "")); field(t, text, "paused") != false {
		t.Errorf("resume says %s", text)
	}
	if text = wants(t, 200, api("POST", "/queues/q00/limit", `{"limit":3}`)); field(t, text, "limit") != 3.0 {
		t.Errorf("limit says %s", text)
	}
	wants(t, 200, api("POST", "/queues/q00/forget", ""))
	if text = wants(t, 200, api("PUT", "/throttles/lic", `{"maximum":2}`)); field(t, text, "maximum") != 2.0 {
		t.Errorf("throttle says %s", text)
	}
	wants(t, 200, api("DELETE", "/throttles/lic", ""))
	if text = wants(t, 200, api("PUT", "/settings/heartbeat", `{"value":"30"}`)); field(t, text, "heartbeat") != "30" {
		t.Errorf("setting says %s", text)
	}
	wants(t, 200, api("DELETE", "/settings/heartbeat", ""))
	for jid, body := range map[string]string{
		"night": `{"jid":"night","queue":"mail","cron":"0 4 * * *","zone":"Europe/Berlin","data":{"password":"s3cr3t"}}`, "hourly": `{"jid":"hourly","queue":"mail","every":3600}`,
	} {
		if text = wants(t, 201, api("POST", "/recurring", body)); field(t, text, "jid") != jid || strings.Contains(text, "s3cr3t") {
			t.Errorf("recurring says %s", text)
		}
		if text = wants(t, 200, api("PATCH", "/recurring/"+jid, `{"klass":"Other","tag":["x"]}`)); field(t, text, "klass") != "Other" {
			t.Errorf("change says %s", text)
		}
		if text = wants(t, 200, api("GET", "/recurring", "")); !strings.Contains(text, `"jid":"`+jid+`"`) || strings.Contains(text, "s3cr3t") {
			t.Errorf("the list says %s", text)
		}
	}
	wants(t, 200, api("PATCH", "/recurring/night", `{"paused":true}`))
	wants(t, 200, api("DELETE", "/recurring/night", ""))
	must.Get(q.Pop(ctx, "q01", "w1", 1))(t)
	for _, path := range []string{
		"/", "/status", "/pools", "/pools/mail", "/queues/q01", "/queues/q01/stats", "/queues/q01/jobs", "/tracked", "/completed", "/tags", "/tags/t", "/workers", "/workers/w1",
		"/throttles", "/settings", "/stats", "/audit", "/recurring/hourly", "/failures",
	} {
		if text := wants(t, 200, api("GET", path, "")); !json.Valid([]byte(text)) {
			t.Errorf("%s: %s", path, text)
		}
	}
	wants(t, 200, api("DELETE", "/workers/w1", ""))
	for path, want := range map[string]string{
		"GET /queues/nope": "no_such_queue", "GET /queues/nope/jobs": "no_such_queue", "GET /queues/nope/stats": "no_such_queue", "POST /queues/nope/resume": "no_such_queue",
		"POST /queues/nope/pause": "doubt", "GET /queues/q01/jobs?state=x": "bad_request", "GET /queues/q01/jobs?cursor=x": "bad_request", "GET /queues?sort=x": "bad_request",
		"GET /queues?cursor=x": "bad_request", "GET /queues/q01/jobs?limit=x": "bad_request", "GET /queues/q01/stats?day=x": "bad_request", "GET /jobs/j?wait=61": "bad_request",
		"GET /jobs/j?until=x": "bad_request", "GET /recurring/nope": "no_such_job", "DELETE /recurring/nope": "no_such_job", "PATCH /recurring/nope": "no_such_job",
		"GET /throttles/nope": "no_such_throttle", "DELETE /throttles/nope": "no_such_throttle", "GET /workers/nope": "no_such_worker", "DELETE /workers/nope": "no_such_worker", "POST /recurring": "bad_request",
		"PUT /settings/x": "bad_request", "PUT /throttles/x": "bad_request", "GET /pools/nope": "no_such_pool", "GET /nothing": "not_found",
	} {
		method, path, _ := strings.Cut(path, " ")
		if code := codeOf(api(method, path, "")); code != want {
			t.Errorf("%s %s: %q, want %q", method, path, code, want)
		}
	}
}

// Many jobs are changed by a plan, which changes nothing itself.
func TestBulk(t *testing.T) {
	a, q := apart(t)
	g, ctx := as(t, "write"), t.Context()
	for i := range 5 {
		jid := fmt.Sprintf("j%d", i)
		must.Get(q.Put(ctx, queue.Put{Queue: "mail", JID: jid, Klass: "Send", Data: []byte(`{"password":"s3cr3t"}`)}))(t)
	}
	jobs, err := q.Pop(ctx, "mail", "w1", 5)
	if err != nil || len(jobs) != 5 {
		t.Fatal(jobs, err)
	}
	for _, job := range jobs {
		must.Do(t, q.Fail(ctx, job.JID, "w1", "broken", "no"))
	}
	const what = `{"action":"retry","where":{"group":"broken"}`
	plan := wants(t, 200, g.ask(a, "POST", "/api/v1/bulk", what+`}`))
	if field(t, plan, "count") != 5.0 || strings.Contains(plan, "s3cr3t") {
		t.Errorf("the plan is %s", plan)
	}
	if text := wants(t, 200, g.ask(a, "GET", "/api/v1/search?q=group:broken", "")); strings.Count(text, `"state":"failed"`) != 5 || strings.Contains(text, "s3cr3t") {
		t.Errorf("the search finds %s", text)
	}
	if text := wants(t, 200, g.ask(a, "GET", "/api/v1/search?q=j3", "")); !strings.Contains(text, "j3") {
		t.Errorf("the search finds %s", text)
	}
	held := must.Get(json.Marshal(field(t, plan, "plan")))(t)
	done := wants(t, 200, g.ask(a, "POST", "/api/v1/bulk", what+`,"dry_run":false,"plan":`+string(held)+`}`))
	if field(t, done, "done") != 5.0 || field(t, done, "left") != 0.0 {
		t.Errorf("done is %s", done)
	}
	for body, want := range map[string]string{`{}`: "bad_request", what + `,"dry_run":false}`: "bad_request", `{"action":"retry","were":{}}`: "bad_request"} {
		if code := codeOf(g.ask(a, "POST", "/api/v1/bulk", body)); code != want {
			t.Errorf("%s: %q", body, code)
		}
	}
	for body, want := range map[string]string{`{"actoin":"retry"}`: "action", `{"action":"retry","where":{"gruop":"x"}}`: "group", `{"action":"retry","plan":{"untill":1}}`: "until"} {
		if w := g.ask(a, "POST", "/api/v1/bulk", body); !strings.Contains(w.Body.String(), "did you mean "+want+"?") {
			t.Errorf("a field that is misspelled: %s", w.Body)
		}
	}
	if code := codeOf(g.ask(a, "GET", "/api/v1/search", "")); code != "bad_request" {
		t.Errorf("a search for nothing: %q", code)
	}
}

// Looking changes nothing: after all pages and all of the API that can be read was read, in a world where something of each kind is due, has
// run out, or is old enough to be pruned, no command was run that may write, by scripts neither, and the key space is the same, byte for byte.
func TestReadingNeverWrites(t *testing.T) {
	a, q := browsedOn(t, redistest.Start(t))
	g, ctx, raw := as(t, "read"), t.Context(), q.Redis()
	for _, command := range [][]any{
		{"HSET", "ql:j:j", "expires", 1000}, {"ZADD", "ql:q:mail-locks", 1000, "j"}, // a lock that ran out
		{"ZADD", "ql:q:mail-scheduled", 1000, "later"}, {"ZADD", "ql:q:mail-recur", 1000, "r"}, // due
		{"HSET", "ql:s:stats:86400:mail", "failures", 3}, {"ZADD", "ql:workers", 1000, "long-gone"},
		{"HSET", "ql:j:old", "jid", "old", "klass", "k", "state", "complete", "queue", "", "data", "{}"}, {"ZADD", "ql:completed", 1000, "old"},
	} {
		if err := raw.Do(ctx, command...).Err(); err != nil {
			t.Fatal(command, err)
		}
	}
	before, wrote := dump(t, q), writes(t, q)
	asked := 0
	for _, route := range a.Routes() {
		if route.Method == "GET" && !route.Stream {
			g.ask(a, "GET", filled(route.Path), "")
			asked++
		}
	}
	if after := dump(t, q); !bytes.Equal(before, after) {
		t.Errorf("the keys are others than before:\n%s\n%s", before, after)
	}
	if now := writes(t, q); !maps.Equal(wrote, now) || len(wrote) == 0 || asked < 80 {
		t.Errorf("%d routes were asked, and commands that may write were run: %v, before: %v", asked, now, wrote)
	}
}

// writes counts the commands that a Redis has run and that may write, those of scripts too.
func writes(t *testing.T, q *queue.Client) map[string]string {
	t.Helper()
	commands := must.Get(q.Redis().Command(t.Context()).Result())(t)
	told := must.Get(q.Redis().Info(t.Context(), "commandstats").Result())(t)
	counts := map[string]string{}
	for line := range strings.Lines(told) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
		if c := commands[name]; c != nil && slices.Contains(c.Flags, "write") {
			counts[name], _, _ = strings.Cut(rest, ",")
		}
	}
	return counts
}

// dump is all that is in a Redis.
func dump(t *testing.T, q *queue.Client) []byte {
	t.Helper()
	redis := q.Redis()
	keys, err := redis.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, key := range keys {
		if values[key], err = redis.Dump(t.Context(), key).Result(); err != nil {
			t.Fatal(err)
		}
	}
	text := must.Get(json.Marshal(values))(t)
	return text
}

// A job that parked is answered once, by whoever has the right; JSON is kept byte for byte, and a text is a JSON string.
func TestAnswers(t *testing.T) {
	a, q := apart(t)
	g := as(t, "respond:Pay,read")
	s := q.Session("w")
	defer s.Close()
	const path = "/api/v1/respond/Pay/order%2017%2Fa"
	var told []string
	a.o.Hub = hub.New(hub.Options{Events: []func(supervisor.Event){func(e supervisor.Event) {
		told = append(told, strings.TrimSpace(fmt.Sprint(e.Kind, " ", e.Klass, " ", e.Name, " ", e.Reason, " ", e.JID)))
	}}})
	park := func(jid string) queue.Taken {
		t.Helper()
		must.Get(q.PutAll(t.Context(), []queue.Put{{Queue: "mail", JID: jid, Klass: "Pay"}}))(t)
		reply, err := s.Exchange(t.Context(), nil, queue.Take{Queues: []string{"mail"}, Count: 1})
		if err != nil || len(reply.Jobs) != 1 {
			t.Fatalf("took %+v: %v", reply.Jobs, err)
		}
		job := reply.Jobs[0]
		reply, err = s.Exchange(t.Context(), []queue.Settlement{{JID: jid, Queue: "mail", Popped: job.Popped, Action: queue.Park,
			Correlation: "order 17/a", Delay: 3600e9}}, queue.Take{Queues: []string{"mail"}, Count: 1})
		if err != nil || reply.Results[0].Err != nil {
			t.Fatal(err, reply.Results)
		}
		if len(reply.Jobs) == 1 {
			return reply.Jobs[0]
		}
		return queue.Taken{}
	}
	if text := wants(t, 202, g.ask(a, "POST", path, `{ "paid": 12345678901234567890 }`)); text != `{"word":"kept"}`+"\n" {
		t.Errorf("before there is a job, the answer is %s", text)
	}
	wants(t, 404, g.ask(a, "GET", "/api/v1/parked/Pay/order%2017%2Fa", ""))
	if job := park("j"); job.Answer == nil || string(job.Answer.Data) != `{ "paid": 12345678901234567890 }` {
		t.Errorf("it was told %+v", job.Answer)
	}
	if text := wants(t, 200, g.ask(a, "POST", path, `2`)); text != `{"word":"again","jid":"j"}`+"\n" {
		t.Errorf("then the answer is %s", text)
	}
	must.Do(t, q.Cancel(t.Context(), "j"))
	park("k")
	if text := wants(t, 200, g.ask(a, "GET", "/api/v1/parked/Pay/order%2017%2Fa", "")); field(t, text, "state") != "parked" || field(t, text, "jid") != "k" {
		t.Errorf("who waits is %s", text)
	}
	if text := wants(t, 200, g.ask(a, "POST", path+"?jid=j", `2`)); text != `{"word":"late","jid":"k"}`+"\n" {
		t.Errorf("to a job before, the answer is %s", text)
	}
	wants(t, 403, as(t, "read").ask(a, "POST", path, "1"))
	wants(t, 400, g.ask(a, "POST", path, "{"))
	wants(t, 400, g.ask(a, "POST", path+"?end=soon", "1"))
	wants(t, 413, g.ask(a, "POST", path, `"`+strings.Repeat("x", queue.MaxResponse)+`"`))
	if text := wants(t, 202, g.ask(a, "POST", path+"?end=fail", "1")); text != `{"word":"resumed","jid":"k"}`+"\n" {
		t.Errorf("while it waits, the answer is %s", text)
	}
	want := []string{"answered Pay order 17/a kept", "answered Pay order 17/a again j", "answered Pay order 17/a late k", "answered Pay order 17/a resumed k"}
	if !slices.Equal(told, want) {
		t.Errorf("told is %q, want %q", told, want)
	}
}
