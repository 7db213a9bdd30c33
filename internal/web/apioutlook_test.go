package web

import (
	"encoding/json"
	"testing"

	"oarlock/internal/must"
	"oarlock/internal/ops"
	"oarlock/queue"
)

// A queue that was looked at has the outlook that its page has.
func TestQueuesHaveAnOutlook(t *testing.T) {
	a, q := apart(t)
	g := as(t, "read")
	must.Get(q.Put(t.Context(), queue.Put{Queue: "mail", Klass: "K"}))(t)
	must.Do(t, q.Pause(t.Context(), "mail"))
	for _, path := range []string{"/api/v1/queues", "/api/v1/queues", "/api/v1/queues/mail"} {
		text := wants(t, 200, g.ask(a, "GET", path, ""))
		var list struct{ Items []ops.Queue }
		must.Do(t, json.Unmarshal([]byte(text), &list))
		one := ops.Queue{}
		if list.Items != nil {
			one = list.Items[0]
		} else if err := json.Unmarshal([]byte(text), &one); err != nil {
			t.Fatal(err)
		}
		if one.Outlook == nil || one.Outlook.Word != "paused" || one.Outlook.Says != a.looks.Outlook("mail", "").Says {
			t.Errorf("%s: %s", path, text)
		}
	}
}
