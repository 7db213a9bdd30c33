package connection

import (
	"strings"
	"testing"
	"time"

	"oarlock/internal/wallstep"
)

const year = 365 * 24 * time.Hour

// Connections are old or not by when they were made, wherever the wall clock has stepped meanwhile.
func TestEpochsFollowNoStepOfTheWallClock(t *testing.T) {
	for _, by := range []time.Duration{time.Second, -time.Second, time.Hour, -time.Hour, 30 * year, -30 * year} {
		step := func(t time.Time) time.Time { return wallstep.Step(t, int64(by/time.Second)) }
		now := time.Now()
		earlier, later := now.Add(-time.Minute), now.Add(time.Minute)
		for _, stepped := range []bool{false, true} { // before the epoch began, or after
			e := &epoch{}
			if stepped {
				e.begin(step(now))
			} else {
				e.begin(now)
			}
			if !e.isOver(earlier) || e.isOver(step(later)) {
				t.Errorf("by %v: made before it is old: %v, made after it: %v", by, e.isOver(earlier), e.isOver(step(later)))
			}
			e.begin(step(later.Add(time.Second)))
			if !e.isOver(step(later)) {
				t.Errorf("by %v: no other epoch began", by)
			}
		}
	}
}

// The driver's deadlines have the wall clock only. Those that we move do not follow its steps.
func TestDeadlinesFollowNoStepOfTheWallClock(t *testing.T) {
	var f flow
	f.set(time.Now().Add(3*time.Second).Round(0), 3*time.Second)
	if left := time.Until(f.limit); !strings.Contains(f.limit.String(), "m=") || left < time.Second || left > 3*time.Second {
		t.Errorf("the deadline is %v", f.limit)
	}
}
