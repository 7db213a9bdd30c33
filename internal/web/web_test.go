package web

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"oarlock/supervisor"
)

// runs is a supervisor that notes what is asked of it.
type runs struct {
	shot  supervisor.Snapshot
	asked []string
}

func (r *runs) Snapshot() supervisor.Snapshot           { return r.shot }
func (r *runs) Status() any                             { return r.shot }
func (r *runs) Do(_ context.Context, verb string) error { r.asked = append(r.asked, verb); return nil }
func (r *runs) Recycle(_ context.Context, p string) error {
	r.asked = append(r.asked, "recycle "+p)
	return nil
}
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

// as is a door by which somebody with those rights comes.
func as(t *testing.T, rights string) *Door {
	t.Helper()
	who := Caller{Name: "nobody"}
	if rights != "none" {
		var err error
		if who, err = ParseRights("anna", rights); err != nil {
			t.Fatal(err)
		}
	}
	return &Door{Name: "test", Who: func(*http.Request) (Caller, Proof, error) { return who, ByBearer, nil }}
}

// quietly is an App without Redis, whose log is kept.
func quietly(s Supervisor) (*App, *strings.Builder) {
	var log strings.Builder
	return New(Options{Supervisor: s, Log: slog.New(slog.NewTextHandler(&log, nil)), Version: "v1"}), &log
}

// ask sends a request through a door.
func ask(a *App, d *Door, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost"
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	a.Handler(d).ServeHTTP(w, r)
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
	for _, one := range []struct{ wildcard, name string }{{"{pool}", "mail"}, {"{$}", ""}} {
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
		for _, rights := range []string{"none", "read", "put:mail", "write", "read,put"} {
			may := as(t, rights)
			who, _, _ := may.Who(nil)
			code := codeOf(ask(a, may, route.Method, filled(route.Path), ""))
			if refused := code == "no_right"; refused == who.May(route.Right) {
				t.Errorf("%s with %s: %q", route.pattern(), rights, code)
			}
			may.ReadOnly = true
			if code := codeOf(ask(a, may, route.Method, filled(route.Path), "")); !route.safe() && route.Right != Open && code != "read_only" {
				t.Errorf("%s by a door for looking: %q", route.pattern(), code)
			}
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
	door.Hosts = []string{"jobs.example"}
	for host, want := range map[string]int{
		"localhost:7733": 200, "127.0.0.1": 200, "[::1]:80": 200, "a.localhost": 200, "jobs.example": 200, "JOBS.example:443": 200, "192.168.1.9:80": 200,
		"evil.example": 421, "": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "jobs.example.evil": 421,
	} {
		for _, path := range []string{"/api/v1/pools", "/nothing"} {
			w := ask(a, door, "GET", path, "", "Host", host)
			if path == "/nothing" && want == 200 {
				want = 404
			}
			if w.Code != want {
				t.Errorf("%s of %q: %d", path, host, w.Code)
			}
		}
	}
	for _, test := range []struct {
		proof   Proof
		headers []string
		lets    bool
	}{
		{ByBearer, nil, true},
		{ByCookie, nil, false},
		{ByBasic, nil, false},
		{ByProxy, nil, false},
		{ByDoor, nil, false},
		{ByCookie, []string{"X-Oarlock", "1"}, true},
		{ByCookie, []string{"Sec-Fetch-Site", "same-origin"}, true},
		{ByCookie, []string{"Sec-Fetch-Site", "same-site"}, false},
		{ByCookie, []string{"Sec-Fetch-Site", "cross-site", "Origin", "http://localhost"}, false},
		{ByCookie, []string{"Origin", "http://localhost"}, true},
		{ByCookie, []string{"Origin", "http://jobs.example"}, true},
		{ByCookie, []string{"Origin", "http://evil.example"}, false},
		{ByCookie, []string{"Origin", "null"}, false},
	} {
		door.Who = func(*http.Request) (Caller, Proof, error) { return All("anna"), test.proof, nil }
		w := ask(a, door, "POST", "/api/v1/pools/mail/recycle", "", test.headers...)
		if lets := w.Code == http.StatusAccepted; lets != test.lets {
			t.Errorf("proof %d with %v: %d %s", test.proof, test.headers, w.Code, w.Body)
		}
	}
}

// What is done is told to the log and kept, with who did it.
func TestAudit(t *testing.T) {
	sup := aSupervisor()
	a, log := quietly(sup)
	door := as(t, "write")
	if w := ask(a, door, "POST", "/api/v1/pools/mail/scale", `{"children": 2}`); w.Code != http.StatusAccepted {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w := ask(a, door, "POST", "/api/v1/pools/mial/recycle", ""); codeOf(w) != "no_such_pool" || !strings.Contains(w.Body.String(), "did you mean mail?") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if told := a.deeds.newest(); len(told) != 2 || told[0].Result != "no_such_pool" || told[1].Who != "anna" || told[1].What != "mail" || told[1].Count != 2 || told[1].Result != "done" {
		t.Errorf("the audit has %+v", told)
	}
	if text := log.String(); !strings.Contains(text, `msg="web action" who=anna`) || !strings.Contains(text, `action="scale pool" what=mail count=2 result=done`) {
		t.Errorf("the log says %s", text)
	}
	for range mostDeeds {
		ask(a, door, "POST", "/api/v1/supervisor/quiet", "")
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
		w := ask(a, as(t, "write"), "POST", "/api/v1/pools/mail/scale", body)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%.40s: %d %s", body, w.Code, w.Body)
		}
	}
	w := ask(a, as(t, "write"), "POST", "/api/v1/pools/mail/scale", strings.Repeat(" ", defaultBody+1))
	if w.Code != http.StatusRequestEntityTooLarge || codeOf(w) != "too_large" {
		t.Errorf("a long body: %d %s", w.Code, w.Body)
	}
	if w := ask(a, as(t, "write"), "DELETE", "/api/v1/pools/mail", ""); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("another method: %d", w.Code)
	}
}

// A prefix may be kept by a proxy or cut off.
func TestPrefix(t *testing.T) {
	a := New(Options{Supervisor: aSupervisor(), Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Prefix: "/oarlock/"})
	for path, want := range map[string]int{"/oarlock/api/v1/pools": 200, "/api/v1/pools": 200, "/oarlocks/api/v1/pools": 404, "/oarlock": 404} {
		if w := ask(a, as(t, "read"), "GET", path, ""); w.Code != want {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// A handler that panics costs one answer.
func TestPanic(t *testing.T) {
	a, log := quietly(nil)
	boom := &Route{Method: "GET", Path: "/boom", Right: Read, Do: func(*Call) error { panic("boom") }}
	a.mux.Handle(boom.pattern(), entrance{a, boom})
	if w := ask(a, as(t, "read"), "GET", "/boom", ""); w.Code != 500 || codeOf(w) != "bug" || strings.Contains(w.Body.String(), "boom") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "bug=boom") {
		t.Errorf("the log says %s", log)
	}
}
