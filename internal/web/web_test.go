package web

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"oarlock/internal/census"
	"oarlock/internal/must"
	"oarlock/queue"
	"oarlock/supervisor"
)

// runs is a supervisor that notes what is asked of it.
type runs struct {
	shot  supervisor.Snapshot
	asked []string
}

func (r *runs) Snapshot() supervisor.Snapshot           { return r.shot }
func (r *runs) Status(shot supervisor.Snapshot) any     { return shot }
func (r *runs) Do(_ context.Context, verb string) error { r.asked = append(r.asked, verb); return nil }
func (r *runs) Recycle(_ context.Context, p string) error {
	r.asked = append(r.asked, "recycle "+p)
	return nil
}
func (r *runs) note(what string) error            { r.asked = append(r.asked, what); return nil }
func (r *runs) QuietPool(p string) error          { return r.note("quiet " + p) }
func (r *runs) ResumePool(p string) error         { return r.note("resume " + p) }
func (r *runs) RecycleSlot(p string, _ int) error { return r.note("recycle slot of " + p) }
func (r *runs) StopRun(p, run string) error       { return r.note("stop " + run + " of " + p) }
func (r *runs) AbandonRoll(p string) error        { return r.note("abandon roll of " + p) }
func (r *runs) Reload(by string) any {
	r.asked = append(r.asked, "reload by "+by)
	return map[string]int{"code": 0}
}
func (r *runs) Scale(_ context.Context, p string, n int) error {
	r.asked = append(r.asked, "scale "+p)
	return nil
}

// aSupervisor has one pool, mail.
func aSupervisor() *runs {
	return &runs{shot: supervisor.Snapshot{Name: "here", PID: 1, Pools: []supervisor.PoolSnapshot{{Name: "mail", Children: 2, Least: 2, Most: 2}}}}
}

// guest comes by a door and shows something.
type guest struct {
	t     *testing.T // what is answered must be as it is described
	door  *Door
	shows []string // headers
}

// as comes with a token that gives those rights, "none" being without.
func as(t *testing.T, rights string) guest {
	t.Helper()
	token, line, err := NewToken("anna", cmp.Or(strings.TrimPrefix(rights, "none"), "read"))
	if err != nil {
		t.Fatal(err)
	}
	g := guest{t: t, door: &Door{Name: "test", Gate: &Gate{Tokens: tokensOf(t, line), Cookie: "oarlock"}}}
	if rights != "none" {
		g.shows = []string{"Authorization", "Bearer " + token}
	}
	return g
}

// tokensOf is a file of tokens with that text.
func tokensOf(t *testing.T, text string) *Tokens {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	tokens := must.Get(OpenTokens(path, slog.New(slog.DiscardHandler)))(t)
	return tokens
}

// quietly is an App without Redis, whose log is kept.
func quietly(s Supervisor) (*App, *strings.Builder) {
	var log strings.Builder
	return New(Options{Supervisor: s, Log: slog.New(slog.NewTextHandler(&log, nil)), Version: "v1"}), &log
}

// counting counts the queues of q until the test ends.
func counting(t testing.TB, q *queue.Client) *census.Keeper {
	keeper := census.New(q)
	ctx, stop := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() { _ = keeper.Run(ctx) }) // which returns nil
	t.Cleanup(func() { stop(); parts.Wait() })
	return keeper
}

// ask sends a request through a door.
func (g guest) ask(a *App, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost"
	headers = slices.Concat(g.shows, headers)
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	a.Handler(g.door).ServeHTTP(w, r)
	if g.t != nil {
		asDescribed(g.t, a, r, w)
	}
	return w
}

// codeOf is the code of the problem that was answered, "" if it was none.
func codeOf(w *httptest.ResponseRecorder) string {
	var p Problem
	if w.Header().Get("Content-Type") != "application/problem+json" || json.Unmarshal(w.Body.Bytes(), &p) != nil {
		return ""
	}
	return p.Code
}

