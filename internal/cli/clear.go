package cli

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// clearFlags are those of queue purge and queue mv.
func clearFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "state", Usage: "only jobs in `STATE` " + strings.Join(queue.ClearStates, ", ") + "; may be given again"},
		&cli.BoolFlag{Name: "dry-run", Usage: "say which jobs it would be, and do nothing"},
		&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask, on a terminal"},
		jsonFlag(),
	}
}

// queueClear purges the queue that is named first, or moves it to the second.
func queueClear(c *cli.Context, q *queue.Client) error {
	clearing, err := ops.PlanClearing(c.Context, q, c.Args().First(), c.Args().Get(1), c.StringSlice("state"))
	if err != nil {
		return err
	}
	if !c.Bool("dry-run") {
		if clearing.All > 0 && !confirmed(c, clearing.Question()) {
			return errors.New("nothing was done")
		}
		bar := clearProgress(c.App.ErrWriter, clearing.All)
		err := clearing.Do(c.Context, q, func(done int) { _ = bar.Add(done) }) // on a terminal that is gone: no matter
		_ = bar.Finish()
		if err != nil {
			return err
		}
	}
	return show(c, clearing, func(w io.Writer) { printClearing(w, clearing) })
}

// printClearing says what was done, or would be to all jobs, and what was left.
func printClearing(w io.Writer, v *ops.Clearing) {
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

// confirmed asks the one at the terminal. Where there is none, or --yes was given, it is as
// the command says.
func confirmed(c *cli.Context, question string) bool {
	if c.Bool("yes") || !screen.IsTerminal(c.App.Reader) {
		return true
	}
	screen.Printf(c.App.ErrWriter, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(c.App.Reader).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

func clearProgress(w io.Writer, all int) *progressbar.ProgressBar {
	return progressbar.NewOptions(all,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetVisibility(screen.IsTerminal(w)),
		progressbar.OptionSetDescription("jobs"),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
}
