package web

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"oarlock/internal/redistest"
	"oarlock/queue"
	"oarlock/supervisor"
)

// browsed is an App with pages, on a Redis of its own in which there is something of everything, also by names that
// nobody would choose.
func browsed(t *testing.T) (*App, *queue.Client, *redistest.Server) {
	t.Helper()
	server := redistest.Start(t)
	q, err := queue.Open(t.Context(), queue.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	none := 0
	for _, p := range []queue.Put{
		{Queue: "mail", JID: "j", Klass: "Send", Tags: []string{"t", "u"}, Data: []byte(`{"password":"hunter2","to":"ann"}`)}, {Queue: "mail", JID: "later", Klass: "Send", Delay: 1e12},
		{Queue: "mail", JID: "d", Klass: "Send", Depends: []string{"j"}, Tags: []string{"t"}}, {Queue: odd, JID: odd, Klass: odd, Tags: []string{odd}}, {Queue: "..", JID: "..", Klass: "k"},
		{Queue: "bad", JID: "f", Klass: "Resize", Retries: &none}, {Queue: "mail", JID: "throttled", Klass: "Send", Throttles: []string{"api"}},
	} {
		_, err := q.Put(ctx, p)
		must(err)
	}
	_, err = q.Pop(ctx, "bad", "web2-4711-mail-1", 1)
	must(err)
	must(q.Fail(ctx, "f", "web2-4711-mail-1", "exit-1", "cannot open <cat>.jpg"))
	_, err = q.Pop(ctx, "mail", "web2-4711-mail-1", 1)
	must(err)
	_, err = q.Recur(ctx, queue.Recurring{Queue: "mail", JID: "r", Klass: "k", Interval: 1e9})
	must(err)
	must(q.SetThrottle(ctx, queue.Throttle{ID: "api", Maximum: 1}))
	_, err = q.Track(ctx, "j")
	must(err)
	sup := aSupervisor()
	sup.shot.Pools[0].Slots = []supervisor.SlotSnapshot{{Slot: 0, State: "busy", PID: 4711, Runs: []supervisor.RunSnapshot{{JID: "j", Klass: "Send", Queue: "mail", Run: "r", Attempt: 1}}}}
	return New(Options{Redis: q, Supervisor: sup, Log: slog.New(slog.DiscardHandler), Version: "v1", Census: counting(t, q)}), q, server
}

// odd is a name that nobody would choose.
const odd = "a/b <i>\n\u202e%2f?#"

// inputs are fields, which send back what they were given.
var inputs = regexp.MustCompile(`<input[^>]*>`)

// browse asks as a browser does.
func (g guest) browse(a *App, method, path, form string) (int, string, http.Header) {
	w := g.ask(a, method, path, form, "Accept", "text/html", "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
	return w.Code, w.Body.String(), w.Header()
}

// everyPage are the pages of what browsed has put, by the patterns of their routes.
var everyPage = map[string][]string{
	"/{$}": {"/"}, "/supervisors": {"/supervisors"}, "/help": {"/help"}, "/audit": {"/audit"}, "/pools": {"/pools"}, "/pools/{pool}": {"/pools/mail"}, "/pools/{pool}/{slot}": {"/pools/mail/0"},
	"/queues": {"/queues", "/queues?sort=name&match=m*"}, "/queues/{queue}": {"/queues/mail", "/queues/mail?state=scheduled", "/queues/mail?state=depends", "/queues/" + url.PathEscape(odd), "/queues/_?name=.."},
	"/queues/{queue}/stats": {"/queues/mail/stats", "/queues/mail/stats?day=2026-01-31"}, "/failures": {"/failures"}, "/failures/{group}": {"/failures/exit-1", "/failures/exit-1?klass=R*&since=2h", "/failures/none"}, "/dead": {"/dead"},
	"/jobs/{jid}": {"/jobs/j", "/jobs/later", "/jobs/d", "/jobs/f", "/jobs/throttled", "/jobs/" + url.PathEscape(odd), "/jobs/_?name=.."}, "/recurring": {"/recurring"}, "/recurring/{jid}": {"/recurring/r"},
	"/workers": {"/workers"}, "/workers/{worker}": {"/workers/web2-4711-mail-1"}, "/tags": {"/tags"}, "/tags/{tag}": {"/tags/t", "/tags/" + url.PathEscape(odd)}, "/tracked": {"/tracked"}, "/completed": {"/completed"},
	"/throttles": {"/throttles"}, "/throttles/{throttle}": {"/throttles/api"}, "/search": {"/search", "/search?q=j", "/search?q=queue%3Amail+state%3Awaiting", "/search?q=tag%3A", "/search?q=" + url.QueryEscape(odd)},
	"/settings": {"/settings"}, "/events": {"/events"},
}

// Every page shows what there is, within its size, and a look at all of them changes no byte in Redis.
func TestPages(t *testing.T) {
	a, q, _ := browsed(t)
	g := as(t, "write")
	before := dump(t, q)
	for _, v := range a.views() {
		paths := everyPage[v.path]
		if len(paths) == 0 {
			t.Errorf("no test looks at %s", v.path)
		}
		for _, path := range paths {
			code, text, header := g.browse(a, "GET", path, "")
			if code != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), "text/html") {
				t.Errorf("%s: %d %.300s", path, code, text)
			}
			if len(text) > 100<<10 {
				t.Errorf("%s has %d bytes", path, len(text))
			}
			if seen := inputs.ReplaceAllString(text, ""); strings.Contains(text, "<i>") || strings.Contains(seen, "\u202e") {
				t.Errorf("%s shows a name as it is", path)
			}
		}
	}
	if after := dump(t, q); !bytes.Equal(before, after) {
		t.Errorf("the keys are others than before:\n%s\n%s", before, after)
	}
	for path, want := range map[string]string{
		"/jobs/f": "cannot open &lt;cat&gt;.jpg", "/jobs/d": "It waits for j", "/failures/exit-1": "cannot open", "/queues": "mail", "/jobs/nobody": "There is no job nobody",
		"/pools/nobody": "there is no pool nobody", "/nothing": "there is nothing at /nothing", "/search?q=j": `href="/jobs/j"`,
	} {
		if _, text, _ := g.browse(a, "GET", path, ""); !strings.Contains(strings.ToLower(text), strings.ToLower(want)) {
			t.Errorf("%s does not say %q: %.2000s", path, want, text)
		}
	}
}

