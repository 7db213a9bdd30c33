package show

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"oarlock/internal/logging"
	"oarlock/internal/output"
	"oarlock/internal/screen"
	"oarlock/internal/service"
	"oarlock/supervisor"
)

// Status shows a supervisor, its pools and their children.
func Status(w io.Writer, shot service.Status) {
	state := screen.Paint(w, screen.Green, "ready")
	switch {
	case shot.Draining:
		state = screen.Paint(w, screen.Yellow, "draining")
	case shot.Quiet:
		state = screen.Paint(w, screen.Yellow, "quiet")
	case shot.Abstains != "":
		state = screen.Paint(w, screen.Red, "takes no jobs")
	case !shot.Ready:
		state = screen.Paint(w, screen.Red, "not ready")
	}
	screen.Printf(w, "%s (pid %d): %s, up %s, kills by %s\n", shot.Name, shot.PID, state, screen.Seconds(shot.Up), shot.KillStrength)
	if what, why := shot.RedisTrouble(); what != "" {
		screen.PrintLine(w, screen.Paint(w, screen.Red, "Redis "+what+": "+why))
	}
	if shot.Abstains != "" {
		screen.PrintLine(w, screen.Paint(w, screen.Red, "It "+shot.AbstainsWords()))
	}
	for _, text := range shot.RedisMemory {
		screen.PrintLine(w, screen.Paint(w, screen.Red, "Redis: "+text))
	}
	for _, text := range shot.MemoryWatched {
		screen.PrintLine(w, screen.Paint(w, screen.Yellow, text))
	}
	if shot.Short != "" {
		screen.PrintLine(w, screen.Paint(w, screen.Red, shot.ShortWords()))
	}
	if text := logLine(shot.Log); text != "" {
		screen.PrintLine(w, screen.Paint(w, screen.Red, text))
	}
	if text := outputLine(shot.Output); text != "" {
		screen.PrintLine(w, screen.Paint(w, screen.Yellow, text))
	}
	for _, text := range shot.Rules.Sentences() {
		screen.PrintLine(w, screen.Paint(w, screen.Yellow, text))
	}
	if since := shot.UnknownSince; since != nil {
		screen.PrintLine(w, screen.Paint(w, screen.Red, fmt.Sprintf("What is in the queues is unknown since %s (%s): Redis does not tell", since.Local().Format("15:04:05"), screen.Span(time.Since(*since)))))
	}
	for i := range shot.Intake {
		intakeLine(w, &shot.Intake[i])
	}
	for _, name := range shot.Stuck {
		screen.PrintLine(w, screen.Paint(w, screen.Red, supervisor.StuckWords(name)))
	}
	told := map[string]bool{} // pools whose queues are: while one changes its mode it is there twice
	for _, pool := range shot.Pools {
		poolStatus(w, pool)
		if !told[pool.Name] {
			depths(w, shot.Queues, pool.Name)
		}
		told[pool.Name] = true
		slots(w, pool.Slots)
	}
}

// intakeLine shows a list whose entries become jobs.
func intakeLine(w io.Writer, in *supervisor.IntakeSnapshot) {
	told := fmt.Sprintf("takes list %s into queue %s: %s so far", in.List, in.Queue, screen.Some(in.Jobs, "job"))
	if in.Merged > 0 {
		told += fmt.Sprintf(", %s merged with jobs that waited", screen.Count(in.Merged))
	}
	if there := in.Moved - in.Jobs - in.Merged - in.Broken; there > 0 {
		told += fmt.Sprintf(", %s that existed", screen.Count(there))
	}
	switch {
	case in.Trouble != "":
		screen.PrintLine(w, screen.Paint(w, screen.Red, told+"; it stands still: "+in.Trouble))
	case in.Full:
		screen.PrintLine(w, screen.Paint(w, screen.Yellow, told+"; as many jobs wait as may, and entries stay in the list"))
	default:
		screen.PrintLine(w, told)
	}
	if in.Aside > 0 {
		screen.PrintLine(w, screen.Paint(w, screen.Yellow, fmt.Sprintf("  %s of it cannot be jobs, and wait for somebody: `oarlock list broken %s` says why", screen.Count(in.Aside), screen.InShell(in.List))))
	}
}

