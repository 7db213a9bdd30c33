package cli

import (
	"encoding/json"
	"math"
	"testing"

	"oarlock/internal/explain"
	"oarlock/queue"
)

// A recurring job that was set aside is due never, in words and in JSON.
func TestASetAsideRecurringJobIsDueNever(t *testing.T) {
	for at, want := range map[float64]string{math.Inf(1): "never", 1e300: "never", math.Inf(-1): "before all time"} {
		if got := explain.DueWords(1e9, at); got != want {
			t.Errorf("due at %v: %q, want %q", at, got, want)
		}
	}
	text, err := json.Marshal(viewRecur(&queue.Recurring{JID: "r", Next: math.Inf(1), Damage: "its field interval is 0"}))
	var read map[string]any
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if next, there := read["next"]; err != nil || !there || next != nil || read["damage"] == "" {
		t.Errorf("%s, %v", text, err)
	}
}
