package web

import (
	"slices"
	"testing"

	"oarlock/internal/must"
	"oarlock/queue"
)

// Whoever does something to one job stands in its history, by page as by API; a note has the name beside it, and what was refused leaves nothing.
func TestDeedsAreSigned(t *testing.T) {
	a, q := apart(t)
	g := as(t, "write")
	must.Get(q.Put(t.Context(), queue.Put{Queue: "mail", JID: "j", Klass: "K", Delay: 1 << 40}))(t)
	g.browse(a, "POST", "/jobs/j/track", "")
	g.browse(a, "POST", "/jobs/j/priority", "priority=high")
	g.browse(a, "POST", "/jobs/j/note", "text=look+here")
	wants(t, 200, g.ask(a, "POST", "/api/v1/jobs/j/priority", `{"priority": 7}`))
	job := must.Get(q.Get(t.Context(), "j"))(t)
	var told []string
	for _, e := range job.History[1:] {
		told = append(told, e.What)
	}
	if !slices.Equal(told, []string{"track job, by anna", "look here", "change priority of job, by anna"}) {
		t.Errorf("its history is %q", told)
	}
}
