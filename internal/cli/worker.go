package cli

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/explain"
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
				if err := knownWorkers(c, q, c.Args().Slice()...); err != nil {
					return err
				}
				if err := q.ForgetWorkers(c.Context, c.Args().Slice()...); err != nil {
					return err
				}
				return said(c, "forgot %s", strings.Join(c.Args().Slice(), " "))
			}},
	)
}

func workerList(c *cli.Context, q *queue.Client) error {
	workers, err := q.Workers(c.Context)
	if err != nil {
		return err
	}
	type view struct {
		Name    string  `json:"name"`
		Seen    float64 `json:"seen"` // seconds since the epoch
		Jobs    int     `json:"jobs"`
		Stalled int     `json:"stalled"`
		Damage  string  `json:"damage,omitempty"`
	}
	views, rows := make([]view, len(workers)), make([][]string, len(workers))
	for i, n := range workers {
		views[i] = view(n)
		rows[i] = []string{n.Name, screen.Count(n.Jobs), screen.Count(n.Stalled), screen.Ago(n.Seen, q.Now()) + " ago", ""}
		if n.Damage != "" {
			rows[i] = []string{n.Name, "?", "?", screen.Ago(n.Seen, q.Now()) + " ago", "cannot be read; see oarlock doctor: " + n.Damage}
		}
	}
	return show(c, views, func(w io.Writer) {
		screen.Table(w, "No worker was seen lately.", []string{"WORKER", "JOBS", "STALLED", "SEEN", ""}, rows)
	})
}

// knownWorkers refuses workers that Redis does not know.
func knownWorkers(c *cli.Context, q *queue.Client, names ...string) error {
	for _, name := range names {
		seen, err := q.WorkerSeen(c.Context, name)
		if err != nil {
			return err
		}
		if seen == 0 {
			return notThere("there is no worker %s; `oarlock worker ls` lists them", name)
		}
	}
	return nil
}

func workerShow(c *cli.Context, q *queue.Client) error {
	if err := knownWorkers(c, q, c.Args().First()); err != nil {
		return err
	}
	jids, stalled, err := q.Worker(c.Context, c.Args().First())
	if err != nil {
		return err
	}
	jobs, err := q.GetMany(c.Context, append(append([]string{}, jids...), stalled...)...)
	if err != nil {
		return err
	}
	return show(c, viewJobs(jobs), func(w io.Writer) {
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
