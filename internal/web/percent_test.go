package web

import (
	"math"
	"testing"
)

// Shares are said as people write them.
func TestPercentWords(t *testing.T) {
	for v, want := range map[float64]string{0: "0 %", 100: "100 %", 99.6: "100 %", 33.333: "33 %", 9.96: "10 %", 4.26: "4.3 %", 0.05: "0.05 %", 0.00001: "under 0.01 %", math.NaN(): "–"} {
		if got := percentWords(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}
