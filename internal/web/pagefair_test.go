package web

import (
	"strings"
	"testing"
)

// TestAFairQueueTellsItsTurns: the page of a fair queue and the API say how many values wait and which is next; of another queue nothing.
func TestAFairQueueTellsItsTurns(t *testing.T) {
	a, _ := browsed(t)
	g := as(t, "write")
	if code, text, _ := g.browse(a, "GET", "/queues/ruled", ""); code != 200 || !strings.Contains(text, "values of /region take turns; 2 values wait") {
		t.Errorf("the page of a fair queue: %d %s", code, mainOf(text))
	}
	if code, text, _ := g.browse(a, "GET", "/queues/nightly", ""); code != 200 || strings.Contains(text, "take turns") {
		t.Errorf("the page of another queue: %d %s", code, mainOf(text))
	}
	api := steer{t, a, g}
	text := api.wants(200, "GET", "/queues/ruled", "")
	if fair, is := field(t, text, "fair").(map[string]any); !is || fair["values"] != 2.0 || fair["by"] != "/region" || fair["longest"] == "" {
		t.Errorf("the API of a fair queue: %s", text)
	}
	if text := api.wants(200, "GET", "/queues/nightly", ""); strings.Contains(text, `"fair"`) {
		t.Errorf("the API of another queue: %s", text)
	}
}
