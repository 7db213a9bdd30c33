package show

import (
	"io"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// Clearing says what was done, or would be to all jobs, and what was left.
func Clearing(w io.Writer, v *ops.Clearing) {
	verb, what := "canceled", v.Done
	if v.To != "" {
		verb = "moved to " + v.To
	}
	if v.DryRun {
		verb, what = "would be "+verb, v.All
	}
	screen.Printf(w, "%s of %s %s\n", screen.Some(what, "job"), v.Queue, verb)
	for _, state := range queue.ClearStates {
		if n := v.Would[state]; n > 0 {
			screen.Printf(w, "  %s %s\n", screen.Count(n), state)
		}
	}
	if v.Newer > 0 {
		screen.Printf(w, "%s left: put after this began\n", screen.Some(v.Newer, "job"))
	}
	if v.Kept > 0 {
		screen.Printf(w, "%s left:\n", screen.Some(v.Kept, "job"))
		for _, each := range v.Left[:min(len(v.Left), 10)] {
			screen.Printf(w, "  %s: %s\n", each.JID, each.Why)
		}
		if v.Kept > 10 {
			screen.PrintLine(w, "  …; --json names more")
		}
	}
	if v.Running > 0 {
		screen.Printf(w, "%s left alone: running. `oarlock queue pause --stop %s` ends them\n", screen.Some(v.Running, "job"), screen.InShell(v.Queue))
	}
	if v.Stalled > 0 {
		screen.Printf(w, "%s left alone: their locks ran out, and they are about to be taken back\n", screen.Some(v.Stalled, "job"))
	}
	if v.Recurring > 0 {
		screen.Printf(w, "%s left alone: see `oarlock recur ls`; they go on to make jobs here\n", screen.Some(v.Recurring, "recurring job"))
	}
}
