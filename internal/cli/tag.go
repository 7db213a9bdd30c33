package cli

import (
	"io"

	"github.com/urfave/cli/v2"

	"oarlock/internal/screen"
	"oarlock/queue"
)

func tagCommand() *cli.Command {
	return group("tag", "jobs by tag",
		verb{name: "ls", usage: "list the tags that are used more than once, most used first", flags: windowFlags(),
			do: func(c *cli.Context, q *queue.Client) error {
				tags, err := q.TopTags(c.Context, c.Int("offset"), c.Int("limit"))
				if err != nil {
					return err
				}
				return show(c, list(tags), func(w io.Writer) {
					for _, tag := range tags {
						screen.PrintLine(w, tag)
					}
				})
			}},
		verb{name: "show", usage: "list the jobs that have a tag", words: "TAG", least: 1, most: 1, flags: windowFlags(),
			do: func(c *cli.Context, q *queue.Client) error {
				jids, total, err := q.Tagged(c.Context, c.Args().First(), c.Int("offset"), c.Int("limit"))
				if err != nil {
					return err
				}
				jobs, err := q.GetMany(c.Context, jids...)
				if err != nil {
					return err
				}
				return show(c, map[string]any{"total": total, "jobs": viewJobs(jobs)}, func(w io.Writer) {
					printJobs(w, "No job has that tag.", jobs)
					if total > len(jobs) {
						screen.Printf(w, "%s of %s; --offset and --limit show more\n", screen.Count(len(jobs)), screen.Count(total))
					}
				})
			}},
	)
}
