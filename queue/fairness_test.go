package queue

import (
	"fmt"
	"strings"
	"testing"
)

// fairnessOf is how the turns of a queue go on; nil if it is not fair.
func (w *gateWorld) fairnessOf(most int, queue string) []any {
	w.t.Helper()
	return w.call("fairness", most, queue).([]any)
}

// TestFairness: how many values wait, whose turn is next and who has waited longest is told, and it is the value that starts next.
func TestFairness(t *testing.T) {
	for name, configure := range fairConfigurations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newGateWorld(t)
			configure(w)
			w.ofTenant("flood", 50)
			running := w.take("w", 4, "q")
			for i := range 3 {
				w.ofTenant(fmt.Sprint("small", i), 2)
			}
			w.now += 20
			running = append(running[1:], w.exchange("w", done(running[0]), Take{Queues: []string{"q"}, Count: 1}).Jobs...) // files them
			if f := w.fairnessOf(1000, "q"); fmt.Sprintf("%v %v %v %v %q", f[1], f[2], f[4], f[6], f[7]) != `4 0 flood 0 ""` {
				t.Errorf("it tells %q", f)
			}
			for range 12 {
				w.now++
				f := w.fairnessOf(1000, "q")
				next := fmt.Sprint(f[3])
				jobs := w.exchange("w", done(running[0]), Take{Queues: []string{"q"}, Count: 1}).Jobs
				if len(jobs) != 1 {
					t.Fatalf("%d begin", len(jobs))
				}
				running = append(running[1:], jobs...)
				if started := tenantOf(jobs[0]); next != started {
					t.Errorf("%s has the next turn, and %s starts: %v", next, started, f)
				}
			}
		})
	}
}

// TestFairnessIsBounded: of many values it reads some, and says that there are more; of a queue that is not fair it tells nothing.
func TestFairnessIsBounded(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": fairRules, "limited": `{"shape":"a","limited":true,"limit_of_queue":1}`}, nil)
	for i := range 700 {
		w.ofTenant(fmt.Sprintf("t%04d", i), 1)
	}
	for range 12 {
		w.take("w", 1, "q")
	}
	part, all := w.fairnessOf(50, "q"), w.fairnessOf(1000, "q")
	if fmt.Sprint(part[2]) != "1" || part[1].(int64) > 200 || fmt.Sprint(all[2]) != "0" || all[1].(int64) < 600 {
		t.Errorf("of 50: %v, of all: %v", part, all)
	}
	if none := fmt.Sprint(w.fairnessOf(50, "limited"), w.fairnessOf(50, "other")); strings.Contains(none, "limited") {
		t.Errorf("of a queue that is not fair: %s", none)
	}
}
