package hub

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"oarlock/internal/must"
	"oarlock/supervisor"
)

// Each kind of event that there is can be listened to, or is one of those that come with every call or job.
func TestKinds(t *testing.T) {
	source := must.Get(os.ReadFile("../../supervisor/report/event.go"))(t)
	found := regexp.MustCompile(`EventKind += "([a-z-]+)"`).FindAllSubmatch(source, -1)
	if len(found) < len(kinds) {
		t.Fatalf("%d kinds are read, and there are %d", len(found), len(kinds))
	}
	h := New(Options{})
	defer h.Listen().Close()
	for _, kind := range found {
		kind := supervisor.EventKind(kind[1])
		if kept := h.keeps(&supervisor.Event{Kind: kind}); kept != slices.Contains(kinds, kind) {
			t.Errorf("%s is kept (%t), and one can ask for it: %t", kind, kept, !kept)
		}
	}
}
