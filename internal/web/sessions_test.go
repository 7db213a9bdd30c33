package web

import (
	"cmp"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/internal/must"
)

// browser is what a person has: it keeps the cookies that it is given.
type browser struct {
	a       *App
	door    *Door
	cookies map[string]*http.Cookie
	headers []string
}

func (b *browser) ask(method, path, form string) *httptest.ResponseRecorder {
	g := guest{door: b.door, shows: append([]string{"Sec-Fetch-Site", "same-origin", "Content-Type", "application/x-www-form-urlencoded"}, b.headers...)}
	var all []string
	for _, c := range b.cookies {
		all = append(all, c.Name+"="+c.Value)
	}
	w := g.ask(b.a, method, path, form, "Cookie", strings.Join(all, "; "))
	for _, c := range w.Result().Cookies() {
		if b.cookies[c.Name] = c; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return w
}

// in reports whether the browser is let in.
func (b *browser) in() bool { return b.ask("GET", "/api/v1/", "").Code == http.StatusOK }

// login logs a browser in, and is the cookie that it was left.
func (b *browser) login(t *testing.T, token string) *http.Cookie {
	t.Helper()
	w := b.ask("POST", "/login", url.Values{"token": {token}}.Encode())
	if w.Code != http.StatusSeeOther || len(w.Result().Cookies()) != 1 || !b.in() {
		t.Fatalf("login: %d %v", w.Code, w.Header())
	}
	return w.Result().Cookies()[0]
}

func withTokens(t *testing.T, lines ...string) *Gate {
	t.Helper()
	return &Gate{Tokens: tokensOf(t, strings.Join(lines, "\n")), Cookie: "oarlock-7733"}
}

// The cookie that a login leaves is no token: it is another one at each login, and is worth nothing after logout, after 12 hours,
// when its token is gone, in another process, and once there is a newer one. Its rights are those that the file says now.
func TestSessions(t *testing.T) {
	token, line, err := NewToken("anna", "read")
	if err != nil {
		t.Fatal(err)
	}
	other, second, err := NewToken("bert", "read")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		a, log := quietly(aSupervisor())
		gate := withTokens(t, line, second)
		door := &Door{Name: "test", Gate: gate}
		fresh := func() *browser { return &browser{a: a, door: door, cookies: map[string]*http.Cookie{}} }
		b := fresh()
		left := b.login(t, token)
		if sum := sha256.Sum256([]byte(token)); left.Value == token || strings.Contains(line, left.Value) || left.Value == string(sum[:]) {
			t.Error("the cookie has the token")
		}
		if strings.Contains(log.String(), left.Value) {
			t.Error("the log has the session")
		}
		for as, shows := range map[string][]string{"a token": {"Authorization", "Bearer " + left.Value}, "a password": {"Authorization", "Basic " + left.Value}} {
			if w := (guest{door: door, shows: shows}).ask(a, "GET", "/api/v1/", ""); w.Code != http.StatusUnauthorized {
				t.Errorf("the session as %s: %d", as, w.Code)
			}
		}
		stolen := fresh()
		stolen.cookies[left.Name] = left
		if again := b.login(t, token); again.Value == left.Value || stolen.in() {
			t.Error("a second login leaves the first session")
		}
		stolen.cookies[left.Name] = b.cookies[left.Name]
		b.ask("POST", "/logout", "")
		if b.in() || len(b.cookies) != 0 || stolen.in() {
			t.Error("logout left the session")
		}
		for range 20 * mostWrong { // an old session is no try at a token
			if w := stolen.ask("GET", "/queues", ""); w.Code != http.StatusSeeOther {
				t.Fatalf("an old session: %d", w.Code)
			}
		}
		b.login(t, token)
		time.Sleep(sessionLife - time.Second)
		if !b.in() {
			t.Error("it ended before its time")
		}
		time.Sleep(time.Second)
		if b.in() {
			t.Error("it has no end")
		}
		left = b.login(t, token)
		for _, both := range []string{left.Name + "=x; " + left.Name + "=" + left.Value, left.Name + "=" + left.Value + "; " + left.Name + "=x"} {
			if w := (guest{door: door, shows: []string{"Cookie", both}}).ask(a, "GET", "/api/v1/", ""); w.Code != http.StatusOK {
				t.Errorf("another port's cookie of the same name shuts it out: %d", w.Code)
			}
		}
		elsewhere := &browser{a: a, door: &Door{Name: "other", Gate: withTokens(t, line)}, cookies: b.cookies}
		if elsewhere.in() {
			t.Error("it counts at another door")
		}
		away := fresh()
		away.login(t, other)
		must.Do(t, os.WriteFile(gate.Tokens.path, []byte(strings.Replace(line, " read ", " read,put:mail ", 1)), 0o600))
		if w := b.ask("GET", "/api/v1/", ""); !strings.Contains(w.Body.String(), `"rights":"read,put:mail"`) {
			t.Errorf("its rights are not those of the file: %s", w.Body)
		}
		if away.in() {
			t.Error("a session outlived its token")
		}
	})
}

// One token has a hundred sessions at most, and takes none from another one; what is over is forgotten.
func TestManySessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sessions
		anna, bert := sha256.Sum256([]byte("anna")), sha256.Sum256([]byte("bert"))
		first := s.open(bert)
		var all []string
		for range 3 * mostSessions {
			time.Sleep(time.Millisecond)
			all = append(all, s.open(anna))
		}
		if n := len(s.all); n != mostSessions+1 {
			t.Errorf("%d are kept", n)
		}
		for i, cookie := range append(all, first) {
			if _, is := s.holder(cookie); is != (i >= 2*mostSessions) {
				t.Fatalf("session %d: %v", i, is)
			}
		}
		time.Sleep(sessionLife)
		if s.open(anna); len(s.all) != 1 {
			t.Errorf("%d are kept of which one is not over", len(s.all))
		}
	})
}

// Where browsers reach us by TLS, the cookie has a name that they take from nobody else, and without it does not count.
func TestSessionCookieNames(t *testing.T) {
	token, line, err := NewToken("anna", "read")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		prefix, proto string
		url           bool
		want          string
	}{
		{"", "", false, "oarlock-7733"}, {"", "", true, "__Host-oarlock-7733"}, {"", "https", false, "__Host-oarlock-7733"},
		{"/jobs", "https", false, "__Secure-oarlock-7733"}, {"/jobs", "", false, "oarlock-7733"},
	} {
		a := New(Options{Supervisor: aSupervisor(), Log: slog.New(slog.DiscardHandler), Prefix: test.prefix})
		gate := withTokens(t, line)
		gate.Secure = test.url
		b := &browser{a: a, door: &Door{Name: "test", Gate: gate}, cookies: map[string]*http.Cookie{}, headers: []string{"X-Forwarded-Proto", test.proto}}
		left := b.login(t, token)
		secure := strings.HasPrefix(test.want, "__")
		if path := cmp.Or(test.prefix, "/"); left.Name != test.want || left.Secure != secure || !left.HttpOnly || left.SameSite != http.SameSiteStrictMode || left.Domain != "" || left.Path != path {
			t.Errorf("%+v: %v", test, left)
		}
		b.cookies = map[string]*http.Cookie{left.Name: {Name: "oarlock-7733", Value: left.Value}}
		if b.in() == secure {
			t.Errorf("%+v: a name without its prefix: %v", test, b.in())
		}
	}
}
