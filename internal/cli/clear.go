package cli

import (
	"errors"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/show"
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
	if c.NArg() == 2 && c.Args().Get(1) == "" { // that of a variable that is not set is no wish to purge
		return misused("the queue to move to is empty; give it a name, or `oarlock queue purge %s`", screen.InShell(c.Args().First()))
	}
	clearing, err := ops.PlanClearing(c.Context, q, c.Args().First(), c.Args().Get(1), c.StringSlice("state"))
	if err != nil {
		return err
	}
	if !c.Bool("dry-run") {
		if clearing.All > 0 && !confirmed(c, clearing.Question()) {
			return errors.New("nothing was done")
		}
		bar := show.Number(c.App.ErrWriter, "jobs", clearing.All)
		err := clearing.Do(c.Context, q, bar.Add)
		bar.Done()
		if err != nil {
			return err
		}
	}
	return answer(c, clearing, func(w io.Writer) { show.Clearing(w, clearing) })
}

// confirmed asks the one at the terminal. Where there is none, or --yes was given, it is as
// the command says.
func confirmed(c *cli.Context, question string) bool {
	return c.Bool("yes") || !screen.IsTerminal(c.App.Reader) || saysYes(c, question)
}
