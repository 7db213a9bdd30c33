package web

import (
	"encoding/json"
	"testing"

	"oarlock/internal/ops"
	"oarlock/queue"
)

// A queue that was looked at has the outlook that its page has.
func TestQueuesHaveAnOutlook(t *testing.T) {
	a, q := apart(t)
	g := as(t, "read")
	if _, err := q.Put(t.Context(), queue.Put{Queue: "mail", Klass: "K"}); err != nil {
		t.Fatal(err)
	}
	if err := q.Pause(t.Context(), "mail"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/v1/queues", "/api/v1/queues", "/api/v1/queues/mail"} {
		text := wants(t, 200, g.ask(a, "GET", path, ""))
		var list struct{ Items []ops.Queue }
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatal(err)
		}
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
