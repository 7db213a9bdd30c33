package web

import (
	"strings"
	"testing"
)

// The pages of keys tell who has the turn and who stands behind; a key is dropped, and the order of a queue given up, by forms that
// say how many jobs that means; who cannot pass is told why.
func TestPagesOfKeys(t *testing.T) {
	a, q := browsed(t)
	g := as(t, "write")
	says := func(path string, wants ...string) {
		t.Helper()
		code, text, _ := g.browse(a, "GET", path, "")
		for _, want := range wants {
			if code != 200 || !strings.Contains(text, want) {
				t.Errorf("%s: %d, and it does not say %q: %s", path, code, want, mainOf(text))
			}
		}
	}
	says("/queues/ordered/keys", `href="/queues/ordered/keys/c"`, `href="/jobs/k0"`, "1 of 1 key; 2 jobs behind")
	says("/queues/ordered/keys?by=name", "2 of 2 keys", `href="/queues/ordered/keys/a%2Fb%20%3Ci%3E"`)
	says("/queues/mail/keys", "Nobody stands behind another")
	says("/queues/ordered/keys/c", "has the turn", `href="/jobs/k1"`, `href="/jobs/k2"`, "Cancel all its jobs…")
	says("/queues/ordered", `href="/queues/ordered/keys"`)
	if code, text, _ := g.browse(a, "POST", "/queues/ordered/keys/c/pass", ""); code != 409 || !strings.Contains(text, "is not held by a failed job") {
		t.Errorf("passed: %d %s", code, mainOf(text))
	}
	says("/queues/ordered/keys/c/drop", "Cancel 3 jobs of key c")
	if code, text, _ := g.browse(a, "POST", "/queues/ordered/keys/c/drop", ""); code != 303 {
		t.Errorf("dropped: %d %s", code, mainOf(text))
	}
	for _, jid := range []string{"k0", "k1", "k2"} {
		if _, err := q.Get(t.Context(), jid); err == nil {
			t.Errorf("%s is there", jid)
		}
	}
	if _, err := q.Get(t.Context(), "k3"); err != nil {
		t.Errorf("one of another key: %v", err)
	}
	if code, text, _ := g.browse(a, "GET", "/queues/ordered/keys/c", ""); code != 404 || !strings.Contains(strings.ToLower(text), "no job of key c") {
		t.Errorf("%d %s", code, mainOf(text))
	}
	says("/queues/ordered/free", "Give up the order of ordered", "0 jobs stand behind")
	if code, text, _ := g.browse(a, "POST", "/queues/ordered/free", ""); code != 303 {
		t.Errorf("freed: %d %s", code, mainOf(text))
	}
	if code, _, _ := as(t, "read").browse(a, "POST", "/queues/ordered/free", ""); code != 403 {
		t.Errorf("who may only look gave it up: %d", code)
	}
}
