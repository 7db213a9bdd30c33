package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/redact"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// away is an App whose Redis is not there.
func away(t testing.TB) *App {
	t.Helper()
	q := must.Get(queue.Open(t.Context(), queue.Options{URL: "unix://" + filepath.Join(t.TempDir(), "nothing")}))(t)
	t.Cleanup(func() { q.Close() })
	return New(Options{Redis: q, Supervisor: aSupervisor(), Rules: someRules, Census: counting(t, q), Log: slog.New(slog.DiscardHandler)})
}

// everybody comes by a door that asks nobody.
func everybody(d *Door) guest {
	d.Name, d.Gate = "test", &Gate{All: "anybody"}
	return guest{door: d, shows: []string{"X-Oarlock", "1"}}
}

// A Redis that is away is told so by whatever needs it, and nothing else breaks.
func TestRedisAway(t *testing.T) {
	a := away(t)
	g := everybody(&Door{})
	for _, route := range a.Routes() {
		if !strings.HasPrefix(route.Path, "/api/") || route.Stream || route.Right == Put {
			continue
		}
		query := url.Values{}
		for name, value := range map[string]string{"q": "x", "day": "2026-01-01", "queue": "mail", "spec": "00:00-24:00", "name": "x"} {
			if slices.Contains(route.Query, name) {
				query.Set(name, value)
			}
		}
		w := g.ask(a, route.Method, filled(route.Path)+"?"+query.Encode(), `{}`)
		if needs := !route.Local && route.Path != "/api/v1/status" && route.Path != "/api/v1/supervisors"; route.safe() && needs != (w.Code == http.StatusServiceUnavailable) || w.Code == http.StatusInternalServerError {
			t.Errorf("%s: %d %s", route.pattern(), w.Code, w.Body)
		} else if needs && w.Code == http.StatusServiceUnavailable && (codeOf(w) != "redis_away" || w.Header().Get("Retry-After") == "") {
			t.Errorf("%s: %s %v", route.pattern(), w.Body, w.Header())
		}
	}
	if w := g.ask(a, "PUT", "/api/v1/jobs/j", `{"queue":"mail"}`); codeOf(w) != "redis_away" {
		t.Errorf("put: %s", w.Body)
	}
	if w := g.ask(a, "POST", "/api/v1/queues/mail/jobs", "{}\n{}\n", "Content-Type", "application/x-ndjson"); w.Code != 200 || strings.Count(w.Body.String(), `"code":"redis_away"`) != 2 {
		t.Errorf("two lines: %d %s", w.Code, w.Body)
	}
}

// Of whatever may have been done it is said what to do: what is done once is sent again, all else is looked at before.
func TestWhatToDoInDoubt(t *testing.T) {
	a := away(t)
	for _, test := range []struct{ method, does, key, want string }{
		{"PUT", "", "", "Send the same again"}, {"POST", "", "k", "Send the same again"}, {"POST", respondDoes, "", "Send the same again"},
		{"POST", "put", "", "Look before you repeat it"}, {"DELETE", "", "", "Look before you repeat it"},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(test.method, "/api/v1/jobs/j", nil)
		if test.key != "" {
			r.Header.Set("Idempotency-Key", test.key)
		}
		a.fail(&Call{W: w, R: r, app: a, route: &Route{Method: test.method, Does: test.does}}, fmt.Errorf("%w: put: i/o timeout", queue.ErrDoubt))
		if codeOf(w) != "outcome_unknown" || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s %s with key %q: %s", test.method, test.does, test.key, w.Body)
		}
	}
}

