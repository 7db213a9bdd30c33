package wallstep

import (
	"testing"
	"time"
)

func TestStep(t *testing.T) {
	now := time.Now()
	for _, by := range []time.Duration{time.Hour, -time.Hour, 30 * 365 * 24 * time.Hour, -30 * 365 * 24 * time.Hour} {
		stepped := Step(now, int64(by/time.Second))
		if got := stepped.Round(0).Sub(now.Round(0)); got != by {
			t.Errorf("the wall clock stepped by %v, want %v", got, by)
		}
		if got := stepped.Sub(now); got != 0 {
			t.Errorf("the monotonic clock stepped by %v", got)
		}
	}
}
