package show

import (
	"io"
	"strings"
	"time"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// barWidth is the longest bar of a histogram, in characters.
const barWidth = 50

// steps are the upper ends of the bars that the histogram is drawn with; the last bar is
// everything longer.
var steps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
	5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour,
}

// Stats shows how long the jobs of a queue waited and ran.
func Stats(w io.Writer, s ops.Stats) {
	screen.Printf(w, "%s on %s: %s, %s ran out\n", s.Queue, s.Day, screen.Some(s.Failures, "failure"), screen.Some(s.Retries, "lock"))
	if s.Failed != s.Failures {
		screen.Printf(w, "less those that were put again or canceled, in whichever queue: %s\n", screen.Count(s.Failed))
	}
	histogram(w, "waited", s.Wait)
	histogram(w, "ran", s.Run)
}

// histogram draws a distribution, from the first bar that is not empty to the last.
func histogram(w io.Writer, what string, d ops.Durations) {
	if d.Count == 0 {
		screen.Printf(w, "\nno job %s\n", what)
		return
	}
	screen.Printf(w, "\n%s %s: %s on average, ± %s\n", screen.Some(d.Count, "job"), what, screen.Seconds(d.Mean), screen.Seconds(d.Std))
	bars := make([]int, len(steps)+1)
	rest := d.Count - d.Negative
	for i, n := range d.Histogram {
		from, _ := queue.HistogramBucket(i)
		at := 0
		for at < len(steps) && from >= steps[at] {
			at++
		}
		bars[at] += n
		rest -= n
	}
	bars[len(steps)] += max(rest, 0) // a week or longer is in no bucket
	if d.Negative > 0 {
		screen.Printf(w, "%s below 0: clocks disagreed\n", screen.Count(d.Negative))
	}
	first, last, most := len(bars), 0, 0
	for i, n := range bars {
		if n > 0 {
			first, last, most = min(first, i), i, max(most, n)
		}
	}
	for i := first; i <= last; i++ {
		label := "longer"
		if i < len(steps) {
			label, _, _ = strings.Cut("<"+screen.Span(steps[i]), " 0")
		}
		bar := strings.Repeat("█", (bars[i]*barWidth+most-1)/most)
		screen.Printf(w, "%8s %s %s\n", label, screen.Paint(w, screen.Cyan, bar), screen.Count(bars[i]))
	}
}
