package web

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/ops"
	"oarlock/queue"
)

// A recurring job of either kind is made and changed by forms; what was not typed stays, line breaks in names and the data too.
func TestRecurringByForms(t *testing.T) {
	a, q := browsed(t)
	g := as(t, "write")
	post := func(path string, form url.Values, code int, says string) {
		t.Helper()
		if got, text, _ := g.browse(a, "POST", path, form.Encode()); got != code || !strings.Contains(text, says) {
			t.Errorf("%s %v: %d, want %d and %q: %s", path, form, got, code, says, mainOf(text))
		}
	}
	add := func(more url.Values) url.Values {
		form := url.Values{"name": {"n"}, "queue": {"reports"}, "klass": {"Report"}, "data": {`{"password":"hunter2"}`}}
		for name, value := range more {
			form[name] = value
		}
		return form
	}
	post("/recurring/_/add", add(nil), 400, "one of both")
	post("/recurring/_/add", add(url.Values{"cron": {"@hourly"}, "every": {"10m"}}), 400, "one of both")
	post("/recurring/_/add", add(url.Values{"every": {"-1s"}}), 400, "is no interval")
	post("/recurring/_/add", add(url.Values{"every": {"10m"}, "name": {"i"}}), 303, "")
	post("/recurring/_/add", add(url.Values{"cron": {"0 4 * * *"}, "zone": {"Europe/Berlin"}}), 303, "")
	_, text, _ := g.browse(a, "GET", "/recurring/n/change", "")
	if !strings.Contains(text, `value="0 4 * * *"`) || !strings.Contains(text, `<option value="run-once" selected>`) || strings.Contains(text, "hunter2") {
		t.Errorf("the form: %s", text)
	}
	if _, text, _ := g.browse(a, "GET", "/recurring/n", ""); strings.Count(text, "<li><time") != 5 {
		t.Errorf("its next runs: %s", mainOf(text))
	}
	same := url.Values{"zone": {"Europe/Berlin"}, "missed": {"skip"}, "overlap": {"queue-one"}, "queue": {"reports"}, "klass": {"Report"}, "priority": {"2.5"}, "retries": {"1"}, "data": {""}}
	post("/recurring/n/change", url.Values{"cron": {"no"}}, 400, "")
	same.Set("cron", "30 5 * * *")
	post("/recurring/n/change", same, 303, "")
	r, err := ops.ShowRecurring(t.Context(), q, "n")
	if err != nil || r.Cron.Schedule != "30 5 * * *" || r.Cron.Missed != "skip" || r.Cron.Overlap != "queue-one" || r.Priority != 2.5 || r.Retries != 1 || r.Payload() != `{"password":"hunter2"}` {
		t.Errorf("it is %+v %+v: %v", r, r.Cron, err)
	}
	post("/recurring/i/change", url.Values{"every": {"20m"}, "backlog": {"3"}, "queue": {"reports"}, "klass": {"Report"}}, 303, "")
	if r, err = ops.ShowRecurring(t.Context(), q, "i"); err != nil || r.Every != 1200 || r.Backlog != 3 || r.Payload() != `{"password":"hunter2"}` {
		t.Errorf("it is %+v: %v", r, err)
	}
	post("/recurring/i/change", url.Values{"every": {"soon"}}, 400, "is no interval")
	post("/recurring/i/change", url.Values{"backlog": {"x"}}, 400, "no number")
	post("/recurring/nobody/change", url.Values{"retries": {"1"}}, 404, "")
	must.Get(q.Recur(t.Context(), queue.Recurring{JID: "odd", Queue: "a\nb ", Klass: "k", Interval: time.Hour}))(t)
	post("/recurring/odd/change", url.Values{"every": {"2h"}, "queue": {"ab"}, "klass": {"k"}}, 303, "") // as a browser sends what the form shows
	if r, err = ops.ShowRecurring(t.Context(), q, "odd"); err != nil || r.Queue != "a\nb " || r.Every != 7200 {
		t.Errorf("its queue is %q: %v", r.Queue, err)
	}
}
