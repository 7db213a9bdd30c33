package cli

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/screen"
	"oarlock/queue"
)

// failedPage is how many failed jobs are read at a time.
const failedPage = 200

// chosenFlags say which failed jobs are meant.
func chosenFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "queue", Usage: "only those of `QUEUE`, a name or a glob (*, ?)"},
		&cli.StringFlag{Name: "klass", Usage: "only those of `KIND`, a name or a glob"},
		&cli.StringFlag{Name: "message", Usage: "only those whose message contains `TEXT`"},
		&cli.DurationFlag{Name: "since", Usage: "only those that failed so long ago at most"},
		&cli.DurationFlag{Name: "before", Usage: "only those that failed so long ago at least"},
		&cli.IntFlag{Name: "limit", Aliases: []string{"n"}, Usage: "so many at most (default: all)"},
		jsonFlag(),
	}, more...)
}

func failedCommand() *cli.Command {
	dry := &cli.BoolFlag{Name: "dry-run", Usage: "only show which jobs those are"}
	all := &cli.BoolFlag{Name: "all", Usage: "of all groups"}
	return group("failed", "jobs that failed for good",
		verb{name: "ls", usage: "list the groups of failed jobs, or the jobs of one", words: "[GROUP]", most: 1, flags: chosenFlags(), do: failedList},
		verb{name: "retry", usage: "put failed jobs into their queues again, with all their retries", words: "[GROUP]", most: 1, flags: chosenFlags(all, dry),
			do: func(c *cli.Context, q *queue.Client) error { return failedChange(c, q, "retried", queue.AmendRetry) }},
		verb{name: "drop", usage: "remove failed jobs for good", words: "[GROUP]", most: 1, flags: chosenFlags(all, dry),
			do: func(c *cli.Context, q *queue.Client) error { return failedChange(c, q, "dropped", queue.AmendCancel) }},
	)
}

func failedList(c *cli.Context, q *queue.Client) error {
	if c.NArg() == 0 {
		groups, err := q.FailedGroups(c.Context)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			row := []string{name, screen.Count(groups[name]), ""}
			if groups[name] < 0 {
				row[1], row[2] = "?", q.FailedGroupDamage(name)
			}
			rows = append(rows, row)
		}
		return show(c, groups, func(w io.Writer) { screen.Table(w, "No job has failed.", []string{"GROUP", "JOBS", ""}, rows) })
	}
	jobs, err := chosen(c, q, c.Args().First())
	if err != nil {
		return err
	}
	return show(c, viewJobs(jobs), func(w io.Writer) { printFailed(w, jobs) })
}

func printFailed(w io.Writer, jobs []queue.Job) {
	var rows [][]string
	for _, job := range jobs {
		rows = append(rows, []string{job.JID, job.Klass, job.Queue, screen.Moment(job.Failure.When), job.Failure.Group, screen.Shorten(job.Failure.Message, 70)})
	}
	screen.Table(w, "No job like that has failed.", []string{"JID", "KLASS", "QUEUE", "FAILED", "GROUP", "MESSAGE"}, rows)
}

// chosen reads the failed jobs of a group that the options of c mean.
func chosen(c *cli.Context, q *queue.Client, group string) ([]queue.Job, error) {
	var out []queue.Job
	now, limit := q.Now(), c.Int("limit")
	for offset := 0; ; offset += failedPage {
		jids, _, err := q.Failed(c.Context, group, offset, failedPage)
		if err != nil || len(jids) == 0 {
			return out, err
		}
		jobs, err := q.GetMany(c.Context, jids...)
		if err != nil {
			return nil, err
		}
		for _, job := range jobs {
			age := time.Duration((now - job.Failure.When) * float64(time.Second))
			if (c.String("queue") != "" && !queue.Match(c.String("queue"), job.Queue)) ||
				(c.String("klass") != "" && !queue.Match(c.String("klass"), job.Klass)) ||
				!strings.Contains(job.Failure.Message, c.String("message")) ||
				(c.IsSet("since") && age > c.Duration("since")) ||
				(c.IsSet("before") && age < c.Duration("before")) {
				continue
			}
			if limit > 0 && len(out) == limit {
				return out, nil
			}
			out = append(out, job)
		}
	}
}

// failedChange does something to the failed jobs that the command line means.
func failedChange(c *cli.Context, q *queue.Client, done string, change queue.Change) error {
	var groups []string
	switch {
	case c.NArg() == 1 && c.Bool("all"):
		return misused("name a GROUP or say --all, not both")
	case c.NArg() == 1:
		groups = []string{c.Args().First()}
	case c.Bool("all"):
		counts, err := q.FailedGroups(c.Context)
		if err != nil {
			return err
		}
		maps.DeleteFunc(counts, func(_ string, n int) bool { return n < 0 }) // of another type
		groups = slices.Sorted(maps.Keys(counts))
	default:
		return misused("name a GROUP of `oarlock failed ls`, or say --all")
	}
	var jobs []queue.Job
	for _, group := range groups {
		found, err := chosen(c, q, group)
		if err != nil {
			return err
		}
		jobs = append(jobs, found...)
	}
	if c.Bool("dry-run") {
		return show(c, viewJobs(jobs), func(w io.Writer) {
			printFailed(w, jobs)
			screen.Printf(w, "%s would be %s\n", screen.Some(len(jobs), "job"), done)
		})
	}
	if len(jobs) == 0 && !c.Bool("all") {
		counts, err := q.FailedGroups(c.Context)
		if _, is := counts[groups[0]]; err != nil || !is {
			return errors.Join(err, notThere("no job has failed in group %s; `oarlock failed ls` lists the groups", groups[0]))
		}
	}
	_, err := amendJobs(c, q, jobs, done, func(job queue.Job) queue.Amendment { return job.Amend(change) })
	return err
}
