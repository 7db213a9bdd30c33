package web

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// writtenRights are which right each route wants, as testdata/rights.txt says: a line each, METHOD PATH RIGHT.
func writtenRights(t *testing.T) map[string]string {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/rights.txt"))(t)
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) != 3 || all[words[0]+" "+words[1]] != "" {
			t.Fatalf("testdata/rights.txt: %q", line)
		}
		all[words[0]+" "+words[1]] = words[2]
	}
	return all
}

// A route has a rule that somebody wrote down, and no more and no less than that is what it wants: by each right, as a program
// with a token and as a browser, from our own page and from those of others. A new route needs a line of testdata/rights.txt.
func TestEveryRouteByRightAndOrigin(t *testing.T) {
	a, _ := quietly(aSupervisor())
	all := writtenRights(t)
	rights := []string{"none", "read", "put:mail", "put:other", "respond:Pay", "respond:Other", "read,put:mail", "read,respond:Pay", "write"}
	type caller struct {
		guest guest
		who   Caller
	}
	var callers []caller
	for _, text := range rights {
		c := caller{guest: as(t, text)}
		c.guest.t, c.guest.door.Origins = nil, []string{"https://jobs.example"}
		if text != "none" {
			c.who, _ = ParseRights("anna", text)
		}
		callers = append(callers, c)
	}
	origins := []struct {
		name    string
		bearer  bool
		headers []string
		ours    bool
	}{
		{"a program", true, nil, true}, {"a program, from a page of others", true, []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, true},
		{"our page", false, []string{"Sec-Fetch-Site", "same-origin"}, true}, {"our page, of an old browser", false, []string{"Origin", "http://localhost"}, true},
		{"our url", false, []string{"Origin", "https://jobs.example"}, true}, {"a script of ours", false, []string{ownHeader, "1"}, true},
		{"nothing", false, nil, false}, {"another port", false, []string{"Origin", "http://localhost:7850"}, false}, {"another scheme", false, []string{"Origin", "https://localhost"}, false},
		{"another port of url", false, []string{"Origin", "https://jobs.example:8443"}, false}, {"another port, as the browser says", false, []string{"Origin", "http://localhost", "Sec-Fetch-Site", "same-site"}, false},
		{"somebody else", false, []string{"Origin", "https://evil.example"}, false}, {"a sandbox", false, []string{"Origin", "null"}, false},
		{"somebody else, as the browser says", false, []string{"Sec-Fetch-Site", "cross-site"}, false},
	}
	tried := 0
	for i := range a.Routes() {
		route := &a.Routes()[i]
		wanted := all[route.pattern()]
		if delete(all, route.pattern()); wanted == "" {
			t.Errorf("%s has no rule: write the right that it wants into testdata/rights.txt; it is %s now", route.pattern(), route.Right)
			continue
		}
		if wanted != route.Right.String() {
			t.Errorf("%s wants %s, and by its rule %s", route.pattern(), route.Right, wanted)
			continue
		}
		path := strings.ReplaceAll(filled(route.Path), "{klass}", "Pay")
		for _, c := range callers {
			for _, from := range origins {
				g := c.guest
				if !from.bearer {
					g.shows = nil
					if gate := g.door.Gate; c.who.Name != "" { // one may log out
						g.shows = []string{"Cookie", "oarlock=" + gate.sessions.open(gate.Tokens.lines[0].hash())}
					}
				}
				w := g.ask(a, route.Method, path, "", from.headers...)
				code := codeOf(w)
				if w.Code == http.StatusSeeOther && strings.HasPrefix(w.Header().Get("Location"), "/login?") {
					code = "no_token"
				}
				if !slices.Contains([]string{"no_token", "no_right", "cross_origin", "read_only"}, code) {
					code = "" // it was let in
				}
				tried++
				if want := refusal(route, c.who, from.bearer, from.ours); !slices.Contains(want, code) {
					t.Errorf("%s with %s, from %s: %q, want %q (%d %.100s)", route.pattern(), c.who.Rights(), from.name, code, want, w.Code, w.Body)
				}
			}
		}
	}
	for pattern := range all {
		t.Errorf("testdata/rights.txt has a rule for %s, which there is not", pattern)
	}
	if want := len(a.Routes()) * len(rights) * len(origins); tried != want {
		t.Errorf("%d of %d were tried", tried, want)
	}
}

// refusal is how a request has to be refused, "" if it is to be let in.
func refusal(route *Route, who Caller, bearer, ours bool) []string {
	known := who.Name != ""
	switch {
	case route.Right == Open && route.safe():
		return []string{""}
	case route.Right == Open: // who logs in or out is a browser, and no token helps
		if ours && !bearer {
			return []string{""}
		}
		return []string{"cross_origin"}
	case !known, route.Who != nil && !bearer: // a program with a token is asked for, and no cookie counts
		return []string{"no_token"}
	case !route.safe() && !ours:
		return []string{"cross_origin"}
	case !who.May(route.Right):
		return []string{"no_right"}
	case route.Right == Put && !route.safe() && strings.Contains(route.Path, "{queue}") && !who.MayPut("mail"):
		return []string{"no_right"}
	case route.Right == Respond && strings.Contains(route.Path, "{klass}") && !who.MayRespond("Pay"):
		return []string{"no_right"}
	case route.Right == Respond && route.Page && !route.safe() && !who.May(Read):
		return []string{"no_right"}
	}
	return []string{""}
}

// hash is that of the token of a line.
func (l tokenLine) hash() (sum [32]byte) {
	copy(sum[:], l.sum)
	return sum
}