// filled is the path of a route with something for each wildcard.
func filled(path string) string {
	for _, one := range []struct{ wildcard, name string }{{"{pool}", "mail"}, {"{queue}", "mail"}, {"{slot}", "0"}, {"{jid}", "j"}, {"{group}", "exit-1"}, {"{name}", "n"}, {"{worker}", "w"}, {"{tag}", "t"}, {"{throttle}", "t"}, {"{setting}", "s"}, {"{id}", "lic"}, {"{key}", "c"}, {"{list}", "hworker:x"}, {"{$}", ""}} {
		path = strings.ReplaceAll(path, one.wildcard, one.name)
	}
	return path
}

// Each route wants its right, and is refused without it, whatever else is wrong with the request.
func TestRightsOfEveryRoute(t *testing.T) {
	a, _ := quietly(aSupervisor())
	for _, route := range a.Routes() {
		if route.Right < Open || route.Right > Write {
			t.Errorf("%s has no right", route.pattern())
			continue
		}
		if route.safe() != (route.Does == "") {
			t.Errorf("%s: the audit calls it %q", route.pattern(), route.Does)
		}
		if !route.safe() && route.Right == Read {
			t.Errorf("%s changes something and wants only to look", route.pattern())
		}
		for _, rights := range []string{"none", "read", "put:mail", "put:other", "write", "read,put"} {
			g := as(t, rights)
			who, _ := ParseRights("anna", rights)
			w := g.ask(a, route.Method, filled(route.Path), "")
			code := codeOf(w)
			if w.Code == http.StatusSeeOther && strings.HasPrefix(w.Header().Get("Location"), "/login?") {
				code = "no_token" // which a page says so
			}
			want := "no_right"
			switch {
			case rights == "none":
				want = "no_token"
			case route.Right == Put && strings.Contains(route.Path, "{queue}") && !who.MayPut("mail"):
			case who.May(route.Right):
				want = ""
			}
			if want == "" && (code == "no_right" || code == "no_token") || want != "" && code != want && route.Right != Open {
				t.Errorf("%s with %s: %q", route.pattern(), rights, code)
			}
			if route.Who != nil { // whoever asks it may by a door for looking, too
				continue
			}
			g.door.ReadOnly = true
			if code := codeOf(g.ask(a, route.Method, filled(route.Path), "")); rights != "none" && !route.safe() && route.Right != Open && code != "read_only" {
				t.Errorf("%s by a door for looking: %q", route.pattern(), code)
			}
			g.door.ReadOnly = false
			if code := codeOf(g.ask(a, route.Method, filled(route.Path), "", readOnlyHeader, "1")); rights != "none" && !route.safe() && route.Right != Open && code != "read_only" {
				t.Errorf("%s of one who is to look only: %q", route.pattern(), code)
			}
		}
	}
}

// What somebody may does not depend on the door: by a socket that is its user's alone one may everything, by others what a
// token, a proxy or a key says; and a door for looking is for looking, whoever comes.
func TestRightsAtEveryDoor(t *testing.T) {
	a, _ := quietly(aSupervisor())
	keyed := &Gate{Key: NewKey("anna", false), Cookie: "c"}
	proxied := func(rights string) guest {
		return guest{t: t, door: &Door{Gate: &Gate{Header: "X-User", Tokens: tokensOf(t, "anna "+rights+" -\n")}}, shows: []string{"X-User", "anna", "X-Oarlock", "1"}}
	}
	comes := map[string]struct {
		guest
		may string
	}{
		"socket":        {guest{t: t, door: &Door{Who: func(*http.Request) Caller { return All("root") }}}, "write"},
		"key":           {guest{t: t, door: &Door{Gate: keyed}, shows: []string{"Cookie", "c=" + keyed.sessions.open(byKey), "X-Oarlock", "1"}}, "write"},
		"proxy, reader": {proxied("read"), "read"},
		"proxy, putter": {proxied("put:mail"), "put:mail"},
	}
	for name, g := range comes {
		who, _ := ParseRights("anna", g.may)
		for _, route := range a.Routes() {
			if route.Stream || route.Right == Open {
				continue
			}
			g.door.ReadOnly = false
			code := codeOf(g.ask(a, route.Method, filled(route.Path), ""))
			if route.Who != nil { // for programs with a token, and who may come by the socket
				if (code == "no_token") != (name != "socket") {
					t.Errorf("%s by %s: %q", route.pattern(), name, code)
				}
				continue
			}
			if refused := code == "no_right" || code == "cross_origin" || code == "no_token"; refused == who.May(route.Right) {
				t.Errorf("%s by %s: %q", route.pattern(), name, code)
			}
			g.door.ReadOnly = true
			if code := codeOf(g.ask(a, route.Method, filled(route.Path), "")); !route.safe() && code != "read_only" {
				t.Errorf("%s by %s, for looking: %q", route.pattern(), name, code)
			}
		}
	}
	monitor := guest{door: MonitorDoor("test")}
	for _, route := range a.Routes() {
		w := monitor.ask(a, route.Method, filled(route.Path), "")
		if is := a.monitors[route.pattern()]; !is && w.Code != http.StatusNotFound {
			t.Errorf("%s by the door for scrapers: %d", route.pattern(), w.Code)
		}
	}
}

