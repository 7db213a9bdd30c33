package cli

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/ops"
	"oarlock/internal/show"
	"oarlock/queue"
)

// lists are those of jobs that no queue has.
var lists = []string{"tracked", "complete"}

func jobListVerb() verb {
	return verb{name: "ls", usage: "list the tracked jobs, or those that are complete, newest first; GLOB is of a jid or class", words: "tracked|complete [GLOB]",
		least: 1, most: 2, flags: windowFlags(), do: jobList}
}

func jobList(c *cli.Context, q *queue.Client) error {
	which, glob := c.Args().First(), c.Args().Get(1)
	var list ops.List
	var err error
	switch which {
	case "tracked":
		list, err = ops.Tracked(c.Context, q, glob, pageOf(c))
	case "complete":
		list, err = ops.Complete(c.Context, q, glob, pageOf(c))
	default:
		return misused("name one of %s; other jobs are listed by `oarlock queue show`, `queue peek` and `failed ls`", strings.Join(lists, ", "))
	}
	if err != nil {
		return err
	}
	told := list
	if told.Jobs, list.Jobs, err = blanked(c, list.Jobs...); err != nil {
		return err
	}
	return answer(c, list, func(w io.Writer) { show.List(w, which, told) })
}
