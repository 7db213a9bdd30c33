package queue

import "testing"

// TestWhoIsBeyondItsShareLetsOthersGoFirst: one value has borrowed all places; when others come, every place that comes free is
// theirs until they have their shares, and not in turns with the one that has too many.
func TestWhoIsBeyondItsShareLetsOthersGoFirst(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": regionRules}, map[string]string{
		"region": `{"limit":100,"patience":60,"by":["path","region"],"shares":{"east":0.4,"north":0.3,"west":0.3},"borrow":true}`})
	w.byRegion("q", "east", 300)
	running := w.take("w", 200, "q")
	w.byRegion("q", "north", 100)
	w.byRegion("q", "west", 100)
	begun := map[string]int{}
	for _, job := range running[:60] { // as many as east is beyond its share
		w.now += 0.01
		for region, n := range regions(w.exchange("w", done(job), Take{Queues: []string{"q"}, Count: 200}).Jobs) {
			begun[region] += n
		}
	}
	if begun["east"] != 0 || begun["north"] != 30 || begun["west"] != 30 {
		t.Errorf("of the first 60 places that came free, %v", begun)
	}
}
