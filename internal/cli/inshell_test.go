package cli

import (
	"strings"
	"testing"

	"oarlock/internal/must"
	"oarlock/queue"
)

// TestAdviceCanBeCopied looks for a name that a shell would obey in the commands that are advised.
func TestAdviceCanBeCopied(t *testing.T) {
	s, q := scriptOn(t, "")
	for _, name := range []string{"$(touch pwned)", "x; touch pwned"} {
		put := func(queueName, jid string) {
			t.Helper()
			must.Get(q.PutAll(t.Context(), []queue.Put{{Queue: queueName, JID: jid, Klass: "k", Data: []byte("{}")}}))(t)
		}
		put("work", name+" failed")
		must.Get(q.Pop(t.Context(), "work", "w", 1))(t)
		must.Do(t, q.Fail(t.Context(), name+" failed", "w", "group", "message"))
		put("work", name+" runs")
		must.Get(q.Pop(t.Context(), "work", "w", 1))(t)
		put(name, name)
		must.Do(t, q.Pause(t.Context(), name))
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
