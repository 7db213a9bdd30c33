package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"oarlock/internal/accord"
	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/internal/rules"
	"oarlock/queue"
	"oarlock/supervisor"
)

// browsed is an App with pages, on a database of its own in which there is something of everything, also by names that
// nobody would choose.
func browsed(t *testing.T) (*App, *queue.Client) {
	t.Helper()
	return browsedOn(t, redistest.Shared(t))
}

// browsedOn is one on a server that may be the test's own.
func browsedOn(t *testing.T, server *redistest.Server) (*App, *queue.Client) {
	t.Helper()
	t.Parallel()
	q := opened(t, server)
	ctx := t.Context()
	none := 0
	for _, p := range []queue.Put{
		{Queue: "mail", JID: "j", Klass: "Send", Tags: []string{"t", "u"}, Data: []byte(`{"password":"hunter2","to":"ann"}`)}, {Queue: "mail", JID: "later", Klass: "Send", Delay: 1e12},
		{Queue: "mail", JID: "d", Klass: "Send", Depends: []string{"j"}, Tags: []string{"t"}}, {Queue: odd, JID: odd, Klass: odd, Tags: []string{odd}}, {Queue: "..", JID: "..", Klass: "k"},
		{Queue: "bad", JID: "f", Klass: "Resize", Retries: &none}, {Queue: "mail", JID: "throttled", Klass: "Send", Throttles: []string{"api"}},
	} {
		must.Get(q.Put(ctx, p))(t)
	}
	must.Get(q.Pop(ctx, "bad", "web2-4711-mail-1", 1))(t)
	must.Do(t, q.Fail(ctx, "f", "web2-4711-mail-1", "exit-1", "cannot open <cat>.jpg"))
	must.Get(q.Pop(ctx, "mail", "web2-4711-mail-1", 1))(t)
	must.Get(q.Recur(ctx, queue.Recurring{Queue: "mail", JID: "r", Klass: "k", Interval: 1e9}))(t)
	must.Do(t, q.SetThrottle(ctx, queue.Throttle{ID: "api", Maximum: 1}))
	must.Get(q.Track(ctx, "j"))(t)
	parks(t, q, "pay", "p", "order-17")
	for i, key := range []string{"c", "c", "c", "a/b <i>"} {
		must.Get(q.Put(ctx, queue.Put{Queue: "ordered", JID: fmt.Sprint("k", i), Klass: "Ship", Key: key}))(t)
	}
	rulesAndLists(t, q)
	sup := aSupervisor()
	sup.shot.Pools[0].Slots = []supervisor.SlotSnapshot{{Slot: 0, State: "busy", PID: 4711, Runs: []supervisor.RunSnapshot{{JID: "j", Klass: "Send", Queue: "mail", Run: "r", Attempt: 1}}}}
	return New(Options{Redis: q, Supervisor: sup, Log: slog.New(slog.DiscardHandler), Version: "v1", Census: counting(t, q), Rules: someRules, Others: aFleet()}), q
}