// Through a proxy that loses answers a job is put once.
func TestPutThroughLostAnswers(t *testing.T) {
	a, q := apart(t)
	handler := a.Handler(everybody(&Door{}).door)
	var asked atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1)%3 == 0 {
			handler.ServeHTTP(w, r)
			return
		}
		handler.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler) // what was answered is lost
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.Start()
	defer server.Close()
	send := func(data string) *http.Response {
		for {
			r, err := http.NewRequestWithContext(t.Context(), "PUT", server.URL+"/api/v1/jobs/order-17", strings.NewReader(`{"queue":"mail","klass":"Send","data":`+data+`}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Oarlock", "1")
			if w, err := server.Client().Do(r); err == nil {
				w.Body.Close()
				return w
			}
		}
	}
	if w := send(`{"n":1}`); w.StatusCode != http.StatusOK {
		t.Errorf("after lost answers it is answered %d", w.StatusCode)
	}
	if w := send(`{"n":2}`); w.StatusCode != http.StatusConflict {
		t.Errorf("other data is answered %d", w.StatusCode)
	}
	if n, err := q.Queue(t.Context(), "mail"); err != nil || n.Waiting != 1 {
		t.Errorf("%d jobs wait, %v", n.Waiting, err)
	}
	if job, err := q.Get(t.Context(), "order-17"); err != nil || string(job.Data) != `{"n":1}` || len(job.History) != 1 {
		t.Errorf("the job is %+v, %v", job, err)
	}
}

// No name leads to a file, or breaks an answer.
func TestHostileNames(t *testing.T) {
	a, _ := apart(t)
	g := as(t, "read")
	names := []string{"..", ".", "../../../etc/passwd", "%2e%2e%2fetc%2fpasswd", "\x00", "\xff\xfe", "a\nb", "\u202ex", strings.Repeat("x", 64<<10), "<script>alert(1)</script>", "{{.}}", "'", `"`, "\x1b[31m"}
	for _, name := range names {
		for _, route := range a.Routes() {
			if route.Method != "GET" || route.Stream || !strings.Contains(route.Path, "{") {
				continue
			}
			path := route.Path
			for strings.Contains(path, "{") && !strings.HasSuffix(path, "{$}") {
				i, j := strings.Index(path, "{"), strings.Index(path, "}")
				path = path[:i] + url.PathEscape(name) + path[j+1:]
			}
			w := g.ask(a, "GET", strings.TrimSuffix(path, "{$}"), "")
			if w.Code >= 500 || strings.Contains(w.Body.String(), "root:x:") {
				t.Fatalf("%s with %.40q: %d %.200s", route.pattern(), name, w.Code, w.Body)
			}
			if kind := w.Header().Get("Content-Type"); strings.HasSuffix(strings.SplitN(kind, ";", 2)[0], "json") && !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s with %.40q is no JSON: %.200s", route.pattern(), name, w.Body)
			}
		}
	}
}

// Whoever holds many connections open without asking anything keeps nobody else from being answered.
func TestSlowClients(t *testing.T) {
	a := away(t)
	listener := must.Get(Loopback(t.Context(), "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, listener, a.Handler(everybody(&Door{}).door), nil, slog.New(slog.DiscardHandler))
	}()
	var held []net.Conn
	for i := range 500 {
		conn := must.Get(net.Dial("tcp", listener.Addr().String()))(t)
		held = append(held, conn)
		begins := "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
		if i%2 == 0 {
			begins = "POST /api/v1/bulk HTTP/1.1\r\nHost: localhost\r\nX-Oarlock: 1\r\nContent-Length: 1000\r\n\r\n{"
		}
		must.Get(io.WriteString(conn, begins))(t)
	}
	for _, path := range []string{"/api/v1/", "/api/v1/pools"} {
		r := must.Get(http.NewRequestWithContext(t.Context(), "GET", "http://"+listener.Addr().String()+path, nil))(t)
		w := must.Get(http.DefaultClient.Do(r))(t)
		w.Body.Close()
		if w.StatusCode != 200 {
			t.Errorf("%s: %d", path, w.StatusCode)
		}
	}
	for _, conn := range held {
		conn.Close()
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Whoever sends slowly, or does not read, keeps nobody from what Redis is asked for: more of them than may ask at a time.
func TestSlowClientsHoldNoPlaces(t *testing.T) {
	a, q := apart(t)
	big := `"` + strings.Repeat("x", 60<<10) + `"`
	must.Get(q.Put(t.Context(), queue.Put{Queue: "mail", JID: "big", Klass: "k", Data: []byte(big)}))(t)
	handler := a.Handler(everybody(&Door{}).door)
	server := httptest.NewUnstartedServer(handler)
	server.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if err := conn.(*net.UnixConn).SetWriteBuffer(1); err != nil { // the least there is
			t.Error(err)
		}
		return ctx
	}
	var listening net.ListenConfig
	listener := must.Get(listening.Listen(t.Context(), "unix", filepath.Join(t.TempDir(), "s")))(t)
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	dial := func() net.Conn {
		conn := must.Get(net.Dial("unix", listener.Addr().String()))(t)
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	for i := range 5 * mostRequests {
		request := "GET /api/v1/jobs/big HTTP/1.1\r\nHost: localhost\r\n\r\n" // whose answer is longer than what a socket holds
		if i%2 == 0 {
			request = "POST /api/v1/queues/mail/jobs HTTP/1.1\r\nHost: localhost\r\nX-Oarlock: 1\r\nContent-Length: 1000\r\n\r\n{"
		}
		must.Get(io.WriteString(dial(), request))(t)
	}
	for answered, began := 0, time.Now(); answered < 3; { // a machine that is busy may ask to come again; they hold what they hold for longer
		conn := dial()
		must.Get(io.WriteString(conn, "GET /api/v1/queues HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))(t)
		if text, err := io.ReadAll(conn); err == nil && strings.HasPrefix(string(text), "HTTP/1.1 200") {
			answered++
		} else if time.Since(began) > bodyPatience*2/3 {
			t.Fatalf("%v %.300s", err, text)
		}
	}
	for began := time.Now(); len(a.limits.redis) > 0; time.Sleep(time.Millisecond) { // those who were asked last are about to be answered
		if time.Since(began) > time.Minute {
			t.Fatalf("%d places are held", len(a.limits.redis))
		}
	}
	server.CloseClientConnections()
	server.Close()
}

// Long bodies are refused at once where they say how long they are, and read by a few at a time.
func TestLongBodies(t *testing.T) {
	if testing.Short() {
		t.Skip("long: megabytes for every route")
	}
	a, _ := apart(t)
	g := everybody(&Door{})
	for size, want := range map[int]string{33 << 20: "too_large", 15 << 20: "bad_request"} {
		if code := codeOf(g.ask(a, "POST", "/api/v1/queues/mail/jobs", strings.Repeat(" ", size))); code != want {
			t.Errorf("%d bytes: %q, want %q", size, code, want)
		}
	}
	held := make([]func(), mostBodies)
	for i := range held {
		held[i], _ = take(t.Context(), a.limits.bodies, true)
	}
	long := `{"data":"` + strings.Repeat("x", shortBody) + `"}`
	if code := codeOf(g.ask(a, "POST", "/api/v1/queues/mail/jobs", long)); code != "busy" {
		t.Errorf("one more than there may be: %q", code)
	}
	if w := g.ask(a, "POST", "/api/v1/queues/mail/jobs", `{"data":1}`); w.Code != http.StatusCreated {
		t.Errorf("a short one meanwhile: %d %s", w.Code, w.Body)
	}
	held[0]()
	if w := g.ask(a, "POST", "/api/v1/queues/mail/jobs", long); w.Code != http.StatusCreated {
		t.Errorf("when there is a place again: %d %s", w.Code, w.Body)
	}
	if n := len(a.limits.bodies); n != mostBodies-1 {
		t.Errorf("%d places of bodies are held", n)
	}
}

// What is secret is in nothing that is told, however it was written, and however much of it there is.
func TestSecretsAreNotTold(t *testing.T) {
	a, q := apart(t)
	secrets := must.Get(redact.New([]string{"$..password", "$.card.number"}, []string{`key-[0-9a-z]+`}))(t)
	var log strings.Builder
	a = New(Options{Redis: q, Supervisor: a.o.Supervisor, Census: a.o.Census, Log: slog.New(slog.NewTextHandler(&log, nil)), Redactor: secrets})
	g, ctx := as(t, "write"), t.Context()
	const hidden = "s3cr3t"
	for name, data := range map[string]string{
		"plain":    `{"password":"s3cr3t","to":"ann"}`,
		"nested":   `{"a":[{"b":{"dbPassword":{"old":"s3cr3t"}}}],"card":{"number":"s3cr3t"}}`,
		"twice":    `{"password":"x","password":"s3cr3t"}`,
		"escaped":  `{"pass\u0077ord":"s3cr3t","text":"{\"password\":\"s3cr3t\"}"}`,
		"pattern":  `{"note":"use key-s3cr3t here"}`,
		"cut":      `{"list":[` + strings.Repeat(`"x",`, 30) + `"x"],"password":"` + strings.Repeat("s3cr3t ", 100_000) + `"}`,
		"very big": `{"password":"` + strings.Repeat("s3cr3t ", 300_000) + `"}`,
	} {
		if w := g.ask(a, "PUT", "/api/v1/jobs/"+url.PathEscape(name), `{"queue":"mail","klass":"k","tags":["t"],"data":`+data+`}`); w.Code != 201 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if job, err := q.Get(ctx, name); err != nil || string(job.Data) != data {
			t.Fatalf("%s was not kept as it is, %v", name, err)
		}
	}
	jobs, err := q.Pop(ctx, "mail", "w1", 2)
	if err != nil || len(jobs) != 2 {
		t.Fatal(jobs, err)
	}
	for _, job := range jobs {
		must.Do(t, q.Fail(ctx, job.JID, "w1", "broken", `Authorization: password=s3cr3t and {"password":"s3cr3t"}`))
	}
	must.Do(t, q.Log(ctx, "plain", "password=s3cr3t", []byte(`{"password":"s3cr3t"}`)))
	paths := []string{"/api/v1/search?q=group:broken", "/api/v1/search?q=tag:t"}
	for _, route := range a.Routes() {
		if route.Method != "GET" || route.Stream {
			continue
		}
		for _, jid := range []string{"plain", "nested", "twice", "escaped", "pattern", "cut", "very%20big"} {
			path := strings.ReplaceAll(strings.ReplaceAll(route.Path, "{jid}", jid), "{group}", "broken")
			paths = append(paths, filled(path))
		}
	}
	for _, path := range paths {
		if w := g.ask(a, "GET", path, ""); strings.Contains(w.Body.String(), hidden) {
			i := strings.Index(w.Body.String(), hidden)
			t.Errorf("%s tells %q", path, w.Body.String()[max(0, i-100):i+10])
		}
	}
	for _, body := range []string{`{"action":"retry","where":{"group":"broken"}}`, `{"action":"drop","where":{"tag":"t"}}`} {
		if w := g.ask(a, "POST", "/api/v1/bulk", body); strings.Contains(w.Body.String(), hidden) {
			t.Errorf("%s tells %s", body, w.Body)
		}
	}
	if strings.Contains(log.String(), hidden) {
		t.Error("the log tells it")
	}
}

// Whatever is asked, the answer is none of a mistake of ours.
func FuzzRequests(f *testing.F) {
	a := away(f)
	for _, route := range a.Routes() {
		f.Add(route.Method, filled(route.Path), "{}", "application/json")
	}
	f.Add("POST", "/api/v1/queues/q/jobs?force=1", "[{},1]", "application/x-ndjson")
	f.Add("GET", "/login?next=//x&key=y", "", "")
	g := everybody(&Door{})
	f.Fuzz(func(t *testing.T, method, target, body, kind string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") || strings.Contains(target, "/live") || strings.Contains(target, "wait") {
			return
		}
		ctx, over := context.WithTimeout(t.Context(), time.Second) // of streams
		defer over()
		r := (&http.Request{Method: method, URL: u, Host: "localhost", Header: http.Header{"X-Oarlock": {"1"}, "Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}).WithContext(ctx)
		w := httptest.NewRecorder()
		a.Handler(g.door).ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError {
			t.Errorf("%s %s: %s", method, target, w.Body)
		}
	})
}

// A cursor that is none is refused, and breaks nothing.
func FuzzCursors(f *testing.F) {
	q := opened(f, redistest.Shared(f))
	for i := range 20 {
		must.Get(q.Put(f.Context(), queue.Put{Queue: "mail", JID: fmt.Sprintf("j%d", i), Klass: "k", Tags: []string{"t"}}))(f)
	}
	must.Get(q.Pop(f.Context(), "mail", "w", 3))(f)
	a := New(Options{Redis: q, Census: counting(f, q), Log: slog.New(slog.DiscardHandler)})
	g := everybody(&Door{})
	for _, cursor := range []string{"", "0", "-1", "1", "j3", "1:2", "a~b", "9999999999999999999", "1e300", "nan", "\x00", "(5", "[x", "%"} {
		f.Add(cursor, "3")
	}
	f.Fuzz(func(t *testing.T, cursor, limit string) {
		query := url.Values{"cursor": {cursor}, "limit": {limit}, "q": {"tag:t"}, "sort": {"lag"}}.Encode()
		for _, path := range []string{"/queues", "/queues/mail/jobs", "/tags/t", "/failures", "/failures/x", "/tracked", "/completed", "/workers/w", "/search"} {
			if w := g.ask(a, "GET", "/api/v1"+path+"?"+query, ""); w.Code != 200 && w.Code != 400 {
				t.Errorf("%s?%s: %d %s", path, query, w.Code, w.Body)
			}
		}
	})
}
