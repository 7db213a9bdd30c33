package cli

import (
	"os"
	"path/filepath"
	"testing"

	"oarlock/queue"
)

// TestGoingBack is what one does who wants an older version to work a key space: see what it would not know, drain that, say so.
func TestGoingBack(t *testing.T) {
	s, c := scriptOn(t, "")
	s.says(t, 0, "downgrade --check", "Any version may work here.")
	s.says(t, 0, "put q 1 --jid a --key k")
	s.says(t, 0, "put q 1 --jid b --key k")
	s.says(t, exitFailed, "downgrade --check", "keys: to be drained before a version that does not know it works here:", "  queue q has keys: oarlock key free q")
	s.says(t, exitFailed, "downgrade --check --json", `"word": "keys"`, `"known": true`, `"ready": false`)
	parkOne(t, c, "parked", "order-1")
	s.says(t, exitFailed, "downgrade", "park: to be drained", "  job parked waits for an answer: oarlock park fail parked")
	s.says(t, 0, "park fail parked")
	s.says(t, exitFailed, "downgrade", "park: nothing is left", "What nothing needs is no longer asked of those who work here.")
	s.says(t, 0, "key free q --yes")
	s.says(t, 0, "downgrade", "Any version may work here.")

	file := filepath.Join(t.TempDir(), "fair.toml")
	if err := os.WriteFile(file, []byte("[queues.mail]\nfair_by = \"/tenant\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.says(t, 0, "-c "+file+" rules apply")
	s.says(t, exitFailed, "downgrade --check", "fair: to be drained", "  queue mail has fair_by: take it out of the files, then oarlock rules rm queues.mail")
	s.says(t, 0, "rules rm queues.mail")
	s.says(t, 0, "downgrade", "fair: nothing is left", "Any version may work here.")

	c.Redis().SAdd(t.Context(), "ql:oarlock:needs", "shards")
	s.says(t, exitFailed, "downgrade --check", "shards: to be drained", "this version does not know what that is: ask the one that wrote it")
	s.says(t, 0, "job why b", "This version does not know what the key space needs (shards), so it takes no job from it: upgrade its supervisors.")
	c.Redis().ZRem(t.Context(), "ql:q:q-work", "b") // which doctor would mend
	s.says(t, exitFailed, "doctor --fix", "This version does not know what the key space needs: shards.", "Upgrade it. It takes no jobs here and repairs nothing")
	if n := c.Redis().ZCard(t.Context(), "ql:q:q-work").Val(); n != 1 {
		t.Errorf("doctor --fix left %d jobs to be taken, want 1", n)
	}
	if reply, err := c.Session("w").Exchange(t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 2}); err != nil || len(reply.Jobs) > 0 {
		t.Errorf("took %+v, %v", reply.Jobs, err)
	}
}
