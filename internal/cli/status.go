package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"oarlock/internal/logging"
	"oarlock/internal/screen"
	"oarlock/internal/service"
	"oarlock/supervisor"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name:     "status",
		Usage:    "show the pools and children of a running supervisor",
		Category: "a running supervisor",
		Flags:    []cli.Flag{pidFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0, "nothing"); err != nil {
				return err
			}
			s, err := reach(c)
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := s.Status(c.Context, &raw); err != nil {
				return err
			}
			var r service.Status
			if err := json.Unmarshal(raw, &r); err != nil {
				return err
			}
			return show(c, raw, func(w io.Writer) { printStatus(w, r) })
		},
	}
}

func printStatus(w io.Writer, shot service.Status) {
	state := screen.Paint(w, screen.Green, "ready")
	switch {
	case shot.Draining:
		state = screen.Paint(w, screen.Yellow, "draining")
	case shot.Quiet:
		state = screen.Paint(w, screen.Yellow, "quiet")
	case !shot.Ready:
		state = screen.Paint(w, screen.Red, "not ready")
	}
	screen.Printf(w, "%s (pid %d): %s, up %s, kills by %s\n", shot.Name, shot.PID, state, screen.Seconds(shot.Up), shot.KillStrength)
	if what, why := shot.RedisTrouble(); what != "" {
		screen.PrintLine(w, screen.Paint(w, screen.Red, "Redis "+what+": "+why))
	}
	for _, text := range shot.MemoryWatched {
		screen.PrintLine(w, screen.Paint(w, screen.Yellow, text))
	}
	if shot.Short != "" {
		screen.PrintLine(w, screen.Paint(w, screen.Red, shortLine(shot.Short)))
	}
	if text := logLine(shot.Log); text != "" {
		screen.PrintLine(w, screen.Paint(w, screen.Red, text))
	}
	if text := outputLine(shot.Output); text != "" {
		screen.PrintLine(w, screen.Paint(w, screen.Yellow, text))
	}
	if since := shot.UnknownSince; since != nil {
		screen.PrintLine(w, screen.Paint(w, screen.Red, fmt.Sprintf("What is in the queues is unknown since %s (%s): Redis does not tell", since.Local().Format("15:04:05"), screen.Span(time.Since(*since)))))
	}
	for _, pool := range shot.Pools {
		n := pool.Counters
		screen.Printf(w, "\n%s  %s, queues %s; done %s, retried %s, failed %s, crashed %s, interrupted %s\n",
			screen.Paint(w, screen.Bold, pool.Name), pool.Mode, strings.Join(pool.Queues, " "),
			screen.Count(n.Acked), screen.Count(n.Retried), screen.Count(n.Failed), screen.Count(n.Crashed), screen.Count(n.Interrupted))
		if told := uncounted(n); told != "" {
			screen.PrintLine(w, "  "+told)
		}
		if pool.Breaker != "" {
			screen.PrintLine(w, screen.Paint(w, screen.Red, "  goes slowly, one job at a time, ten a second: "+pool.Breaker))
		}
		if pool.Barren != "" {
			screen.PrintLine(w, screen.Paint(w, screen.Red, "  takes nothing: "+pool.Barren))
		}
		if pool.Roll != nil {
			screen.PrintLine(w, screen.Paint(w, screen.Yellow, "  "+rollLine(pool.Roll)))
			if text := hangs(pool); text != "" {
				screen.PrintLine(w, screen.Paint(w, screen.Yellow, "  "+text))
			}
		}
		for _, damage := range pool.Damaged {
			screen.PrintLine(w, screen.Paint(w, screen.Red, "  leaves out queue "+damage))
		}
		if n.NotPut > 0 {
			screen.PrintLine(w, screen.Paint(w, screen.Yellow, fmt.Sprintf("  jobs that its children wanted put and that were not: %s; see the log for why", screen.Count(n.NotPut))))
		}
		if n.LeftBehind > 0 {
			screen.PrintLine(w, screen.Paint(w, screen.Yellow, "  processes that jobs left running when they exited, and that were killed: "+screen.Count(n.LeftBehind)))
		}
		if n.Unheard > 0 {
			screen.PrintLine(w, screen.Paint(w, screen.Yellow, fmt.Sprintf("  refused %s that looked like verdicts: see the log for why", screen.Count(n.Unheard))))
		}
		printQueues(w, shot.Queues, pool.Name)
		var rows [][]string
		for _, slot := range pool.Slots {
			rows = append(rows, slotRow(slot))
		}
		screen.Table(w, "  no children", []string{"  SLOT", "STATE", "GEN", "PID", "AGE", "JOBS", "MEMORY", "JOB", "FOR", "PROGRESS"}, rows)
	}
}

