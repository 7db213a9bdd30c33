package cli

import "testing"

// What a command names and is not there is 66, and what cannot be meant is 64, in words of the command that was typed.
func TestExitCodesOfWhatIsNotThere(t *testing.T) {
	s, _ := scriptOn(t, "")
	s.says(t, 0, "put q 1 --jid a")
	s.says(t, exitGone, "put q 1 --window nope", "weight, bypass and windows count where a queue has rules")
	s.says(t, exitGone, "put q 1 --bypass", "queue q has none")
	s.says(t, exitGone, "job output a")
	s.says(t, exitUsage, "queue peek q --limit 0", "--limit must be 1 or more")
	s.says(t, exitUsage, "search queue:q --limit 0", "--limit must be 1 or more")
	s.says(t, exitUsage, "search state:x", "oarlock: state: x is none; there are waiting")
	s.says(t, exitUsage, "throttle set t 2 --ttl 0s", "--ttl must be more than 0")
	s.says(t, 0, "failed ls --limit 0") // there 0 is all
}
