package pool

import (
	"testing"
	"time"
)

func TestHowManyAreWorthKeepingReady(t *testing.T) {
	const trip = 500 * time.Microsecond
	for _, c := range []struct {
		length time.Duration
		want   int
	}{{0, 0}, {1, aheadMost}, {10 * time.Microsecond, aheadMost}, {125 * time.Microsecond, 16}, {200 * time.Microsecond, 10}, {time.Millisecond, 2}, {1500 * time.Microsecond, 1},
		{2 * time.Millisecond, 0}, {time.Hour, 0}} {
		got := ahead(c.length, trip, 100, 4)
		if got != c.want {
			t.Errorf("%d jobs of %v, want %d", got, c.length, c.want)
		}
		if work := time.Duration(got) * c.length; work > aheadWork {
			t.Errorf("%v of work ahead", work)
		}
	}
	for size, want := range map[int]int{0: aheadMost, 1 << 10: aheadMost, 32 << 10: 2, 65 << 10: 0, 16 << 20: 0} {
		if got := ahead(1, trip, size, 4); got != want {
			t.Errorf("%d jobs of %d bytes, want %d", got, size, want)
		}
	}
	for children, want := range map[int]int{0: aheadMost, 1: aheadMost, 10: aheadMost, 20: 8, 160: 1, 161: 0, 10_000: 0} {
		if got := ahead(1, trip, 100, children); got != want {
			t.Errorf("%d jobs for each of %d children, want %d", got, children, want)
		}
	}
	if n := ahead(3*time.Millisecond, time.Second, 100, 4); n != 0 {
		t.Errorf("%d jobs, each longer than what may wait", n)
	}
}
