package show

import (
	"strings"
	"testing"

	"oarlock/internal/ops"
)

// What can be done about a job that waits for an answer stands in one column, however long its names are.
func TestWhatToDoAboutAParkedJobStandsInOneColumn(t *testing.T) {
	for _, correlation := range []string{"o", "order-17-of-a-long-name $(x)"} {
		var out strings.Builder
		ParkedJob(&out, ops.Job{JID: "j1", Klass: "Pay", Queue: "payments", Correlation: correlation}, 0)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 4 {
			t.Fatalf("it says %q", out.String())
		}
		at := strings.Index(lines[1], "answers it")
		if at < 0 || strings.Index(lines[2], "lets it wait longer") != at || strings.Index(lines[3], "fails it") != at {
			t.Errorf("it says\n%s", out.String())
		}
	}
}
