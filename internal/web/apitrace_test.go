package web

import (
	"strings"
	"testing"

	"oarlock/queue"
)

// A job is part of the trace of the request that puts it, or of that which it names itself; a header that is none does not
// count, as the standard wants it, and a field that is none is refused.
func TestPutWithinATrace(t *testing.T) {
	const parent, other = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-11111111111111111111111111111111-2222222222222222-00"
	a, q := apart(t)
	g := as(t, "put:mail,read")
	for _, tt := range []struct {
		name, body string
		headers    []string
		want       queue.Trace
	}{
		{"none", `{}`, nil, queue.Trace{}},
		{"of the request", `{}`, []string{"Traceparent", parent, "Tracestate", "v=1"}, queue.Trace{Parent: parent, State: "v=1"}},
		{"of the job", `{"traceparent":"` + other + `"}`, []string{"Traceparent", parent, "Tracestate", "v=1"}, queue.Trace{Parent: other}},
		{"a header that is none", `{}`, []string{"Traceparent", strings.ToUpper(parent)}, queue.Trace{}},
		{"a state that is none", `{}`, []string{"Traceparent", parent, "Tracestate", strings.Repeat("v", 600)}, queue.Trace{Parent: parent}},
		{"a state alone", `{}`, []string{"Tracestate", "v=1"}, queue.Trace{}},
	} {
		text := wants(t, 201, g.ask(a, "POST", "/api/v1/queues/mail/jobs", tt.body, tt.headers...))
		job, err := q.Get(t.Context(), field(t, text, "jid").(string))
		if err != nil || job.Kept.Trace != tt.want {
			t.Errorf("%s: %+v, %v", tt.name, job.Kept.Trace, err)
		}
	}
	wants(t, 201, g.ask(a, "PUT", "/api/v1/jobs/order-17", `{"queue":"mail"}`, "Traceparent", parent))
	if text := wants(t, 200, g.ask(a, "GET", "/api/v1/jobs/order-17", "")); field(t, text, "traceparent") != parent {
		t.Errorf("the job is shown as %s", text)
	}
	for _, bad := range []string{`"traceparent":"x"`, `"tracestate":"v=1"`, `"traceparent":"` + parent + `","tracestate":"\n"`} {
		if code := codeOf(g.ask(a, "POST", "/api/v1/queues/mail/jobs", `{`+bad+`}`, "Traceparent", parent)); code != "bad_request" {
			t.Errorf("%s: %q", bad, code)
		}
	}
}
