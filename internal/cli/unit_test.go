package cli

import (
	"strings"
	"testing"
)

// What a unit cannot grant is said to whoever prints it, and what no unit can say is refused.
func TestUnitMinds(t *testing.T) {
	s := newScript(t, "-- oarlock.toml --\n[redis]\nurl = \"embedded\"\n[pools.a]\nqueues = [\"a\"]\ncommand = [\"true\"]\n")
	s.env["REDIS_URL"] = ""
	if err := s.oarlock(0, []string{"unit"}); err != nil || !strings.Contains(s.said["stderr"], `Mind: redis.url is "embedded"`) {
		t.Errorf("%v: %s", err, s.said["stderr"])
	}
	for _, args := range [][]string{{"unit", "--state-dir", "/x"}, {"unit", "--user", "a b"}, {"unit", "--user", "%u"}} {
		if err := s.oarlock(exitUsage, args); err != nil {
			t.Error(err)
		}
	}
}
