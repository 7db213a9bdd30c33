package cli

import (
	"strings"
	"testing"

	"oarlock/queue"
)

// TestAdviceCanBeCopied looks for a name that a shell would obey in the commands that are advised.
func TestAdviceCanBeCopied(t *testing.T) {
	s, q := scriptOn(t, "")
	for _, name := range []string{"$(touch pwned)", "x; touch pwned"} {
		put := func(queueName, jid string) {
			t.Helper()
			if _, err := q.PutAll(t.Context(), []queue.Put{{Queue: queueName, JID: jid, Klass: "k", Data: []byte("{}")}}); err != nil {
				t.Fatal(err)
			}
		}
		put("work", name+" failed")
		if _, err := q.Pop(t.Context(), "work", "w", 1); err != nil {
			t.Fatal(err)
		}
		if err := q.Fail(t.Context(), name+" failed", "w", "group", "message"); err != nil {
			t.Fatal(err)
		}
		put("work", name+" runs")
		if _, err := q.Pop(t.Context(), "work", "w", 1); err != nil {
			t.Fatal(err)
		}
		put(name, name)
		if err := q.Pause(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			ask  []string
			want string
		}{
			{[]string{"job", "why", name + " failed"}, "oarlock job retry '" + name + " failed'"},
			{[]string{"job", "why", name}, "oarlock queue resume '" + name + "'"},
			{[]string{"job", "retry", name + " runs"}, "oarlock job timeout '" + name + " runs'"},
		} {
			s.anyCode(tt.ask)
			if said := s.said["stdout"] + s.said["stderr"]; !strings.Contains(said, tt.want) {
				t.Errorf("%q: not %s in %s", tt.ask, tt.want, said)
			}
		}
	}
}