// Who may only look is offered nothing that would be refused.
func TestPagesForLookingOnly(t *testing.T) {
	a, _, _ := browsed(t)
	g := as(t, "read")
	for _, paths := range everyPage {
		for _, path := range paths {
			code, text, _ := g.browse(a, "GET", path, "")
			if code != http.StatusOK || strings.Contains(text, `method="post"`) {
				t.Errorf("%s: %d, and a form that changes something: %t", path, code, strings.Contains(text, `method="post"`))
			}
		}
	}
}

// A deed is done once, leads back, and is said there once; what cannot be done is a page with a reason.
func TestDeedsOfPages(t *testing.T) {
	a, q, _ := browsed(t)
	g := as(t, "write")
	code, _, header := g.browse(a, "POST", "/queues/mail/pause", "")
	if code != http.StatusSeeOther || header.Get("Location") != "/queues/mail" {
		t.Fatalf("%d %s", code, header.Get("Location"))
	}
	if counts, err := q.Queue(t.Context(), "mail"); err != nil || !counts.Paused {
		t.Errorf("it is not paused: %+v %v", counts, err)
	}
	told := header.Get("Set-Cookie")
	told = told[:strings.IndexByte(told, ';')]
	w := g.ask(a, "GET", "/queues/mail", "", "Accept", "text/html", "Cookie", told)
	if !strings.Contains(w.Body.String(), "Done: queue mail is paused") || !strings.Contains(w.Header().Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("it is not said: %.300s %v", w.Body, w.Header())
	}
	for path, test := range map[string]struct {
		form string
		code int
		says string
	}{
		"/jobs/j/move":          {"to=", 400, "the queue is empty"},
		"/jobs/j/priority":      {"priority=high", 400, "no number"},
		"/jobs/nobody/retry":    {"", 404, "there is no job nobody"},
		"/jobs/later/take-back": {"", 404, "is not running"},
		"/queues/mail/limit":    {"limit=-1", 400, "no number of jobs"},
		"/queues/mail/put":      {"klass=Send&data=%7B", 400, "no JSON"},
		"/pools/mail/scale":     {"children=x", 400, "no number of children"},
		"/pools/none/recycle":   {"", 404, "there is no pool none"},
		"/bulk":                 {"action=explode&group=x", 400, "is none"},
		"/bulk/do":              {"action=retry&group=x", 400, "count again"},
	} {
		code, text, _ := g.browse(a, "POST", path, test.form)
		if code != test.code || !strings.Contains(strings.ToLower(text), strings.ToLower(test.says)) {
			t.Errorf("%s with %s: %d, want %d and %q: %s", path, test.form, code, test.code, test.says, mainOf(text))
		}
	}
}

// mainOf is what a page says.
func mainOf(page string) string {
	_, text, _ := strings.Cut(page, "<main")
	return fmt.Sprintf("%.600s", text)
}

// While Redis is away a page shows what it knew, says so and offers nothing; of what was never seen it says that.
func TestPagesWhileRedisIsAway(t *testing.T) {
	a, _, server := browsed(t)
	g := as(t, "write")
	if code, text, _ := g.browse(a, "GET", "/queues/mail", ""); code != http.StatusOK {
		t.Fatalf("%d %.300s", code, text)
	}
	server.Kill()
	code, text, _ := g.browse(a, "GET", "/queues/mail", "")
	if code != http.StatusOK || !strings.Contains(text, "Redis does not answer now") || !strings.Contains(text, "as of ") || !strings.Contains(text, "<fieldset class=\"bare stale\" disabled>") {
		t.Errorf("%d %s", code, mainOf(text))
	}
	if code, text, _ := g.browse(a, "GET", "/failures", ""); code != http.StatusServiceUnavailable || !strings.Contains(text, "Redis does not answer") {
		t.Errorf("%d %s", code, mainOf(text))
	}
	if code, text, _ := g.browse(a, "POST", "/queues/mail/pause", ""); code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", code, mainOf(text))
	}
	if code, _, _ := g.browse(a, "GET", "/pools/mail", ""); code != http.StatusOK {
		t.Errorf("the page of a pool, which needs no Redis: %d", code)
	}
}
