package explain

import (
	"math"
	"testing"
)

// What was set aside is due never.
func TestWhatIsSetAsideIsDueNever(t *testing.T) {
	for at, want := range map[float64]string{math.Inf(1): "never", 1e300: "never", math.Inf(-1): "before all time"} {
		if got := DueWords(1e9, at); got != want {
			t.Errorf("due at %v: %q, want %q", at, got, want)
		}
	}
}
