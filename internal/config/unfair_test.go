package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// TestOnlyOneThrottleTakesTurns: the check names the throttles whose values take no turns, for those of another do.
func TestOnlyOneThrottleTakesTurns(t *testing.T) {
	throttles := "throttles.region = { limit = 9, by = \"/region\" }\nthrottles.customer = { limit = 9, by = \"/customer\" }\nthrottles.erp.limit = 3\n"
	pool := "[pools.b]\ncommand = [\"true\"]\nqueues = [\"q\"]\n"
	for _, tt := range []struct{ queue, says string }{
		{`throttles = ["erp", "region"]`, ""},
		{`fair_by = "/tenant"`, ""},
		{`throttles = ["erp", "region", "customer"]`, "queues.q: values of /region take turns; those of throttles.customer do not while places are free."},
		{"fair_by = \"/tenant\"\nqueues.q." + `throttles = ["region", "customer"]`, "queues.q: values of /tenant take turns; those of throttles.region, throttles.customer do not while places are free."},
	} {
		file := filepath.Join(t.TempDir(), "c.toml")
		must.Do(t, os.WriteFile(file, []byte(throttles+"queues.q."+tt.queue+"\n"+pool), 0o600))
		cfg := must.Get(Load(Options{Path: file, Env: func(string) (string, bool) { return "", false }}))(t)
		var says []string
		for _, warning := range cfg.Warnings() {
			if strings.Contains(warning, "take turns") {
				says = append(says, warning)
			}
		}
		if got := strings.Join(says, "\n"); got != tt.says {
			t.Errorf("%s\nsays %q, want %q", tt.queue, got, tt.says)
		}
	}
}
