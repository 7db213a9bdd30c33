package metrics

import (
	"os"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// The document lists every metric, as it is.
func TestTheDocumentListsThem(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/metrics.md"))(t)
	lines := strings.Count(string(text), "\n| `oarlock_")
	for _, m := range table {
		labels := strings.Join(m.labels, ", ")
		row := "\n| `" + m.name + "` | " + string(m.kind) + " | " + labels + " | " + m.help + " |\n"
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/metrics.md lacks the line%s", row)
		}
	}
	if lines != len(table) {
		t.Errorf("docs/metrics.md has %d lines of metrics, and there are %d", lines, len(table))
	}
}
