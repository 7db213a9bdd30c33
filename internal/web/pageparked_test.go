package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"oarlock/internal/must"
	"oarlock/internal/ops"
	"oarlock/queue"
)

// The page of parked jobs names who waits for what until when; an answer given there is told once, and a second one is
// refused with a reason.
func TestParkedPage(t *testing.T) {
	a, q := browsed(t)
	parks(t, q, "pay", "other", "order-18")
	g := as(t, "write")
	code, text, _ := g.browse(a, "GET", "/parked?queue=pay", "")
	for _, want := range []string{"order-17", "order-18", `href="/jobs/p/answer"`, "<time datetime=", "2 parked, of 2 looked at"} {
		if code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%d, and it does not say %q: %s", code, want, mainOf(text))
		}
	}
	if _, text, _ := g.browse(a, "GET", "/parked?queue=mail", ""); !strings.Contains(text, "No job is parked") && !strings.Contains(text, "0 parked, of 1 looked at") {
		t.Errorf("of another queue: %s", mainOf(text))
	}
	if _, text, _ := g.browse(a, "GET", "/jobs/p", ""); !strings.Contains(text, "It waits for an answer to order-17") || !strings.Contains(text, "/jobs/p/answer") || strings.Contains(text, "/jobs/p/move") {
		t.Errorf("the page of the job: %s", mainOf(text))
	}
	for _, test := range []struct {
		path, form, says string
		code             int
	}{
		{"p/extend", "timeout=soon", "is no duration", 400}, {"p/extend", "timeout=-1h", "a second at least", 400}, {"p/extend", "timeout=48h", "", 303},
		{"j/extend", "timeout=1h", "waits for no answer; it is running", 409}, {"j/unanswered", "", "waits for no answer; it is running", 409},
	} {
		if code, text, _ := g.browse(a, "POST", "/jobs/"+test.path, test.form); code != test.code || !strings.Contains(text, test.says) {
			t.Errorf("%s with %s: %d, want %d and %q: %s", test.path, test.form, code, test.code, test.says, mainOf(text))
		}
	}
	if job, err := ops.Glance(t.Context(), q, "p"); err != nil || job.State != "parked" || job.Due < q.Now()+47*3600 {
		t.Errorf("it is %+v: %v", job, err)
	}
	if _, text, _ := g.browse(a, "GET", "/jobs/p", ""); !strings.Contains(text, "/jobs/p/extend") {
		t.Errorf("the page of the job offers to wait no longer: %s", mainOf(text))
	}
	if code, text, _ := g.browse(a, "POST", "/jobs/"+url.PathEscape("o18")+"/unanswered", "error=no+money"); code != 404 {
		t.Errorf("of none: %d %s", code, mainOf(text))
	}
	if code, text, _ := g.browse(a, "POST", "/jobs/other/unanswered", "error=no+money"); code != 303 {
		t.Errorf("one is failed: %d %s", code, mainOf(text))
	}
	for _, test := range []struct {
		form, says string
		code       int
	}{
		{"data=%7B", "is no JSON", 400}, {"data=1&error=no", "give one of them", 400}, {"end=soon", "bad end", 400},
		{"data=" + url.QueryEscape(`{"paid": true}`), "", 303}, {"data=2", "answered already", 409},
	} {
		if code, text, _ := g.browse(a, "POST", "/jobs/p/answer", test.form); code != test.code || !strings.Contains(text, test.says) {
			t.Errorf("%s: %d, want %d and %q: %s", test.form, code, test.code, test.says, mainOf(text))
		}
	}
	job, err := q.Get(t.Context(), "p")
	if err != nil || job.Row == "parked" || job.Kept.Answered != "came" {
		t.Errorf("it is %+v: %v", job, err)
	}
	if code, text, _ := g.browse(a, "POST", "/jobs/j/answer", "data=1"); code != 409 || !strings.Contains(text, "waits for no answer") {
		t.Errorf("of one that waits for none: %d %s", code, mainOf(text))
	}
}

// Who may answer and look may answer from the page, and is offered nothing else; who may only look, or put, is offered nothing.
func TestWhoAnswersParkedJobs(t *testing.T) {
	a, q := browsed(t)
	all := map[string]bool{"read": false, "read,put:mail": false, "read,respond": true, "respond": false, "write": true}
	for rights := range all {
		parks(t, q, "pay "+rights, "for "+rights, rights)
	}
	for rights, may := range all {
		g := as(t, rights)
		path := "/jobs/" + url.PathEscape("for "+rights) + "/answer"
		if _, text, _ := g.browse(a, "GET", "/parked", ""); rights != "respond" && strings.Contains(text, path) != may {
			t.Errorf("%s: the button is offered: %t", rights, !may)
		}
		if code, _, _ := g.browse(a, "POST", path, "error=no"); (code == http.StatusSeeOther) != may {
			t.Errorf("%s: %d", rights, code)
		}
	}
}

// The page of the doctor shows what was found, the worst first, with the remedy as a command; it mends nothing, and whoever may
// only look has it not looked at.
func TestDoctorPage(t *testing.T) {
	a, q := browsed(t)
	must.Do(t, q.SetThrottle(t.Context(), queue.Throttle{ID: "held", Maximum: 1}))
	q.Redis().Do(t.Context(), "ZADD", "ql:q:mail-work", "1", "nobody")
	before := dump(t, q)
	g := as(t, "write")
	if _, text, _ := g.browse(a, "GET", "/doctor", ""); !strings.Contains(text, "Nobody has had it looked at") {
		t.Errorf("before: %s", mainOf(text))
	}
	if code, text, header := g.browse(a, "POST", "/doctor", ""); code != http.StatusSeeOther || header.Get("Location") != "/doctor" {
		t.Fatalf("%d %s", code, mainOf(text))
	}
	_, text, _ := g.browse(a, "GET", "/doctor", "")
	bad, ok := strings.Index(text, "nobody"), strings.Index(text, "append-only file")
	if bad < 0 || ok < 0 || bad > ok || !strings.Contains(text, "<code>oarlock doctor --fix</code>") || !strings.Contains(text, "could lose jobs, hold them up") {
		t.Errorf("it was found at %d and %d: %s", bad, ok, text)
	}
	if after := dump(t, q); string(before) != string(after) {
		t.Error("a look has changed the keys")
	}
	if code, _, _ := as(t, "read").browse(a, "POST", "/doctor", ""); code != http.StatusForbidden {
		t.Errorf("who may only look: %d", code)
	}
}
