package ops

import (
	"encoding/json"
	"math"
	"testing"

	"oarlock/queue"
)

// A recurring job that was set aside is due never in JSON, too.
func TestASetAsideRecurringJobIsDueNever(t *testing.T) {
	text, err := json.Marshal(viewRecur(&queue.Recurring{JID: "r", Next: math.Inf(1), Damage: "its field interval is 0"}))
	var read map[string]any
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if next, there := read["next"]; err != nil || !there || next != nil || read["damage"] == "" {
		t.Errorf("%s, %v", text, err)
	}
}
