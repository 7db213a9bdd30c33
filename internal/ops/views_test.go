package ops

import (
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/rules"
	"oarlock/queue"
)

// TestAWindowSaysWhenNothingStarts: one that is open, and shuts soon, lets nothing start in its margin.
func TestAWindowSaysWhenNothingStarts(t *testing.T) {
	set := rules.Set{Windows: map[string]rules.Window{"night": {Open: []string{"22:00-06:00"}, Margin: 600}}}
	for clock, want := range map[string]string{
		"05:49:59": "night (22:00-06:00, UTC) is open; it shuts Sat 2026-11-28 06:00:00 UTC, and in the 10m 0s before that nothing starts",
		"05:50:00": "night (22:00-06:00, UTC) is open; it shuts Sat 2026-11-28 06:00:00 UTC, and before that nothing starts any more",
		"06:00:00": "night (22:00-06:00, UTC) is shut; it opens Sat 2026-11-28 22:00:00 UTC",
	} {
		at := must.Get(time.Parse(time.DateTime, "2026-11-28 "+clock))(t)
		if got := must.Get(nextWindow("night", set, at))(t).Words(); got != want {
			t.Errorf("at %s: %s\nwant %s", clock, got, want)
		}
	}
}

// What is said of a turn is true of whoever has it, of who stands behind, near and far, and of who does neither.
func TestTurnWords(t *testing.T) {
	for want, turn := range map[string]*Turn{
		"":                                nil,
		"has the turn":                    {Holder: "j"},
		"has the turn, 1 job behind it":   {Holder: "j", Behind: 1},
		"number 2 of 3 that stand behind": {Holder: "other", Behind: 3, Place: 2},
		"number 1 of 1 that stand behind": {Until: 9, Behind: 1, Place: 1},
		"behind more than a thousand others, of 7,000": {Holder: "other", Behind: 7000, Place: queue.FarPlace},
		"no part in the turns now":                     {Holder: "other", Behind: 3},
	} {
		if got := (&Job{JID: "j", Turn: turn}).TurnWords(); got != want {
			t.Errorf("%+v: %q, want %q", turn, got, want)
		}
	}
}
