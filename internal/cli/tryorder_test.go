package cli

import (
	"strings"
	"testing"
)

// The order of stdout and stderr is not known, and that is said; where only one was used, it is not.
func TestTrySaysThatOrderIsNotKnown(t *testing.T) {
	s := newScript(t, "")
	for script, want := range map[string]bool{"echo a; echo b >&2; echo c": true, "echo a; echo b": false, "echo a >&2": false} {
		if err := s.oarlock(exitOK, []string{"try", "--job", "1", "--", "sh", "-c", script}); err != nil {
			t.Fatalf("%s: %v %s", script, err, s.said["stderr"])
		}
		if said := strings.Contains(s.said["stdout"]+s.said["stderr"], "may have changed places"); said != want {
			t.Errorf("%s: %s", script, s.said["stdout"])
		}
	}
}
