package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"oarlock/internal/hub"
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
			&cli.StringFlag{Name: "kinds", Usage: "only of these `KINDS`, with commas between them"},
			&cli.BoolFlag{Name: "here", Usage: "what the supervisor of this host tells of itself, its children, attempts, throttles and windows, rather than what Redis tells of all hosts"},
			pidFlag(),
			&cli.IntFlag{Name: "count", DefaultText: "never", Usage: "leave after so many"},
			&cli.BoolFlag{Name: "json", Usage: "print each as a line of JSON"},
		},
		do: events,
	}.command()
	command.Category = "jobs in Redis"
	command.Description = "Redis tells of all hosts: " + strings.Join(queue.EventNames, ", ") + ".\n" +
		"With --here the supervisor tells: " + strings.Join(hub.KindNames(), ", ") + "."
	elsewhere := command.Action
	command.Action = func(c *cli.Context) error {
		switch {
		case c.Bool("here"):
			return eventsHere(c)
		case c.IsSet("pid"):
			return misused("--pid is for --here: Redis tells of all hosts")
		}
		return elsewhere(c)
	}
	return command
}

// kindsOf are those that --kinds names; nil for all.
func kindsOf(c *cli.Context, there []string) ([]string, error) {
	if !c.IsSet("kinds") {
		return nil, nil
	}
	kinds := strings.Split(c.String("kinds"), ",")
	for _, kind := range kinds {
		if !slices.Contains(there, kind) {
			hint := "; with --here: " + strings.Join(hub.KindNames(), ", ")
			if c.Bool("here") {
				hint = ""
			}
			return nil, misused("--kinds: there are no events of kind %s; there are %s%s", screen.InShell(kind), strings.Join(there, ", "), hint)
		}
	}
	return kinds, nil
}

func events(c *cli.Context, q *queue.Client) error {
	kinds, err := kindsOf(c, queue.EventNames)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	w, seen := c.App.Writer, 0
	for e, err := range q.Events(ctx) {
		if err != nil {
			return err
		}
		if (c.String("jid") != "" && e.JID != c.String("jid")) || (c.String("queue") != "" && !queue.Match(c.String("queue"), e.Queue)) || kinds != nil && !slices.Contains(kinds, e.Event) {
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

// errEnough ends a stream of which enough was read.
var errEnough = errors.New("enough")

// eventsHere follows what a supervisor tells of itself.
func eventsHere(c *cli.Context) error {
	if err := wantArgs(c, 0, 0, ""); err != nil {
		return err
	}
	if _, err := kindsOf(c, hub.KindNames()); err != nil {
		return err
	}
	supervisor, err := reach(c)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	query := url.Values{}
	for _, name := range []string{"jid", "queue", "kinds"} {
		if c.String(name) != "" {
			query.Set(name, c.String(name))
		}
	}
	seen := 0
	err = supervisor.Follow(ctx, "api/v1/events?"+query.Encode(), func(data []byte) error {
		if err := printEvent(c, data); err != nil {
			return err
		}
		if seen++; seen == c.Int("count") {
			return errEnough
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnough), ctx.Err() != nil:
		return nil
	case errors.Is(err, io.EOF):
		return fmt.Errorf("supervisor %s has left", supervisor.PID)
	}
	return err
}

// printEvent prints an event of a supervisor, which is JSON.
func printEvent(c *cli.Context, data []byte) error {
	if c.Bool("json") {
		return screen.EncodeJSON(c.App.Writer, json.RawMessage(data), "")
	}
	var e hub.Event
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("an event cannot be read: %w", err)
	}
	return show.EventHere(c.App.Writer, e)
}
