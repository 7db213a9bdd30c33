package web

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"
)

// A token comes by Bearer, by Basic with its name, and no cookie has it; nobody else comes in, and the
// log names no token.
func TestTokens(t *testing.T) {
	a, log := quietly(aSupervisor())
	g := as(t, "read")
	token := strings.TrimPrefix(g.shows[1], "Bearer ")
	basic := func(name, word string) []string {
		return []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+word))}
	}
	for _, test := range []struct {
		shows []string
		want  int
	}{
		{g.shows, 200},
		{[]string{"Authorization", "bearer  " + token}, 200},
		{basic("anna", token), 200},
		{[]string{"Cookie", "oarlock=" + token}, 401},
		{nil, 401},
		{basic("bert", token), 401},
		{basic("anna", ""), 401},
		{[]string{"Authorization", "Bearer "}, 401},
		{[]string{"Authorization", "Bearer " + token[1:]}, 401},
		{[]string{"Authorization", token}, 401},
		{[]string{"Cookie", "other=" + token}, 401},
	} {
		g.shows = test.shows
		if w := g.ask(a, "GET", "/api/v1/pools", ""); w.Code != test.want {
			t.Errorf("%v: %d %s", test.shows, w.Code, w.Body)
		}
	}
	form := url.Values{"token": {token}, "next": {"/pools?x=1"}}.Encode()
	own := []string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin"}
	w := g.ask(a, "POST", "/login", form, own...)
	left := w.Header().Get("Set-Cookie")
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/pools?x=1" || !strings.Contains(left, "HttpOnly; SameSite=Strict") || !strings.Contains(left, "Path=/") {
		t.Errorf("login: %d %v", w.Code, w.Header())
	}
	if w := g.ask(a, "POST", "/login", "token=wrong", own...); w.Code != http.StatusUnauthorized {
		t.Errorf("login with a wrong token: %d", w.Code)
	}
	if w := g.ask(a, "POST", "/login", form, own[:2]...); codeOf(w) != "cross_origin" {
		t.Errorf("login by another's page: %d", w.Code)
	}
	if strings.Contains(log.String(), token) || strings.Contains(log.String(), "wrong ") {
		t.Errorf("the log has a token: %s", log)
	}
	for next, want := range map[string]string{"//evil.example": "/", "http://evil.example/": "/", "/\\evil.example": "/", "x": "/", "": "/", "/a%2Fb?c": "/a%2Fb?c"} {
		if got := local(next); got != want {
			t.Errorf("%q leads to %q", next, got)
		}
	}
}

// Of those who show wrong tokens the eleventh in a minute is told to wait, and a right one comes in all the same.
func TestWrongTokens(t *testing.T) {
	a, _ := quietly(aSupervisor())
	g := as(t, "read")
	right := g.shows
	g.shows = []string{"Authorization", "Bearer wrong"}
	for i := range 100 {
		w := g.ask(a, "GET", "/api/v1/pools", "")
		if want := map[bool]int{true: 401, false: 429}[i < mostWrong]; w.Code != want {
			t.Fatalf("the %d. is answered %d", i+1, w.Code)
		}
	}
	g.shows = right
	if w := g.ask(a, "GET", "/api/v1/pools", ""); w.Code != 200 {
		t.Errorf("a right one: %d", w.Code)
	}
	var w wrongs
	now := time.Now()
	for i := range 2 * mostAddresses {
		w.add(fmt.Sprint(i), now)
	}
	if len(w.count) > mostAddresses+1 {
		t.Errorf("%d addresses are kept", len(w.count))
	}
	if w.add("0", now.Add(time.Minute)) {
		t.Error("a minute later it is still refused")
	}
}