// rulesAndLists installs rules by which jobs wait, and fills a list with entries of each part.
func rulesAndLists(t *testing.T, q *queue.Client) {
	t.Helper()
	ctx := t.Context()
	region, one, night := rules.DefaultThrottle(), rules.DefaultThrottle(), rules.Window{Zone: "Europe/Berlin", Open: []string{"22:00-06:00"}}
	region.Limit, region.By, region.Shares, region.Others = 10, "/region", map[string]string{odd: "40%"}, "60%"
	one.Limit, one.Rate = 1, "100/10s"
	ruled := rules.DefaultQueue()
	ruled.Throttles = []string{"one", "region"}
	nightly := rules.DefaultQueue()
	nightly.Windows = []string{"night"}
	set := rules.Set{
		Throttles: map[string]rules.Throttle{"region": region, "one": one}, Windows: map[string]rules.Window{"night": night}, Queues: map[string]rules.Queue{"ruled": ruled, "nightly": nightly},
		Klass: map[string]rules.Klass{"Night*": {Queues: []string{"ruled"}, Weight: 1, Windows: []string{"night"}}},
	}
	doc, _ := rules.Document{}.Agree(rules.File{Owner: "web1:" + odd, Set: set}, true)
	must.Get(q.InstallRules(ctx, "", accord.New(doc, set, q.Now())))(t)
	for i := range 3 {
		data, _ := json.Marshal(map[string]string{"region": []string{odd, "x"}[i%2]})
		must.Get(q.Put(ctx, queue.Put{Queue: "ruled", JID: fmt.Sprint("r", i), Klass: "Send", Data: data}))(t)
	}
	must.Get(q.Put(ctx, queue.Put{Queue: "nightly", JID: "night", Klass: "Send"}))(t)
	session := q.Session("w2")
	defer session.Close()
	if reply, err := session.Exchange(ctx, nil, queue.Take{Queues: []string{"ruled"}, Count: 3}); err != nil || len(reply.Jobs) != 1 {
		t.Fatalf("%+v, %v", reply.Jobs, err)
	}
	redis := q.Redis()
	for _, err := range []error{
		redis.LPush(ctx, "hworker-jobs-pics", `["a",{"password":"hunter2"}]`, odd).Err(), redis.HSet(ctx, "hworker-broken-pics", odd, "x").Err(),
		redis.LPush(ctx, "hworker-failed-pics", `["c",{"n":3}]`).Err(), redis.HSet(ctx, "hworker-progress-pics", `["d",4]`, `"2026-01-01T00:00:00.5Z"`).Err(),
		redis.HSet(ctx, "ql:oarlock:broken:"+odd, "x", "y").Err(), // else who may only look does not see the list of that name
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// parks puts a job into an empty queue, where it parks for an hour.
func parks(t *testing.T, q *queue.Client, in, jid, correlation string) {
	t.Helper()
	must.Get(q.Put(t.Context(), queue.Put{Queue: in, JID: jid, Klass: "Pay"}))(t)
	s := q.Session("w")
	defer s.Close()
	reply, err := s.Exchange(t.Context(), nil, queue.Take{Queues: []string{in}, Count: 1})
	if err != nil || len(reply.Jobs) != 1 {
		t.Fatalf("took %+v: %v", reply.Jobs, err)
	}
	reply, err = s.Exchange(t.Context(), []queue.Settlement{{JID: jid, Queue: in, Popped: reply.Jobs[0].Popped, Action: queue.Park, Correlation: correlation, Delay: time.Hour}}, queue.Take{})
	if err != nil || reply.Results[0].Err != nil {
		t.Fatal(err, reply.Results)
	}
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
	"/jobs/{jid}": {"/jobs/j", "/jobs/later", "/jobs/d", "/jobs/f", "/jobs/throttled", "/jobs/p", "/jobs/" + url.PathEscape(odd), "/jobs/_?name=.."}, "/recurring": {"/recurring"}, "/recurring/{jid}": {"/recurring/r"},
	"/workers": {"/workers"}, "/workers/{worker}": {"/workers/web2-4711-mail-1"}, "/tags": {"/tags"}, "/tags/{tag}": {"/tags/t", "/tags/" + url.PathEscape(odd)}, "/tracked": {"/tracked"}, "/completed": {"/completed"},
	"/throttles": {"/throttles"}, "/throttles/{throttle}": {"/throttles/api", "/throttles/region"}, "/search": {"/search", "/search?q=j", "/search?q=queue%3Amail+state%3Awaiting", "/search?q=tag%3A", "/search?q=" + url.QueryEscape(odd)},
	"/settings": {"/settings"}, "/events": {"/events"}, "/parked": {"/parked", "/parked?queue=pay"}, "/doctor": {"/doctor"},
	"/queues/{queue}/keys": {"/queues/ordered/keys", "/queues/ordered/keys?by=name", "/queues/mail/keys"}, "/queues/{queue}/keys/{key}": {"/queues/ordered/keys/c", "/queues/ordered/keys/" + url.PathEscape("a/b <i>")},
	"/rules": {"/rules", "/rules?queue=ruled&klass=Send&data=%7B%22region%22%3A%22%3Ci%3E%22%7D", "/rules?queue=ruled&data=%7B"}, "/windows": {"/windows", "/windows?spec=Mon+10:00-11:00%3B+12:00-13:00&zone=Europe/Berlin", "/windows?spec=" + url.QueryEscape(odd), "/windows?spec=night", "/windows?spec=%3B"},
	"/lists": {"/lists"}, "/lists/{list}": {"/lists/hworker:pics", "/lists/hworker:pics?part=failed", "/lists/hworker:pics?part=broken", "/lists/hworker:pics?part=in-work", "/lists/" + url.PathEscape(odd)},
	"/supervisors/{name}/{pid}": {"/supervisors/web3/7"}, "/supervisors/{name}/{pid}/{pool}/{slot}": {"/supervisors/web3/7/render/0", "/supervisors/web3/7/render/9"},
}

// Every page shows what there is, within its size, and a look at all of them changes no byte in Redis.
func TestPages(t *testing.T) {
	a, q := browsed(t)
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
		"/jobs/f": "cannot open &lt;cat&gt;.jpg", "/jobs/d": "It waits for j", "/failures/exit-1": "cannot open", "/queues": "mail", "/jobs/nobody": "or be complete and pruned",
		"/throttles/region": "60 %", "/throttles/one": "waitlists", "/rules": "throttles.erp would be added", "/rules?queue=ruled": "It needs 1 place of each throttle below", "/windows": "Night*", "/windows?spec=05:00-07:00&zone=Asia/Tokyo": "05:00:00 JST", "/windows?spec=25:00-26:00": "is no time of a day", "/windows?spec=nowhere": "There is no window nowhere", "/windows?spec=%3B": "name a window of the rules, or spans", "/queues?match=nightly": "window night is ", "/queues/nightly": "window night is ", "/queues?sort=name": "behind others", "/lists": "hworker:pics",
		"/pools/nobody": "there is no pool nobody", "/nothing": "The links above lead to all there are", "/pools": `at work: <a href="/pools/mail/0">slot 0</a>`, "/search?q=j": `href="/jobs/j"`,
		"/search?q=class:Send": "class: is no term; there are group:, queue:,",
	} {
		if _, text, _ := g.browse(a, "GET", path, ""); !strings.Contains(strings.ToLower(text), strings.ToLower(want)) {
			t.Errorf("%s does not say %q: %.2000s", path, want, text)
		}
	}
}

// A name of 60,000 bytes, which other clients may give to whatever they put, makes no page large.
func TestPagesWithLongNames(t *testing.T) {
	a, q := browsed(t)
	long := strings.Repeat("<é", 20_000)
	tags := string(must.Get(json.Marshal([]string{long}))(t))
	for i, name := range []string{long, long + "2"} {
		must.Do(t, q.Redis().Eval(t.Context(), queue.Unified("ql:", queue.Qless), nil, "put", q.Now(), "w", name, name, long, "{}", 0, "tags", tags, "retries", 0).Err())
		if i == 0 {
			must.Get(q.Pop(t.Context(), long, "w", 1))(t)
			must.Do(t, q.Fail(t.Context(), long, "w", long, long))
		}
	}
	g := as(t, "write")
	for _, paths := range everyPage {
		for _, path := range paths {
			if code, text, _ := g.browse(a, "GET", path, ""); code != http.StatusOK || len(text) > 100<<10 {
				t.Errorf("%s: %d, %d bytes", path, code, len(text))
			}
		}
	}
}

// Who may only look is offered nothing that would be refused.
func TestPagesForLookingOnly(t *testing.T) {
	a, _ := browsed(t)
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
	a, q := browsed(t)
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
		"/bulk":                 {"action=explode&where=%7B%22group%22%3A%22x%22%7D", 400, "is none"},
		"/bulk/do":              {"action=retry&where=%7B%22group%22%3A%22x%22%7D", 400, "count again"},
		"/jobs":                 {"do=retry", 400, "choose at least one"},
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
	server := redistest.Start(t)
	a, _ := browsedOn(t, server)
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
