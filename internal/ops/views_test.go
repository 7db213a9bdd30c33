package ops

import (
	"testing"

	"oarlock/queue"
)

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
