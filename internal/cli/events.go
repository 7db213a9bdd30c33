package cli

import (
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/show"
	"oarlock/queue"
)

func eventsCommand() *cli.Command {
	command := verb{
		name: "events", usage: "follow what happens to jobs, until ^C",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "jid", Usage: "only of the job `JID`"},
			&cli.StringFlag{Name: "queue", Usage: "only of `QUEUE`, a name or a glob (*, ?)"},
			&cli.IntFlag{Name: "count", DefaultText: "never", Usage: "leave after so many"},
			&cli.BoolFlag{Name: "json", Usage: "print each as a line of JSON"},
		},
		do: events,
	}.command()
	command.Category = "jobs in Redis"
	return command
}

func events(c *cli.Context, q *queue.Client) error {
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	w, seen := c.App.Writer, 0
	for e, err := range q.Events(ctx) {
		if err != nil {
			return err
		}
		if (c.String("jid") != "" && e.JID != c.String("jid")) || (c.String("queue") != "" && !queue.Match(c.String("queue"), e.Queue)) {
			continue
		}
		if c.Bool("json") {
			err = screen.EncodeJSON(w, ops.EventView(e, q.Now()), "")
		} else {
			err = show.Event(w, e)
		}
		if err != nil {
			return err
		}
		if seen++; seen == c.Int("count") {
			return nil
		}
	}
	return nil
}
