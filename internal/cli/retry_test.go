package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"oarlock/internal/must"
	"oarlock/internal/show"
)

// The waits of a quartic pool are lowkiq's, and none is cut unless somebody says so.
func TestRetryPlan(t *testing.T) {
	s := newScript(t, "")
	file := filepath.Join(t.TempDir(), "c.toml")
	text := "[pools.p]\nqueues = [\"q\"]\ncommand = [\"true\"]\nretry.backoff = \"quartic\"\n" +
		"[pools.cut]\nqueues = [\"q\"]\ncommand = [\"true\"]\nretry.backoff = \"quartic\"\nretry.max_delay = \"1m\"\n"
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	var plan []show.RetryWait
	if err := json.Unmarshal([]byte(s.says(t, 0, "-c "+file+" retry plan p --json")), &plan); err != nil || len(plan) != 25 {
		t.Fatal(plan, err)
	}
	if w := plan[24]; w.Least != 24*24*24*24+15 || w.Most != w.Least+30*25 || w.Sum < 20*86400 || w.Sum > 21*86400 {
		t.Errorf("the last of 25 is %+v", w)
	}
	s.says(t, 0, "-c "+file+" retry plan cut --retries 3", "LONGEST", "1m 0s", "With 3 retries")
	s.says(t, exitGone, "-c "+file+" retry plan nosuch", "there is no pool nosuch")
	s.says(t, 64, "-c "+file+" retry plan p --retries -1", "--retries must be")
}
