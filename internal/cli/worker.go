package cli

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/explain"
	"oarlock/internal/ops"
	"oarlock/internal/screen"
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
	var rows [][]string
	for _, n := range workers {
		seen := screen.Ago(n.Seen, q.Now()) + " ago"
		row := []string{n.Name, screen.Count(n.Jobs), screen.Count(n.Stalled), seen, ""}
		if n.Damage != "" {
			row = []string{n.Name, "?", "?", seen, "cannot be read; see oarlock doctor: " + n.Damage}
		}
		rows = append(rows, row)
	}
	return show(c, workers, func(w io.Writer) {
		screen.Table(w, "No worker was seen lately.", []string{"WORKER", "JOBS", "STALLED", "SEEN", ""}, rows)
	})
}

func workerShow(c *cli.Context, q *queue.Client) error {
	jobs, err := ops.JobsOf(c.Context, q, c.Args().First())
	if err != nil {
		return err
	}
	return show(c, jobs, func(w io.Writer) {
		var rows [][]string
		for _, job := range jobs {
			lock := "" // of a job that was taken back it shows what was
			if job.State == "running" {
				lock = explain.LockWords(q.Now(), job.Expires)
			}
			rows = append(rows, []string{job.JID, job.Klass, job.Queue, job.State, lock})
		}
		screen.Table(w, "It holds no job.", []string{"JID", "KLASS", "QUEUE", "STATE", "LOCK"}, rows)
	})
}
