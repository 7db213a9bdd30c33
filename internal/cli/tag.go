package cli

import (
	"io"

	"github.com/urfave/cli/v2"

	"oarlock/internal/ops"
	"oarlock/internal/show"
	"oarlock/queue"
)

func tagCommand() *cli.Command {
	return group("tag", "jobs by tag",
		verb{name: "ls", usage: "list the tags that are used more than once, most used first", flags: windowFlags(),
			do: func(c *cli.Context, q *queue.Client) error {
				tags, err := ops.TopTags(c.Context, q, pageOf(c))
				if err != nil {
					return err
				}
				return answer(c, tags, func(w io.Writer) { show.Lines(w, "No tag is used more than once.", tags) })
			}},
		verb{name: "show", usage: "list the jobs that have a tag", words: "TAG", least: 1, most: 1, flags: windowFlags(),
			do: func(c *cli.Context, q *queue.Client) error {
				tagged, err := ops.JobsTagged(c.Context, q, c.Args().First(), pageOf(c))
				if err != nil {
					return err
				}
				told := tagged
				if told.Jobs, tagged.Jobs, err = blanked(c, tagged.Jobs...); err != nil {
					return err
				}
				return answer(c, tagged, func(w io.Writer) { show.Tagged(w, told) })
			}},
	)
}
