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

func TestWhyKnowsBlockedPlaces(t *testing.T) {
	w := &why{job: queue.Job{JID: "j", State: "waiting"}}
	w.pool(supervisor.PoolSnapshot{Name: "p", Children: 2, Exclusive: true, Slots: []supervisor.SlotSnapshot{
		{Slot: 0, State: "blocked"}, {Slot: 1, State: "busy", Runs: []supervisor.RunSnapshot{{JID: "other"}}},
	}})
	if got := strings.Join(w.reasons, " "); !strings.Contains(got, "1 are busy, and the places of 1 wait until the child before") {
		t.Errorf("why says %q", got)
	}
}
