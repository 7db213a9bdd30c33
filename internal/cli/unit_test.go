package cli

import (
	"testing"
)

// What a unit cannot grant is said to whoever prints it, and what no unit can say is refused.
func TestUnitMinds(t *testing.T) {
	s := newScript(t, "-- oarlock.toml --\n[redis]\nurl = \"embedded\"\n[pools.a]\nqueues = [\"a\"]\ncommand = [\"true\"]\n")
	s.env["REDIS_URL"] = ""
	s.says(t, 0, "unit", `Mind: redis.url is "embedded"`)
	for _, args := range [][]string{{"unit", "--state-dir", "/x"}, {"unit", "--user", "a b"}, {"unit", "--user", "%u"}} {
		if err := s.oarlock(exitUsage, args); err != nil {
			t.Error(err)
		}
	}
}