// The file is read again when it has changed; one that is wrong changes nothing.
func TestTokensAreReadAgain(t *testing.T) {
	token, line, _ := NewToken("anna", "read")
	other, second, _ := NewToken("bert", "put:mail")
	tokens := tokensOf(t, "# people\n\n"+line+"\n")
	knows := func(token string) bool { _, is := tokens.byToken("", token); return is }
	if !knows(token) || knows(other) || knows("") {
		t.Error("the first file")
	}
	write := func(text string) {
		t.Helper()
		path := tokens.path + ".new"
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		must.Do(t, os.Rename(path, tokens.path))
	}
	write(second)
	if knows(token) || !knows(other) {
		t.Error("the second file")
	}
	write("bert everything abc")
	if !knows(other) {
		t.Error("a file that is wrong took a token away")
	}
	must.Do(t, os.Remove(tokens.path))
	if knows(other) {
		t.Error("a token counts while the file is gone")
	}
	write(line)
	if !knows(token) {
		t.Error("the file that came back")
	}
	for text, want := range map[string]string{
		"": "has no line", "# nobody": "has no line", "anna read": "line 1: wanted are", "\nanna read " + token: "line 2: the third word is no SHA-256", "anna admin -": "is no right",
	} {
		path := filepath.Join(t.TempDir(), "tokens")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := OpenTokens(path, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, name := range []string{"", "a b", "a:b", "*", "#a", "a\u202eb"} {
		if _, _, err := NewToken(name, "read"); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
}

// A proxy is believed where it is one, and says one user.
func TestProxy(t *testing.T) {
	a, _ := quietly(aSupervisor())
	gate := &Gate{Header: "X-User", Proxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}} // httptest comes from there
	g := guest{door: &Door{Name: "proxy", Gate: gate}}
	if w := g.ask(a, "GET", "/api/v1/", "", "X-User", "anna"); w.Code != 200 || !strings.Contains(w.Body.String(), `"who":"anna","rights":"read,write"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := g.ask(a, "GET", "/api/v1/", ""); codeOf(w) != "no_user" {
		t.Errorf("without a user: %d", w.Code)
	}
	gate.Tokens = tokensOf(t, "anna read -\n* put:mail -\nbert write "+strings.Repeat("0", 64)+"\n")
	for user, want := range map[string]string{"anna": "read", "carl": "put:mail", "bert": "put:mail"} {
		who, _, err := gate.Who(&http.Request{RemoteAddr: "192.0.2.7:80", Header: http.Header{"X-User": {user}}})
		if err != nil || who.Name != user || who.Rights() != want {
			t.Errorf("%s: %+v, %v", user, who, err)
		}
	}
	for _, r := range []*http.Request{
		{RemoteAddr: "192.0.3.7:80", Header: http.Header{"X-User": {"anna"}}},
		{RemoteAddr: "@", Header: http.Header{"X-User": {"anna"}}},
		{RemoteAddr: "192.0.2.7:80", Header: http.Header{"X-User": {"anna", "bert"}}},
		{RemoteAddr: "192.0.2.7:80", Header: http.Header{"X-User": {""}}},
	} {
		if who, _, err := gate.Who(r); err == nil {
			t.Errorf("%s with %v: %+v", r.RemoteAddr, r.Header, who)
		}
	}
}

// Whoever opens the address that a command prints is let in, of a key for once only the first.
func TestKey(t *testing.T) {
	a, _ := quietly(aSupervisor())
	key := NewKey("anna", true)
	g := guest{door: &Door{Name: "loopback", Gate: &Gate{Key: key, Cookie: "oarlock-1"}}}
	address := strings.TrimPrefix(key.Address("http://127.0.0.1:1/"), "http://127.0.0.1:1")
	if w := g.ask(a, "GET", address+"x", ""); codeOf(w) != "used_up" {
		t.Errorf("another key: %d", w.Code)
	}
	if w := g.ask(a, "HEAD", address, ""); w.Code != 200 || len(w.Result().Cookies()) > 0 {
		t.Errorf("the head of it: %d %v", w.Code, w.Header())
	}
	w := g.ask(a, "GET", address, "")
	cookies := w.Result().Cookies()
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/" || len(cookies) != 1 || cookies[0].Name != "oarlock-1" {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	if w := g.ask(a, "GET", address, ""); codeOf(w) != "used_up" {
		t.Errorf("the second time: %d", w.Code)
	}
	g.shows = []string{"Cookie", cookies[0].Name + "=" + cookies[0].Value}
	if w := g.ask(a, "GET", "/api/v1/", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"who":"anna"`) {
		t.Errorf("with the cookie: %d %s", w.Code, w.Body)
	}
	if w := g.ask(a, "GET", "/login", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `method="post" action="/login"`) {
		t.Errorf("the form: %d %s", w.Code, w.Body)
	}
	again := NewKey("anna", false)
	for range 2 {
		if !again.use(again.key) {
			t.Error("a key for more than once was used up")
		}
	}
}
