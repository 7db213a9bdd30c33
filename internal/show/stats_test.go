package show

import (
	"bytes"
	"strings"
	"testing"

	"oarlock/internal/ops"
)

func TestHistogram(t *testing.T) {
	d := ops.Durations{Count: 106, Mean: 4.5, Std: 1, Histogram: make([]int, 148)}
	d.Histogram[1] = 100 // one to two seconds
	d.Histogram[60] = 4  // a minute to two
	d.Count, d.Negative = d.Count+3, 3
	var out bytes.Buffer
	histogram(&out, "waited", d) // two waited a week or longer
	want := []string{
		"", "109 jobs waited: 4.5s on average, ± 1s", "3 below 0: clocks disagreed",
		"     <2s " + strings.Repeat("█", 50) + " 100",
		"     <5s  0", "    <10s  0", "    <30s  0", "     <1m  0",
		"     <5m ██ 4",
		"    <15m  0", "     <1h  0", "     <6h  0", "     <1d  0", "     <7d  0",
		"  longer █ 2", "",
	}
	if got := out.String(); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}
