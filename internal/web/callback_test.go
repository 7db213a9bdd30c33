package web

import (
	"bufio"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"oarlock/internal/must"
	"oarlock/queue"
)

// callbacks is an App whose tokens are T-<klass>-<jid>, with jobs a, parked for order-1, and b, for order-2, and c, which waits.
func callbacks(t *testing.T) (*App, *queue.Client) {
	t.Helper()
	_, q := apart(t)
	a := New(Options{Redis: q, Log: slog.New(slog.DiscardHandler), Census: counting(t, q), ReadOnly: true,
		Callback: func(klass, jid, token string) bool { return token == "T-"+klass+"-"+jid }})
	parks(t, q, "pay", "a", "order-1")
	parks(t, q, "pay", "b", "order-2")
	must.Get(q.Put(t.Context(), queue.Put{Queue: "pay", JID: "c", Klass: "Pay"}))(t)
	return a, q
}

// The token of a job lets whoever holds it answer that job, by any door, and nothing else whatever.
func TestCallbackTokens(t *testing.T) {
	a, q := callbacks(t)
	wrong := func() *Gate { return &Gate{Tokens: tokensOf(t, "anna write -\n"), Cookie: "oarlock"} }
	at := func(klass, jid, token, correlation string) string {
		return "/api/v1/respond/" + klass + "/_?" + url.Values{"jid": {jid}, "token": {token}, "correlation": {correlation}}.Encode()
	}
	for _, test := range []struct {
		name, path, body string
		status           int
		says             string
	}{
		{"forged", at("Pay", "a", "T-Pay-x", "order-1"), "1", 401, "wrong_token"},
		{"of another job", at("Pay", "a", "T-Pay-b", "order-1"), "1", 401, "that of another job"},
		{"of another class", at("Buy", "a", "T-Pay-a", "order-1"), "1", 401, "wrong_token"},
		{"of no job", "/api/v1/respond/Pay/order-1?token=T-Pay-a", "1", 401, "wrong_token"},
		{"none", "/api/v1/respond/Pay/order-1?jid=a", "1", 401, "no_token"},
		{"an empty one", at("Pay", "a", "", "order-1"), "1", 401, "no_token"},
		{"its own, for another's correlation", at("Pay", "a", "T-Pay-a", "order-2"), "1", 200, `{"word":"late"}`},
		{"its own, for one that nobody has yet", at("Pay", "a", "T-Pay-a", "order-3"), "1", 202, `"kept"`},
		{"no JSON", at("Pay", "a", "T-Pay-a", "order-1"), "{", 400, "JSON"},
		{"no UTF-8", at("Pay", "a", "T-Pay-a", "order-1"), "\"\xff\"", 400, "UTF-8"},
		{"too much", at("Pay", "a", "T-Pay-a", "order-1"), `"` + strings.Repeat("x", queue.MaxResponse) + `"`, 413, "too_large"},
		{"good", at("Pay", "a", "T-Pay-a", "order-1"), `{"paid":true}`, 202, `"resumed"`},
		{"sent again", at("Pay", "a", "T-Pay-a", "order-1"), `{"paid":false}`, 200, `"again"`},
		{"of a job that is gone", at("Pay", "gone", "T-Pay-gone", "order-9"), `1`, 200, `"late"`},
	} {
		g := guest{t: t, door: &Door{Gate: wrong(), ReadOnly: true, Hosts: []string{"jobs.example.com"}}}
		if w := g.ask(a, "POST", test.path, test.body, "Origin", "https://bank.example"); w.Code != test.status || !strings.Contains(w.Body.String(), test.says) {
			t.Errorf("%s: %d %s, want %d %s", test.name, w.Code, w.Body, test.status, test.says)
		}
	}
	g := guest{t: t, door: &Door{Gate: wrong()}}
	for _, route := range a.Routes() { // it opens nothing else
		if route.Right == Open || route.Who != nil || route.Stream {
			continue
		}
		w := g.ask(a, route.Method, filled(route.Path)+"?jid=a&token=T-Pay-a", "")
		if login := strings.HasPrefix(w.Header().Get("Location"), "/login?"); codeOf(w) != "no_token" && !login {
			t.Errorf("%s: %d %s", route.pattern(), w.Code, w.Body)
		}
	}
	if job, err := q.Get(t.Context(), "a"); err != nil || job.State != "waiting" || job.Kept.Answered != "came" {
		t.Errorf("the job is %+v: %v", job, err)
	}
	if job, err := q.Get(t.Context(), "b"); err != nil || job.Row != "parked" {
		t.Errorf("the other is %+v: %v", job, err)
	}
}

// Whatever a browser sends by itself answers nothing: no cookie, no password, no word of a proxy; and where everybody may come
// in, no page of others.
func TestNoBrowserAnswers(t *testing.T) {
	a, _ := callbacks(t)
	token, line, err := NewToken("anna", "write")
	if err != nil {
		t.Fatal(err)
	}
	tokens := tokensOf(t, line)
	proxy := &Gate{Header: "X-User", Tokens: tokensOf(t, line+"\nbert write -\n")}
	const path = "/api/v1/respond/Pay/order-1"
	for _, test := range []struct {
		name   string
		gate   *Gate
		shows  []string
		status int
	}{
		{"cookie", &Gate{Tokens: tokens, Cookie: "c"}, []string{"Cookie", "c=" + token, "X-Oarlock", "1"}, 401},
		{"password", &Gate{Tokens: tokens, Cookie: "c"}, []string{"Authorization", "Basic YW5uYTp4", "X-Oarlock", "1"}, 401},
		{"proxy", proxy, []string{"X-User", "bert", "X-Oarlock", "1"}, 401},
		{"key", &Gate{Key: NewKey("anna", false), Cookie: "c"}, []string{"X-Oarlock", "1"}, 401},
		{"everybody, from a page of others", &Gate{All: "all"}, []string{"Origin", "https://evil.example"}, 403},
		{"everybody, from a page of others that says less", &Gate{All: "all"}, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"bearer behind a proxy", proxy, []string{"Authorization", "Bearer " + token}, 202},
		{"bearer", &Gate{Tokens: tokens, Cookie: "c"}, []string{"Authorization", "Bearer " + token, "Origin", "https://bank.example"}, 200},
		{"everybody, from a program", &Gate{All: "all"}, nil, 200},
	} {
		g := guest{t: t, door: &Door{Gate: test.gate}, shows: test.shows}
		if w := g.ask(a, "POST", path, "1"); w.Code != test.status {
			t.Errorf("%s: %d %s", test.name, w.Code, w.Body)
		}
	}
}

// Who sends an answer slowly, or never, keeps nobody else from answering.
func TestSlowAnswersKeepNobodyElse(t *testing.T) {
	a, _ := callbacks(t)
	server := httptest.NewServer(a.Handler(&Door{Gate: &Gate{Tokens: tokensOf(t, "anna write -\n")}}))
	t.Cleanup(server.Close)
	const path = "/api/v1/respond/Pay/_?jid=a&token=T-Pay-a&correlation=order-1"
	for range 4 * mostRequests {
		conn := must.Get(new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String()))(t)
		t.Cleanup(func() { conn.Close() })
		must.Get(fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n", path))(t)
		// It is read by then, and waited for.
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100") {
			t.Fatalf("%q: %v", line, err)
		}
	}
	request := must.Get(http.NewRequestWithContext(t.Context(), "POST", server.URL+path, strings.NewReader("1")))(t)
	w := must.Get(server.Client().Do(request))(t)
	defer w.Body.Close()
	if w.StatusCode != http.StatusAccepted {
		t.Errorf("it was answered %s", w.Status)
	}
}
