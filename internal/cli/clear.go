package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"

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

// clearView is what is printed of a queue that was purged or moved.
type clearView struct {
	Queue     string         `json:"queue"`
	To        string         `json:"to,omitempty"`
	DryRun    bool           `json:"dry_run,omitempty"`
	Would     map[string]int `json:"would,omitempty"` // in a dry run: by state
	Done      int            `json:"done"`
	Newer     int            `json:"newer"` // left: put after it began
	Kept      int            `json:"kept"`  // left: for the reasons in Left, which names the first thousand
	Left      []queue.Left   `json:"left"`
	Running   int            `json:"running"` // left alone, as all below
	Stalled   int            `json:"stalled"`
	Recurring int            `json:"recurring"`
}

// queueClear purges the queue that is named first, or moves it to the second.
func queueClear(c *cli.Context, q *queue.Client) error {
	what := queue.Clearing{Queue: c.Args().First(), To: c.Args().Get(1), States: c.StringSlice("state")}
	for _, state := range what.States {
		if !slices.Contains(queue.ClearStates, state) {
			return misused("--state %s: there is %s; for failed ones see `oarlock failed drop` and `oarlock failed retry`",
				state, strings.Join(queue.ClearStates, ", "))
		}
	}
	if what.To == what.Queue {
		return misused("the jobs of %s are in %s already", what.Queue, what.To)
	}
	if err := knownQueues(c, q, what.Queue); err != nil {
		return err
	}
	counts, err := q.Queue(c.Context, what.Queue)
	if err != nil {
		return err
	}
	view := clearView{Queue: what.Queue, To: what.To, Left: []queue.Left{}}
	would, all := wouldClear(counts, what.States)
	if c.Bool("dry-run") {
		view.DryRun, view.Would = true, would
		view.leftAlone(counts)
		return show(c, view, func(w io.Writer) { view.print(w, all) })
	}
	if all > 0 && !confirmed(c, view.question(all)) {
		return errors.New("nothing was done")
	}
	bar := clearProgress(c.App.ErrWriter, all)
	what.Progress = func(done int) { _ = bar.Add(done) } // on a terminal that is gone: no matter
	cleared, err := q.Clear(c.Context, what)
	_ = bar.Finish()
	if err != nil {
		return fmt.Errorf("after %s: %w\n(the same command again goes on with the others)", screen.Some(cleared.Done, "job"), err)
	}
	if counts, err = q.Queue(c.Context, what.Queue); err != nil {
		return err
	}
	view.Done, view.Newer, view.Kept, view.Left = cleared.Done, cleared.Newer, cleared.Kept, list(cleared.Left)
	view.leftAlone(counts)
	return show(c, view, func(w io.Writer) { view.print(w, all) })
}

// wouldClear counts the jobs that are meant, by state and together.
func wouldClear(n queue.QueueCounts, states []string) (by map[string]int, all int) {
	by = map[string]int{}
	for state, count := range map[string]int{"waiting": n.Waiting, "scheduled": n.Scheduled, "depends": n.Depends, "throttled": n.Throttled} {
		if len(states) == 0 || slices.Contains(states, state) {
			by[state] = count
			all += count
		}
	}
	return by, all
}

func (v *clearView) leftAlone(n queue.QueueCounts) {
	v.Running, v.Stalled, v.Recurring = n.Running, n.Stalled, n.Recurring
}

// question asks whether all of so many jobs are meant.
func (v *clearView) question(all int) string {
	if v.To == "" {
		return fmt.Sprintf("Remove %s of the queue %s for good?", screen.Some(all, "job"), v.Queue)
	}
	return fmt.Sprintf("Move %s of the queue %s to %s?", screen.Some(all, "job"), v.Queue, v.To)
}

// print says what was done, or would be to all jobs, and what was left.
func (v *clearView) print(w io.Writer, all int) {
	verb, what := "canceled", v.Done
	if v.To != "" {
		verb = "moved to " + v.To
	}
	if v.DryRun {
		verb, what = "would be "+verb, all
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
