package web

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"oarlock/internal/must"
	"oarlock/queue"
)

// refs are the boxes of a page, as a browser sends them.
var refs = regexp.MustCompile(`name="job" value="([^"]*)"`)

func refsOn(t *testing.T, a *App, g guest, path string) (all []string) {
	t.Helper()
	_, text, _ := g.browse(a, "GET", path, "")
	for _, m := range refs.FindAllStringSubmatch(text, -1) {
		all = append(all, html.UnescapeString(m[1]))
	}
	if len(all) == 0 {
		t.Fatalf("%s has no boxes: %s", path, mainOf(text))
	}
	return all
}

// What is chosen in a list is changed only if it is as it was when it was shown: a second click, or one on a list that is
// old, leaves it alone and says so; irrevocable deeds ask first, and one button means its own row.
func TestChosenJobs(t *testing.T) {
	a, q := browsed(t)
	g := as(t, "write")
	none := 0
	for _, jid := range []string{"f1", "f2", "a\nb/<i>"} {
		must.Get(q.Put(t.Context(), queue.Put{Queue: "bad", JID: jid, Klass: "Resize", Retries: &none}))(t)
		must.Get(q.Pop(t.Context(), "bad", "w", 1))(t)
		must.Do(t, q.Fail(t.Context(), jid, "w", "exit-1", "no"))
	}
	post := func(form url.Values) (code int, told, text string) {
		code, text, header := g.browse(a, "POST", "/jobs", form.Encode())
		told, _ = url.QueryUnescape(strings.TrimPrefix(header.Get("Set-Cookie"), cookieTold+"="))
		return code, told, text
	}
	seen := refsOn(t, a, g, "/failures/exit-1") // the newest first: a\nb, f2, f1, f
	if len(seen) != 4 {
		t.Fatal(seen)
	}
	if code, told, _ := post(url.Values{"one": {"retry " + seen[0]}, "job": seen[1:]}); code != 303 || !strings.Contains(told, "Done: 1 job retried") {
		t.Errorf("the button of a row: %d %s", code, told)
	}
	if code, told, _ := post(url.Values{"one": {"retry " + seen[0]}}); code != 303 || !strings.Contains(told, "0 jobs retried; 1 job left alone") {
		t.Errorf("the same again: %d %s", code, told)
	}
	if job, err := q.Get(t.Context(), "a\nb/<i>"); err != nil || job.Row != "waiting" {
		t.Errorf("it is %+v %v", job, err)
	}
	code, _, text := post(url.Values{"do": {"drop"}, "job": seen[:2]})
	if code != 200 || !strings.Contains(text, "Drop 2 jobs") || !strings.Contains(text, "cannot be taken back") {
		t.Errorf("a drop does not ask: %d %s", code, mainOf(text))
	}
	if _, err := q.Get(t.Context(), "f2"); err != nil {
		t.Errorf("it is gone without a word: %v", err)
	}
	if code, told, _ := post(url.Values{"do": {"drop"}, "sure": {"1"}, "back": {"/failures/exit-1"}, "job": seen[:2]}); code != 303 || !strings.Contains(told, "1 job dropped; 1 job left alone") {
		t.Errorf("of two of which one was retried: %d %s", code, told)
	}
	if code, told, _ := post(url.Values{"do": {"move"}, "sure": {"1"}, "to": {"other"}, "back": {"//evil.example"}, "job": seen[2:3]}); code != 303 || !strings.Contains(told, "1 job moved") {
		t.Errorf("a move: %d %s", code, told)
	}
	if job, err := q.Get(t.Context(), "f1"); err != nil || job.Queue != "other" {
		t.Errorf("it is %+v %v", job, err)
	}
	for _, form := range []url.Values{{"do": {"explode"}, "job": seen[:1]}, {"do": {"retry"}, "job": {"x"}}, {"do": {"retry"}, "job": {"~f"}}, {"one": {"retry"}}, {"do": {"move"}, "sure": {"1"}, "job": seen[3:]}} {
		if code, _, text := post(form); code != 400 {
			t.Errorf("%v: %d %s", form, code, mainOf(text))
		}
	}
	if job, err := q.Get(t.Context(), "f"); err != nil || job.Row != "failed" {
		t.Errorf("who was never chosen is %+v %v", job, err)
	}
}

// In each list the boxes and buttons are those that the states in it have a use for.
func TestButtonsOfLists(t *testing.T) {
	a, q := browsed(t)
	g := as(t, "write")
	for path, want := range map[string]string{
		"/queues/mail?state=running": "take_back", "/queues/mail?state=scheduled": "now move cancel", "/queues/mail?state=depends": "cancel", "/tags/t": "take_back cancel",
		"/tracked": "take_back", "/workers/web2-4711-mail-1": "take_back", "/search?q=queue%3Amail+state%3Ascheduled": "now move cancel", "/failures/exit-1": "retry move drop",
	} {
		_, text, _ := g.browse(a, "GET", path, "")
		var got []string
		for _, m := range regexp.MustCompile(`name="do" value="([a-z_]+)"`).FindAllStringSubmatch(text, -1) {
			got = append(got, m[1])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has %q, want %q", path, got, want)
		}
	}
	form := url.Values{"one": {"now " + refsOn(t, a, g, "/queues/mail?state=scheduled")[0]}}
	if code, text, _ := g.browse(a, "POST", "/jobs", form.Encode()); code != 303 {
		t.Errorf("%d %s", code, mainOf(text))
	}
	if job, err := q.Get(t.Context(), "later"); err != nil || job.Row != "waiting" {
		t.Errorf("it is %+v %v", job, err)
	}
}

// Names with line breaks, which browsers change in forms, reach us as they are.
func TestNamesInForms(t *testing.T) {
	a, q := browsed(t)
	g := as(t, "write")
	_, text, _ := g.browse(a, "GET", "/queues", "")
	if !strings.Contains(html.UnescapeString(text), `value="`+url.QueryEscape(odd)+`"`) {
		t.Fatalf("no box for %q: %s", odd, text)
	}
	if code, text, _ := g.browse(a, "POST", "/queues", url.Values{"do": {"pause"}, "queue": {url.QueryEscape(odd), "mail"}}.Encode()); code != 303 {
		t.Fatalf("%d %s", code, mainOf(text))
	}
	for _, name := range []string{odd, "mail"} {
		if counts, err := q.Queue(t.Context(), name); err != nil || !counts.Paused {
			t.Errorf("%q is not paused: %+v %v", name, counts, err)
		}
	}
}
