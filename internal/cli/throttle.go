package cli

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/show"
	"oarlock/queue"
)

func throttleCommand() *cli.Command {
	onlyJSON := []cli.Flag{jsonFlag()}
	return group("throttle", "named limits on how many jobs run at a time",
		verb{name: "ls", usage: "list the throttles that were set", flags: []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "look through all keys of Redis, however long that takes"}, jsonFlag()}, do: throttleList},
		verb{name: "show", usage: "show a throttle, who holds it and who waits for it", words: "THROTTLE", least: 1, most: 1, flags: onlyJSON, do: throttleShow},
		verb{name: "set", usage: "set how many jobs may hold a throttle; 0 is any number", words: "THROTTLE NUMBER", least: 2, most: 2,
			flags: []cli.Flag{&cli.DurationFlag{Name: "ttl", Usage: "forget the limit after so long"}, forceFlag(), jsonFlag()},
			do: func(c *cli.Context, q *queue.Client) error {
				id := c.Args().First()
				if c.IsSet("ttl") && c.Duration("ttl") <= 0 {
					return misused("--ttl must be more than 0; without it the limit is kept for ever")
				}
				most, err := jobCount(c.Args().Get(1))
				if err == nil {
					err = ops.SetThrottle(c.Context, q, queue.Throttle{ID: id, Maximum: most, TTL: c.Duration("ttl")}, sure(c))
				}
				if err != nil {
					return err
				}
				return said(c, "%s: %s", id, show.Most(most))
			}},
		verb{name: "unset", usage: "let the limit be again what the rules say", words: "THROTTLE", least: 1, most: 1, flags: onlyJSON,
			do: func(c *cli.Context, q *queue.Client) error {
				id := c.Args().First()
				limit, beside, err := ops.UnsetThrottle(c.Context, q, id)
				if err != nil {
					return err
				}
				return said(c, "%s: %s, as the rules say", id, show.MostBeside(limit, beside))
			}},
		verb{name: "release", usage: "make jobs give a throttle up that they hold", words: "THROTTLE JID…", least: 2, most: -1, flags: onlyJSON,
			do: func(c *cli.Context, q *queue.Client) error {
				id, jids := c.Args().First(), c.Args().Tail()
				if err := ops.ReleaseThrottle(c.Context, q, id, jids); err != nil {
					return err
				}
				return said(c, "%s: released by %s", id, strings.Join(jids, ", "))
			}},
		verb{name: "rm", usage: "remove the limit", words: "THROTTLE", least: 1, most: 1, flags: onlyJSON,
			do: func(c *cli.Context, q *queue.Client) error {
				if err := ops.RemoveThrottle(c.Context, q, c.Args().First()); err != nil {
					return err
				}
				return said(c, "%s has no limit", c.Args().First())
			}},
	)
}

func throttleList(c *cli.Context, q *queue.Client) error {
	found, more, err := ops.Throttles(c.Context, q, c.Bool("all"))
	if err != nil {
		return err
	}
	if more {
		screen.PrintLine(c.App.ErrWriter, "Not all keys of Redis were looked through: there may be more throttles. `oarlock throttle ls --all` takes the time.")
	}
	return answer(c, found, func(w io.Writer) { show.Throttles(w, found) })
}

func throttleShow(c *cli.Context, q *queue.Client) error {
	v, err := ops.ShowThrottle(c.Context, sources(c, q), c.Args().First())
	if err != nil {
		return err
	}
	return answer(c, v, func(w io.Writer) { show.Throttle(w, v, q.Now()) })
}