// shortLine says what it means that the host has run out of something.
func shortLine(short string) string {
	return short + ": children are started one by one, as there is room"
}

// logLine says what is wrong with the log; "" if nothing is.
func logLine(l logging.State) string {
	var text string
	switch {
	case l.BlockedSince != nil:
		text = fmt.Sprintf("log blocked since %s (%s): nobody reads it", l.BlockedSince.Local().Format("15:04:05"), screen.Span(time.Since(*l.BlockedSince)))
	case l.Error != "":
		text = "log cannot be written: " + l.Error
	case l.Dropped > 0:
		text = "log behind"
	case l.NotReopened != "":
		return "log goes on into the old file, for it could not be opened again: " + l.NotReopened
	default:
		return ""
	}
	return text + ", " + screen.Some(l.Dropped, "line") + " dropped"
}

// rollLine tells how far a change of generation is, and what it waits for.
func rollLine(r *supervisor.RollSnapshot) string {
	told := fmt.Sprintf("rolling in generation %d: %d of %d", r.To, r.Changed, r.Of)
	if r.OnTrial {
		told += ", on trial"
		switch {
		case r.Bad > 0:
			told += fmt.Sprintf(": %d of %d attempts ended badly", r.Bad, r.Ended)
		case r.Changed > 0:
			told += " until a job ends well"
		}
	}
	if r.JID != "" {
		told += fmt.Sprintf(", slot %d waits for job %s since %s", r.Slot, r.JID, screen.Seconds(r.Waits))
	}
	if r.BackStarts {
		told += "; going back would start what the command finds now"
	}
	return told
}

// slowStart is how long the first child of a new generation starts before status speaks of it.
const slowStart = 5 // seconds

// hangs says of a roll that its first child does not become ready; "" if it is none such.
func hangs(pool supervisor.PoolSnapshot) string {
	if !pool.Roll.OnTrial || pool.Roll.Changed > 0 {
		return ""
	}
	for _, slot := range pool.Slots {
		if slot.Generation == pool.Roll.To && slot.State == "starting" && slot.Age >= slowStart {
			return fmt.Sprintf("its first child has been starting for %s, the old ones work on; if it hangs, mend what it runs, then `oarlock recycle %s`", screen.Seconds(slot.Age), screen.InShell(pool.Name))
		}
	}
	return ""
}

// uncounted says which attempts cost their jobs nothing, though nothing came of them; "" if
// there were none.
func uncounted(n supervisor.Counters) string {
	var told []string
	for _, of := range []struct {
		n    int
		what string
	}{
		{n.Unstarted, "command could not be run"},
		{n.Unknown, "class not known"},
		{n.Spared, "ended badly, as all else, and was spared"},
	} {
		if of.n > 0 {
			told = append(told, of.what+" "+screen.Count(of.n))
		}
	}
	return strings.Join(told, ", ")
}

func slotRow(slot supervisor.SlotSnapshot) []string {
	row := []string{fmt.Sprintf("  %d", slot.Slot), slot.State, fmt.Sprint(slot.Generation), "-", "-", screen.Count(slot.Jobs), "-", "-", "-", ""}
	if slot.PID != 0 {
		row[3], row[4] = fmt.Sprint(slot.PID), screen.Seconds(slot.Age)
	}
	if slot.Memory != 0 {
		row[6] = humanize.IBytes(uint64(slot.Memory))
	}
	if slot.State == "backoff" {
		row[4] = "in " + screen.Seconds(slot.Next)
	}
	if len(slot.Runs) > 0 {
		run := slot.Runs[0]
		row[7], row[8] = run.Klass+" "+run.JID, screen.Seconds(run.Age)
		if run.Percent != nil {
			row[9] = fmt.Sprintf("%.0f%% ", *run.Percent)
		}
		row[9] += screen.Shorten(run.Progress, 40)
	}
	return row
}