func TestParseRights(t *testing.T) {
	for text, want := range map[string]string{
		"read": "read", "write": "read,write", "put": "put:*", "put:a-*,read,put:b,put:b": "read,put:a-*,put:b",
		"": "", "put:": "", "admin": "", "read:x": "", "read,": "",
	} {
		c, err := ParseRights("n", text)
		if err != nil != (want == "") || err == nil && c.Rights() != want {
			t.Errorf("%q: %s, %v", text, c.Rights(), err)
		}
	}
}

// Names that lead here by somebody else's doing are refused on every path, and so is what the page of somebody else
// may have made a browser send.
func TestHostsAndOrigins(t *testing.T) {
	a, _ := quietly(aSupervisor())
	door := as(t, "write")
	door.door.Hosts = []string{"jobs.example"}
	for host, want := range map[string]int{
		"localhost:7733": 200, "127.0.0.1": 200, "[::1]:80": 200, "a.localhost": 200, "jobs.example": 200, "JOBS.example:443": 200, "192.168.1.9:80": 200,
		"evil.example": 421, "": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "jobs.example.evil": 421,
	} {
		for _, path := range []string{"/api/v1/pools", "/nothing"} {
			w := door.ask(a, "GET", path, "", "Host", host)
			if path == "/nothing" && want == 200 {
				want = 404
			}
			if w.Code != want {
				t.Errorf("%s of %q: %d", path, host, w.Code)
			}
		}
	}
	door.door.Gate.Key = NewKey("anna", false)
	bearer, cookie := door.shows, []string{"Cookie", "oarlock=" + door.door.Gate.sessions.open(byKey)}
	basic := []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("anna:"+strings.TrimPrefix(bearer[1], "Bearer ")))}
	for _, test := range []struct {
		shows   []string
		headers []string
		lets    bool
	}{
		{bearer, nil, true},
		{bearer, []string{"Sec-Fetch-Site", "cross-site", "Origin", "http://evil.example"}, true}, // whoever knows a token is no forger
		{cookie, nil, false},
		{basic, nil, false},
		{basic, []string{"X-Oarlock", "1"}, true},
		{cookie, []string{"X-Oarlock", "1"}, true},
		{cookie, []string{"Sec-Fetch-Site", "same-origin"}, true},
		{cookie, []string{"Sec-Fetch-Site", "same-site"}, false},
		{cookie, []string{"Sec-Fetch-Site", "cross-site", "Origin", "http://localhost"}, false},
		{cookie, []string{"Origin", "http://localhost"}, true},
		{cookie, []string{"Host", "jobs.example", "Origin", "http://jobs.example"}, true},
		{cookie, []string{"Origin", "http://evil.example"}, false},
		{cookie, []string{"Origin", "null"}, false},
	} {
		door.shows = test.shows
		w := door.ask(a, "POST", "/api/v1/pools/mail/recycle", "", test.headers...)
		if lets := w.Code == http.StatusAccepted; lets != test.lets || !lets && codeOf(w) != "cross_origin" {
			t.Errorf("%s with %v: %d %s", test.shows[0], test.headers, w.Code, w.Body)
		}
	}
	everybody := guest{door: &Door{Name: "test", Gate: &Gate{All: "whoever"}}}
	if w := everybody.ask(a, "POST", "/api/v1/pools/mail/recycle", ""); codeOf(w) != "cross_origin" {
		t.Errorf("a door for everybody: %d", w.Code)
	}
}

