package supervisor

import (
	"testing"

	"oarlock/queue"
)

// TestAPlaceWaitsForTheDeathOfACanceledJob cancels a running job that has the only place and whose child is deaf to TERM: the next begins
// when that is dead, and long before its lock would have ended.
func TestAPlaceWaitsForTheDeathOfACanceledJob(t *testing.T) {
	w := newWorld(t)
	_, err := w.client.InstallRules(t.Context(), "", queue.NewRules{
		Doc:       "{}",
		Queues:    []queue.RuledQueue{{Queue: "q", Rules: `{"shape":"a","throttles":["one"]}`}},
		Throttles: []queue.RuledThrottle{{Name: "one", Rules: `{"limit":1,"patience":60}`, Limit: 1}},
	})
	must(t, err)
	w.cancelDeaf(queue.Put{Queue: "q", Klass: "K"}, "throttled")
}
