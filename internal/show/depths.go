package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"oarlock/internal/screen"
	"oarlock/internal/service"
)

// mostShown is of how many queues of a pool status tells people.
const mostShown = 20

// depths shows the queues of a pool: those with most to do, where there are many.
func depths(w io.Writer, reports []service.QueueStatus, pool string) {
	var ours []service.QueueStatus
	for _, r := range reports {
		if r.Pool == pool {
			ours = append(ours, r)
		}
	}
	if len(ours) > mostShown {
		slices.SortStableFunc(ours, func(a, b service.QueueStatus) int { return cmp.Compare(busyness(b), busyness(a)) })
	}
	var rows [][]string
	for _, r := range ours[:min(len(ours), mostShown)] {
		rows = append(rows, queueRow(r))
	}
	if len(rows) > 0 {
		screen.Table(w, "", []string{"  QUEUE", "READY", "RUNNING", "SCHEDULED", "OLDEST", "DONE/S", "FAILED/MIN"}, rows)
	}
	if more := len(ours) - len(rows); more > 0 {
		screen.Printf(w, "  and %s with less to do\n", screen.Some(more, "queue"))
	}
}

// busyness orders queues by how much they have to do.
func busyness(r service.QueueStatus) float64 {
	if r.Ready == nil {
		return r.DonePerSecond
	}
	return float64(*r.Ready+*r.Running) + r.DonePerSecond
}

// queueRow is the row of a queue: what is in it, and how fast it is worked.
func queueRow(r service.QueueStatus) []string {
	name := "  " + r.Queue
	if r.Paused {
		name += " (paused)"
	}
	row := []string{name, "?", "?", "?", "?", rateText(r.DonePerSecond), rateText(r.FailedPerMinute)}
	if r.Ready != nil {
		row[1], row[2], row[3], row[4] = screen.Count(*r.Ready), screen.Count(*r.Running), screen.Count(*r.Scheduled), "-"
		if *r.Ready > 0 {
			row[4] = screen.Seconds(*r.Oldest)
		}
	}
	return row
}

// rateText is a rate with as many digits as tell something.
func rateText(rate float64) string {
	switch {
	case rate == 0:
		return "0"
	case rate < 10:
		return fmt.Sprintf("%.2g", rate)
	}
	return screen.Count(int(rate + 0.5))
}
