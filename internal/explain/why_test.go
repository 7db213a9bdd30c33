package explain

import (
	"strings"
	"testing"

	"oarlock/queue"
	"oarlock/supervisor"
)

func TestWhyKnowsBackoff(t *testing.T) {
	w := &why{job: queue.Job{JID: "j", State: "waiting"}}
	w.pool(supervisor.PoolSnapshot{Name: "p", Children: 2, Slots: []supervisor.SlotSnapshot{
		{Slot: 0, State: "backoff"}, {Slot: 1, State: "backoff", Next: 12},
	}})
	if got := strings.Join(w.reasons, " "); !strings.Contains(got, "wait for a start") || !strings.Contains(got, "12s") || !strings.Contains(got, "oarlock recycle p") {
		t.Errorf("why says %q of a pool in backoff", got)
	}
}

func TestWhyKnowsWhatIsKeptReady(t *testing.T) {
	pool := supervisor.PoolSnapshot{Name: "p", Children: 1, Slots: []supervisor.SlotSnapshot{
		{Slot: 0, PID: 7, State: "busy", Runs: []supervisor.RunSnapshot{{JID: "first", Age: 90}, {JID: "second", Age: 95, Kept: true}}},
	}}
	for jid, want := range map[string]string{
		"first":  "It is on child 0 (pid 7) of pool p for 1m 30s.",
		"second": "It was taken and has not begun: it is kept ready for child 0 (pid 7) of pool p, which has been at work on first for 1m 30s, and goes to the first child that has nothing to do.",
	} {
		w := &why{job: queue.Job{JID: jid, State: "running"}}
		if w.pool(pool); strings.Join(w.reasons, " ") != want {
			t.Errorf("of %s it says %q", jid, w.reasons)
		}
	}
}

func TestWhyKnowsBlockedPlaces(t *testing.T) {
	w := &why{job: queue.Job{JID: "j", State: "waiting"}}
	w.pool(supervisor.PoolSnapshot{Name: "p", Children: 2, Exclusive: true, Slots: []supervisor.SlotSnapshot{
		{Slot: 0, State: "blocked"}, {Slot: 1, State: "busy", Runs: []supervisor.RunSnapshot{{JID: "other"}}},
	}})
	if got := strings.Join(w.reasons, " "); !strings.Contains(got, "1 are busy, and the places of 1 wait until the child before") {
		t.Errorf("why says %q", got)
	}
}

// Jobs without a value are of the party "-", which is no option of a command here.
func TestWhoHasNoValueIsNamed(t *testing.T) {
	at := &queue.WaitsFor{Next: "-", Used: 2, Maximum: 3}
	if got, want := lentWords(at, 0)+aheadWords(at), "'-' waits within its own; '-' has the next turn"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
