package cli

import (
	"strings"
	"testing"

	"oarlock/internal/must"
)

// What a repair would do is said first and done only when asked for, job by job.
func TestDoctorSaysWhatItWouldRepair(t *testing.T) {
	s, client := scriptOn(t, "")
	raw := client.Redis()
	for _, jid := range []string{"a", "b"} {
		must.Do(t, s.oarlock(0, []string{"put", "q", "--jid", jid}))
	}
	raw.Del(t.Context(), "ql:q:q-work")
	for _, step := range []struct {
		args    string
		code    int
		says    string
		waiting int64
	}{
		{"doctor --fix --dry-run", 1, "✗ bad keys: JID is waiting, but nowhere in q\n    oarlock doctor --fix: waits for a worker\n", 0},
		{"doctor", 1, "✗ bad keys: JID is waiting, but nowhere in q\n", 0},
		{"doctor --fix", 0, "✓ repaired keys: JID is waiting, but nowhere in q: waits for a worker\n", 2},
		{"doctor --fix", 0, "✓ keys: All of 2 jobs are where they say they are.", 2},
	} {
		if err := s.oarlock(step.code, strings.Fields(step.args)); err != nil {
			t.Errorf("%s: %v", step.args, err)
		}
		for _, jid := range []string{"a", "b"} {
			if says := strings.ReplaceAll(step.says, "JID", jid); !strings.Contains(s.said["stdout"], says) {
				t.Errorf("%s does not say %q:\n%s", step.args, says, s.said["stdout"])
			}
		}
		if n := raw.ZCard(t.Context(), "ql:q:q-work").Val(); n != step.waiting {
			t.Errorf("%s: %d jobs wait, want %d", step.args, n, step.waiting)
		}
	}
}