// poolStatus shows a pool: what it works, what became of its jobs, and what is wrong with it.
func poolStatus(w io.Writer, pool supervisor.PoolSnapshot) {
	n := pool.Counters
	screen.Printf(w, "\n%s  %s, %s; done %s, retried %s, failed %s, crashed %s, interrupted %s\n",
		screen.Paint(w, screen.Bold, pool.Name), pool.Mode, works(pool),
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
	if pool.GivenUp != nil {
		screen.PrintLine(w, screen.Paint(w, screen.Red, "  "+givenUpLine(pool)))
	}
	for _, damage := range pool.Damaged {
		screen.PrintLine(w, screen.Paint(w, screen.Red, "  leaves out "+damage))
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
}

// works says what a pool works.
func works(pool supervisor.PoolSnapshot) string {
	l := pool.List
	switch {
	case l == nil:
		return "queues " + pool.Works()
	case l.Unseen, l.Damage != "":
		return pool.Works()
	}
	return fmt.Sprintf("list %s (%s waiting, %s in work, %s failed, %s broken)", l.Name,
		screen.Count(l.Waiting), screen.Count(l.Progress), screen.Count(l.Failed), screen.Count(l.Broken))
}

// slots lists the children of a pool.
func slots(w io.Writer, all []supervisor.SlotSnapshot) {
	var rows [][]string
	for _, slot := range all {
		rows = append(rows, slotRow(slot))
	}
	screen.Table(w, "  no children", []string{"  SLOT", "STATE", "GEN", "PID", "AGE", "JOBS", "MEMORY", "JOB", "FOR", "PROGRESS"}, rows)
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

// givenUpLine tells that the last change of generation was taken back, why, and what to do.
func givenUpLine(pool supervisor.PoolSnapshot) string {
	g := pool.GivenUp
	return fmt.Sprintf("generation %d was given up %s ago: %s; mend what it runs, then `oarlock recycle %s`",
		g.Generation, screen.Seconds(g.Ago), g.Message, screen.InShell(pool.Name))
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
		{n.Halved, "come again in smaller messages, for one that came with them was to blame"},
		{n.Late, "verdicts too late"},
	} {
		if of.n > 0 {
			told = append(told, of.what+" "+screen.Count(of.n))
		}
	}
	return strings.Join(told, ", ")
}

// slotRow is the row of a slot: its child, and what that runs.
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
		row[7], row[8] = cmp.Or(slot.Together(), run.Klass+" "+run.JID), screen.Seconds(run.Age)
		if kept := slot.Kept(); kept > 0 {
			row[7] += fmt.Sprintf(", %s kept ready", screen.Count(kept))
		}
		if run.Percent != nil {
			row[9] = fmt.Sprintf("%.0f%% ", *run.Percent)
		}
		row[9] += screen.Shorten(run.Progress, 40)
	}
	return row
}

// outputLine says what is wrong with the store of outputs; "" if nothing is.
func outputLine(s output.State) string {
	switch {
	case s.BlockedSince != nil:
		return fmt.Sprintf("what jobs print is not kept since %s: the state directory does not answer, %s lost", s.BlockedSince.Local().Format("15:04:05"), screen.Some(s.Dropped, "attempt"))
	case s.Error != "":
		return fmt.Sprintf("what jobs print is not kept, %s lost: %s", screen.Some(s.Dropped, "attempt"), s.Error)
	case s.Dropped > 0:
		return fmt.Sprintf("what %s printed was not kept: they came too fast, or the state directory was in trouble", screen.Some(s.Dropped, "attempt"))
	}
	return ""
}
