package web

import (
	"net/http"
	"strings"
	"testing"
)

// A browser is never asked for a password by an answer: it would lay its own window over the page, and ask again and again.
func TestNoBrowserIsAskedForAPassword(t *testing.T) {
	a, _ := browsed(t)
	g := as(t, "none")
	for name, header := range map[string][]string{
		"a form": {"Accept", "text/html", "Content-Type", "application/x-www-form-urlencoded"}, "a stream": {"Accept", "text/event-stream"}, "a fetch": {"X-Oarlock", "1"}, "a cookie": {"Cookie", "oarlock=old"}, "a program": {},
	} {
		w := g.ask(a, "POST", "/queues/mail/pause", "", header...)
		basic := strings.Contains(strings.Join(w.Header().Values("WWW-Authenticate"), " "), "Basic")
		if w.Code != http.StatusUnauthorized || basic != (name == "a program") {
			t.Errorf("%s: %d, asked for a password: %t", name, w.Code, basic)
		}
	}
	if w := g.ask(a, "POST", "/queues/mail/pause", "", "Accept", "text/html", "Referer", "http://localhost/queues/mail"); !strings.Contains(w.Body.String(), "You are not logged in, or not any more") {
		t.Errorf("%s", mainOf(w.Body.String()))
	}
}
