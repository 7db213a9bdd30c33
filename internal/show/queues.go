package show

import (
	"io"
	"math"
	"strings"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
)

// stillLong is for how many seconds the turn of a key has not gone on that is worth a remark.
const stillLong = 60

// Queues lists queues with their numbers of jobs; empty is what it says if there is none.
func Queues(w io.Writer, empty string, queues []ops.Queue) {
	var rows [][]string
	for _, n := range queues {
		remark := ""
		switch {
		case n.Damage != "":
			remark = "cannot be read; see oarlock doctor: " + n.Damage
		case n.Unserved > 0:
			remark = "none runs, the next waits for " + screen.Seconds(n.Unserved) + ": does a pool work it?"
		case n.Blocked >= stillLong:
			remark = "a key has stood still for " + screen.Seconds(n.Blocked) + ", and jobs wait behind: oarlock key ls " + screen.InShell(n.Name)
		case n.Paused:
			remark = "paused"
		}
		rows = append(rows, []string{n.Name, screen.Count(n.Waiting), screen.Count(n.Running), screen.Count(n.Stalled), screen.Count(n.Scheduled),
			screen.Count(n.Depends), screen.Count(n.Throttled), screen.Count(n.Recurring), remark})
	}
	screen.Table(w, empty, []string{"QUEUE", "WAITING", "RUNNING", "STALLED", "SCHEDULED", "DEPENDS", "THROTTLED", "RECURRING", ""}, rows)
}

// Contents lists what is in the queue name, by states.
func Contents(w io.Writer, name string, in ops.Contents) {
	screen.Printf(w, "%s: %s waiting (see `oarlock queue peek`)\n", screen.Paint(w, screen.Bold, name), screen.Count(in.Counts.Waiting))
	if n := in.Counts; n.Keys > 0 || n.Behind > 0 {
		screen.Printf(w, "%s, %s of them with jobs behind: %s", screen.Some(n.Keys, "key"), screen.Count(n.BusyKeys), screen.Some(n.Behind, "job"))
		if n.Blocked > 0 {
			screen.Printf(w, ", the longest for %s", screen.Seconds(n.Blocked))
		}
		screen.Printf(w, " (see `oarlock key ls`)\n")
	}
	if in.Fair != nil {
		screen.PrintLine(w, in.Fair.Words())
	}
	if in.Counts.Paused {
		screen.PrintLine(w, screen.Paint(w, screen.Yellow, "paused"))
	}
	for _, state := range ops.States {
		if len(in.JIDs[state]) > 0 {
			screen.Printf(w, "\n%s\n", state)
		}
		for _, jid := range in.JIDs[state] {
			screen.PrintLine(w, "  "+jid)
		}
	}
}

// Stopped says of the queues names, which were paused, how many of their jobs were stopped.
func Stopped(w io.Writer, names []string, stopped ops.Stopped) {
	if stopped.Stopped == 0 {
		screen.Printf(w, "paused %s; nothing ran there\n", strings.Join(names, ", "))
		return
	}
	screen.Printf(w, "paused %s; %s taken from their workers, and next when that ends\n", strings.Join(names, ", "), screen.Some(stopped.Stopped, "running job"))
}

// Outlooks tells how the backlogs of queues will go.
func Outlooks(w io.Writer, all []ops.QueueOutlook) {
	var rows [][]string
	for _, o := range all {
		run := ""
		if o.MeanRun > 0 {
			run = screen.Seconds(o.MeanRun)
		}
		rows = append(rows, []string{o.Queue, screen.Count(o.Waiting), screen.Count(o.Running), screen.Count(int(math.Round(o.Completed))), run, o.Says})
	}
	screen.Table(w, "There are no queues like that; `oarlock queue ls` lists all.", []string{"QUEUE", "WAITING", "RUNNING", "DONE/MIN", "A RUN", "EMPTY"}, rows)
}
