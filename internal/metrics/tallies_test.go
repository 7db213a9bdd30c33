package metrics

import (
	"testing"
	"time"

	"oarlock/internal/wallstep"
	"oarlock/supervisor"
)

// The least margin of the last minute is that, wherever the wall clock steps.
func TestMarginsFollowNoStepOfTheWallClock(t *testing.T) {
	for _, by := range []time.Duration{0, time.Hour, -time.Hour, 300_000 * time.Hour, -300_000 * time.Hour} {
		tally := newTallies("p")
		after := func(d time.Duration) time.Time { return wallstep.Step(tally.began.Add(d), int64(by/time.Second)) }
		tally.renew(&supervisor.Event{Kind: supervisor.Renewed, Margin: 12 * time.Second}, tally.began)
		tally.renew(&supervisor.Event{Kind: supervisor.Renewed, Margin: 20 * time.Second}, after(30*time.Second))
		for at, want := range map[time.Duration]time.Duration{31 * time.Second: 12 * time.Second, 75 * time.Second: 20 * time.Second, 3 * time.Minute: 0} {
			if least, known := tally.margin(after(at)); least != want || known != (want > 0) {
				t.Errorf("stepped by %v, after %v the least margin is %v, known: %v; want %v", by, at, least, known, want)
			}
		}
	}
}
