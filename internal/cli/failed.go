package cli

import (
	"context"
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/show"
	"oarlock/queue"
)

// chosenFlags say which failed jobs are meant.
func chosenFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "queue", Usage: "only those of `QUEUE`, a name or a glob (*, ?)"},
		&cli.StringFlag{Name: "klass", Usage: "only those of `KIND`, a name or a glob"},
		&cli.StringFlag{Name: "key", Usage: "only those of `KEY`; without a GROUP, those of all groups"},
		&cli.StringFlag{Name: "message", Usage: "only those whose message contains `TEXT`"},
		&cli.DurationFlag{Name: "since", Usage: "only those that failed so long ago at most"},
		&cli.DurationFlag{Name: "before", Usage: "only those that failed so long ago at least"},
		&cli.IntFlag{Name: "limit", Aliases: []string{"n"}, DefaultText: "all", Usage: "so many at most"},
		jsonFlag(),
	}, more...)
}

func failedCommand() *cli.Command {
	dry := &cli.BoolFlag{Name: "dry-run", Usage: "only show which jobs those are"}
	all := &cli.BoolFlag{Name: "all", Usage: "of all groups"}
	return group("failed", "jobs that failed for good",
		verb{name: "ls", usage: "list the groups of failed jobs, or the jobs of one; with --key and the like and no GROUP, jobs of all groups", words: "[GROUP]", most: 1, flags: chosenFlags(), do: failedList},
		verb{name: "retry", usage: "put failed jobs into their queues again, with all their retries: those of a group, by their jids, or all", words: "[GROUP|JID…]", most: -1, flags: chosenFlags(all, dry),
			do: func(c *cli.Context, q *queue.Client) error {
				return failedChange(c, q, "retried", ops.FailedJobs.Retry)
			}},
		verb{name: "drop", usage: "remove failed jobs for good: those of a group, by their jids, or all", words: "[GROUP|JID…]", most: -1, flags: chosenFlags(all, dry),
			do: func(c *cli.Context, q *queue.Client) error { return failedChange(c, q, "dropped", ops.FailedJobs.Drop) }},
	)
}

func failedList(c *cli.Context, q *queue.Client) error {
	which := chosen(c)
	named := which
	named.Limit = 0
	if which.All = c.NArg() == 0; which.All && !named.Chooses() {
		groups, err := q.FailedGroups(c.Context)
		if err != nil {
			return err
		}
		return answer(c, groups, func(w io.Writer) { show.FailedGroups(w, groups, q.FailedGroupDamage) })
	}
	found, err := which.Find(c.Context, q)
	if err != nil {
		return err
	}
	return answerJobs(c, ops.Views(found), show.Failed)
}

// chosen are the failed jobs that the words and options of c mean.
func chosen(c *cli.Context) ops.FailedJobs {
	return ops.FailedJobs{
		Group: c.Args().First(), All: c.Bool("all"), Queue: c.String("queue"), Klass: c.String("klass"), Key: c.String("key"), Message: c.String("message"),
		Since: given(c, "since", c.Duration), Before: given(c, "before", c.Duration), Limit: c.Int("limit"),
	}
}

// failedChange does something to the failed jobs that the command line means.
func failedChange(c *cli.Context, q *queue.Client, done string, change func(ops.FailedJobs, context.Context, *queue.Client) (ops.Amended, error)) error {
	which := chosen(c)
	which.Group = ""
	switch {
	case c.NArg() > 0 && which.All:
		return misused("name a GROUP or jobs, or say --all, not both")
	case c.NArg() == 0 && !which.All && which.Key == "":
		return misused("name a GROUP of `oarlock failed ls`, or jobs, or a --key, or say --all")
	}
	which.All = c.NArg() == 0
	which, err := which.Named(c.Context, q, c.Args().Slice())
	if err != nil {
		return err
	}
	if len(which.JIDs) > 0 && which.Chooses() {
		return misused("jobs that are named need no --queue, --klass, --key, --message, --since, --before or --limit")
	}
	if c.Bool("dry-run") {
		found, err := which.Find(c.Context, q)
		if err != nil {
			return err
		}
		return answerJobs(c, ops.Views(found), func(w io.Writer, jobs []ops.Job) {
			show.Failed(w, jobs)
			screen.Printf(w, "%s would be %s\n", screen.Some(len(jobs), "job"), done)
		})
	}
	a, err := change(which, c.Context, q)
	if err != nil {
		return err
	}
	return errors.Join(showAmended(c, a), a.Refusal()) // one that somebody else changed is only told of
}
