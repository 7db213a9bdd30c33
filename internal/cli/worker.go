package cli

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/ops"
	"oarlock/internal/show"
	"oarlock/queue"
)

func workerCommand() *cli.Command {
	onlyJSON := []cli.Flag{jsonFlag()}
	return group("worker", "who holds jobs, by the names that Redis knows",
		verb{name: "ls", usage: "list the workers and how many jobs they hold", flags: onlyJSON, do: workerList},
		verb{name: "show", usage: "show the jobs of a worker", words: "NAME", least: 1, most: 1, flags: onlyJSON, do: workerShow},
		verb{name: "forget", usage: "take workers off the list; what they hold stays locked", words: "NAME…", least: 1, most: -1, flags: onlyJSON,
			do: func(c *cli.Context, q *queue.Client) error {
				if err := ops.ForgetWorkers(c.Context, q, c.Args().Slice()); err != nil {
					return err
				}
				return said(c, "forgot %s", strings.Join(c.Args().Slice(), " "))
			}},
	)
}

func workerList(c *cli.Context, q *queue.Client) error {
	workers, err := ops.Workers(c.Context, q)
	if err != nil {
		return err
	}
	return answer(c, workers, func(w io.Writer) { show.Workers(w, workers, q.Now()) })
}

func workerShow(c *cli.Context, q *queue.Client) error {
	jobs, err := ops.JobsOf(c.Context, q, c.Args().First())
	if err != nil {
		return err
	}
	return answer(c, jobs, func(w io.Writer) { show.Held(w, jobs, q.Now()) })
}
