package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/ops"
	"oarlock/internal/show"
	"oarlock/queue"
)

func searchCommand() *cli.Command {
	command := verb{
		name: "search", usage: "find what has a name, or jobs by terms: " + strings.Join(ops.Terms, ":, ") + ":", words: "NAME | TERM:VALUE…", least: 1, most: -1,
		flags: []cli.Flag{
			&cli.IntFlag{Name: "limit", Aliases: []string{"n"}, Value: 25, Usage: "how many jobs to show at most"},
			&cli.StringFlag{Name: "cursor", Usage: "go on where a search said that it ended"},
			jsonFlag(),
		},
		do: search,
	}.command()
	command.Category = "jobs in Redis"
	return command
}

func search(c *cli.Context, q *queue.Client) error {
	found, err := ops.Search(c.Context, q, queryOf(c.Args().Slice()), ops.Window{Cursor: c.String("cursor"), Limit: c.Int("limit")})
	if err != nil {
		return err
	}
	told := found
	if found.Jobs != nil {
		words, whole := *found.Jobs, *found.Jobs
		if words.Items, whole.Items, err = blanked(c, found.Jobs.Items...); err != nil {
			return err
		}
		told.Jobs, found.Jobs = &words, &whole
	}
	return answer(c, found, func(w io.Writer) { show.Results(w, told) })
}

// queryOf is the query that words of a command line make: the quotes around a value with a blank were the shell's.
func queryOf(words []string) string {
	for i, word := range words {
		term, value, is := strings.Cut(word, ":")
		if is && slices.Contains(ops.Terms, term) && strings.ContainsAny(value, " \t\n") && !strings.HasPrefix(value, `"`) {
			words[i] = ops.Term(term, value)
		}
	}
	return strings.Join(words, " ")
}
