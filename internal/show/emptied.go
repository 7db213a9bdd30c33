package show

import (
	"io"
	"time"

	"oarlock/internal/screen"
	"oarlock/internal/service"
)

// Emptied says in words what was done and what is left.
func Emptied(w io.Writer, d service.Emptied) {
	how := "left before its queues were empty, after"
	switch {
	case d.Empty:
		how = "empty after"
	case d.Why != "":
		how = "gave up after"
	}
	also := ""
	if d.Canceled > 0 {
		also += ", " + screen.Count(d.Canceled) + " canceled"
	}
	if d.Requeued > 0 {
		also += ", " + screen.Count(d.Requeued) + " put again"
	}
	if d.Parked > 0 {
		also += ", " + screen.Count(d.Parked) + " parked"
	}
	screen.Printf(w, "%s %s: %s done, %s failed, %s retried, %s given back%s.\n", how, screen.Span(time.Duration(d.Seconds*float64(time.Second))),
		screen.Count(d.Done), screen.Count(d.Failed), screen.Count(d.Retried), screen.Count(d.Released), also)
	if d.Why != "" {
		screen.Printf(w, "given up: %s\n", d.Why)
	}
	for _, trouble := range d.Trouble {
		screen.PrintLine(w, trouble)
	}
	if d.Unstarted > 0 {
		screen.Printf(w, "the program of %s could not be started: oarlock job show JID tells why\n", screen.Some(d.Unstarted, "job"))
	}
	for _, f := range d.Failures {
		screen.Printf(w, "failed: %s of %s %s\n", f.JID, f.Queue, f.Group)
	}
	if more := d.Failed - len(d.Failures); more > 0 {
		screen.Printf(w, "and %s more: oarlock failed ls\n", screen.Count(more))
	}
	if d.Left == nil {
		screen.Printf(w, "what is left is not known: %s\n", d.Unknown)
		return
	}
	screen.Printf(w, "left: %s\n", d.Left.Words(d.Within))
}
