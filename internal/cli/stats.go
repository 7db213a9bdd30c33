package cli

import (
	"io"

	"github.com/urfave/cli/v2"

	"oarlock/internal/ops"
	"oarlock/internal/show"
	"oarlock/queue"
)

func statsCommand() *cli.Command {
	command := verb{
		name: "stats", usage: "how long the jobs of a queue waited and ran on a day", words: "QUEUE", least: 1, most: 1,
		flags: []cli.Flag{&cli.StringFlag{Name: "day", Usage: "`YYYY-MM-DD`, of UTC (default: today)"}, jsonFlag()},
		do:    stats,
	}.command()
	command.Category = "jobs in Redis"
	return command
}

func stats(c *cli.Context, q *queue.Client) error {
	s, err := ops.StatsOf(c.Context, q, c.Args().First(), c.String("day"))
	if err != nil {
		return err
	}
	return answer(c, s, func(w io.Writer) { show.Stats(w, s) })
}
