package cli

import (
	"io"

	"github.com/urfave/cli/v2"

	"oarlock/internal/ops"
	"oarlock/internal/show"
	"oarlock/queue"
)

func downgradeCommand() *cli.Command {
	command := verb{
		name: "downgrade", usage: "let an older version work the key space; --check names what must be drained before",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "check", Usage: "change nothing; exits 1 if something is left"},
			jsonFlag(),
		},
		do: downgrade,
	}.command()
	command.Category = "jobs in Redis"
	command.Description = "An older version takes no jobs while Redis says that features it does not know may be in use. This command removes the\n" +
		"mark of each feature that is no longer in use, and says so. It exits 1 while another feature is still in use."
	return command
}

func downgrade(c *cli.Context, q *queue.Client) error {
	d, err := ops.CheckDowngrade(c.Context, q, !c.Bool("check"))
	if err != nil {
		return err
	}
	if err := answer(c, d, func(w io.Writer) { show.Downgrade(w, d) }); err != nil {
		return err
	}
	for _, n := range d.Needs {
		if len(n.Left) > 0 {
			return silent{exitFailed}
		}
	}
	return nil
}
