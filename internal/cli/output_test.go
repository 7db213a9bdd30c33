package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"oarlock/queue"
)

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1500 * time.Microsecond: "2ms", 2345 * time.Millisecond: "2.3s", 65 * time.Second: "1m 5s",
		59*time.Minute + 59*time.Second: "59m 59s", 2 * time.Hour: "2h 0m", 50 * time.Hour: "2d 2h", -90 * time.Second: "-1m 30s",
	} {
		if got := span(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for text, want := range map[string]string{"short": "short", "a\n b\t c": "a b c", "éééééééééééé": "ééééééééé…"} {
		if got := shorten(text, 10); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestHistogram(t *testing.T) {
	d := queue.Durations{Count: 106, Mean: 4.5, Std: 1, Histogram: make([]int, 148)}
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

func TestColoursAreForTerminalsOnly(t *testing.T) {
	if got := paint(&bytes.Buffer{}, red, "x"); got != "x" {
		t.Errorf("a buffer gets %q", got)
	}
}
