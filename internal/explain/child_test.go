package explain

import (
	"testing"

	"oarlock/supervisor"
)

// A child that has yet to start has no pid to be named by, and a job that told no progress has nothing
// behind a colon.
func TestHowTheChildOfAJobIsNamed(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{childText(supervisor.SlotSnapshot{Slot: 1}), "child 1, which is starting,"},
		{childText(supervisor.SlotSnapshot{Slot: 1, PID: 7}), "child 1 (pid 7)"},
		{afterColon(""), "."},
		{afterColon(progressText(nil, "page 4")), ": page 4"},
	} {
		if tt.got != tt.want {
			t.Errorf("it says %q, want %q", tt.got, tt.want)
		}
	}
}