// What is done is told to the log and kept, with who did it.
func TestAudit(t *testing.T) {
	sup := aSupervisor()
	a, log := quietly(sup)
	door := as(t, "write")
	if w := door.ask(a, "POST", "/api/v1/pools/mail/scale", `{"children": 2}`); w.Code != http.StatusAccepted {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w := door.ask(a, "POST", "/api/v1/pools/mial/recycle", ""); codeOf(w) != "no_such_pool" || !strings.Contains(w.Body.String(), "did you mean mail?") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if told := a.deeds.newest(); len(told) != 2 || told[0].Result != "no_such_pool" || told[1].Who != "anna" || told[1].What != "mail" || told[1].Count != 2 || told[1].Result != "done" {
		t.Errorf("the audit has %+v", told)
	}
	if text := log.String(); !strings.Contains(text, `msg="web action" who=anna`) || !strings.Contains(text, `action="scale pool" what=mail count=2 result=done`) {
		t.Errorf("the log says %s", text)
	}
	for range mostDeeds {
		door.ask(a, "POST", "/api/v1/supervisor/quiet", "")
	}
	if n := len(a.deeds.newest()); n != mostDeeds {
		t.Errorf("%d deeds are kept", n)
	}
}

// What is wrong with a request is said in a sentence that names the field.
func TestWrongBodies(t *testing.T) {
	a, _ := quietly(aSupervisor())
	for body, want := range map[string]string{
		`{"childen": 2}`:        "did you mean children?",
		`{"children": "2"}`:     "a whole number is",
		`{"children": -1}`:      `such as {\"children\": 4}`,
		`{}`:                    `such as {\"children\": 4}`,
		`{"children": 2} 3`:     "there is more",
		`{`:                     "not JSON",
		strings.Repeat(`[`, 65): "nested more than 64 deep",
	} {
		w := as(t, "write").ask(a, "POST", "/api/v1/pools/mail/scale", body)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%.40s: %d %s", body, w.Code, w.Body)
		}
	}
	w := as(t, "write").ask(a, "POST", "/api/v1/pools/mail/scale", strings.Repeat(" ", defaultBody+1))
	if w.Code != http.StatusRequestEntityTooLarge || codeOf(w) != "too_large" {
		t.Errorf("a long body: %d %s", w.Code, w.Body)
	}
	if w := as(t, "write").ask(a, "DELETE", "/api/v1/pools/mail", ""); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("another method: %d", w.Code)
	}
}

// A prefix may be kept by a proxy or cut off.
func TestPrefix(t *testing.T) {
	a := New(Options{Supervisor: aSupervisor(), Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Prefix: "/oarlock/"})
	for path, want := range map[string]int{"/oarlock/api/v1/pools": 200, "/api/v1/pools": 200, "/oarlocks/api/v1/pools": 404, "/oarlock/help": 200, "/help": 200} {
		if w := as(t, "read").ask(a, "GET", path, ""); w.Code != want {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// A handler that panics costs one answer.
func TestPanic(t *testing.T) {
	a, log := quietly(nil)
	boom := &Route{Method: "GET", Path: "/boom", Right: Read, Do: func(*Call) error { panic("boom") }}
	a.mux.Handle(boom.pattern(), entrance{a, boom})
	if w := as(t, "read").ask(a, "GET", "/boom", ""); w.Code != 500 || codeOf(w) != "bug" || strings.Contains(w.Body.String(), "boom") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "bug=boom") {
		t.Errorf("the log says %s", log)
	}
}
