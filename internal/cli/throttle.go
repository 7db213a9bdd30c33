package cli

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/queue"
)

func throttleCommand() *cli.Command {
	onlyJSON := []cli.Flag{jsonFlag()}
	return group("throttle", "named limits on how many jobs run at a time",
		verb{name: "ls", usage: "list the throttles that were set", flags: onlyJSON, do: throttleList},
		verb{name: "show", usage: "show a throttle, who holds it and who waits for it", words: "ID", least: 1, most: 1, flags: onlyJSON, do: throttleShow},
		verb{name: "set", usage: "set how many jobs may hold a throttle; 0 is any number", words: "ID NUMBER", least: 2, most: 2,
			flags: []cli.Flag{&cli.DurationFlag{Name: "ttl", Usage: "forget the limit after so long"}, jsonFlag()},
			do: func(c *cli.Context, q *queue.Client) error {
				most, err := strconv.Atoi(c.Args().Get(1))
				if err != nil || most < 0 {
					return misused("%q is no limit", c.Args().Get(1))
				}
				if err := q.SetThrottle(c.Context, queue.Throttle{ID: c.Args().First(), Maximum: most, TTL: c.Duration("ttl")}); err != nil {
					return err
				}
				return said(c, "%s: at most %d at a time", c.Args().First(), most)
			}},
		verb{name: "release", usage: "make jobs give a throttle up, or wait for it no longer", words: "ID JID…", least: 2, most: -1, flags: onlyJSON,
			do: func(c *cli.Context, q *queue.Client) error {
				if err := q.ReleaseThrottle(c.Context, c.Args().First(), c.Args().Tail()...); err != nil {
					return err
				}
				return said(c, "released")
			}},
		verb{name: "rm", usage: "remove the limit", words: "ID", least: 1, most: 1, flags: onlyJSON,
			do: func(c *cli.Context, q *queue.Client) error {
				if err := q.DeleteThrottle(c.Context, c.Args().First()); err != nil {
					return err
				}
				return said(c, "%s has no limit", c.Args().First())
			}},
	)
}

// throttleView is a throttle as --json prints it.
type throttleView struct {
	ID      string   `json:"id"`
	Maximum int      `json:"maximum"`
	TTL     float64  `json:"ttl"` // seconds; 0 for ever
	Holders []string `json:"holders"`
	Waiters []string `json:"waiters"`
}

func viewThrottle(c *cli.Context, q *queue.Client, id string) (throttleView, error) {
	t, err := q.Throttle(c.Context, id)
	if err != nil {
		return throttleView{}, err
	}
	holders, err := q.ThrottleHolders(c.Context, id)
	if err != nil {
		return throttleView{}, err
	}
	waiters, err := q.ThrottleWaiters(c.Context, id)
	return throttleView{ID: id, Maximum: t.Maximum, TTL: t.TTL.Seconds(), Holders: list(holders), Waiters: list(waiters)}, err
}

// throttleList finds the throttles by their keys: the protocol keeps no list of them.
func throttleList(c *cli.Context, q *queue.Client) error {
	prefix := q.Namespace() + "th:"
	keys := q.Redis().ScanType(c.Context, 0, escapeGlob(prefix)+"*", 1000, "hash").Iterator()
	var ids []string
	for keys.Next(c.Context) {
		ids = append(ids, strings.TrimPrefix(keys.Val(), prefix))
	}
	if err := keys.Err(); err != nil {
		return err
	}
	slices.Sort(ids)
	views, rows := []throttleView{}, [][]string(nil)
	for _, id := range slices.Compact(ids) {
		v, err := viewThrottle(c, q, id)
		if err != nil {
			return err
		}
		views = append(views, v)
		rows = append(rows, []string{v.ID, count(v.Maximum), count(len(v.Holders)), count(len(v.Waiters)), seconds(v.TTL)})
	}
	return show(c, views, func(w io.Writer) {
		table(w, "No throttle was set.", []string{"THROTTLE", "LIMIT", "HELD", "WAITING", "TTL"}, rows)
	})
}

// escapeGlob makes text stand for itself in a pattern of Redis.
func escapeGlob(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(text)
}

func throttleShow(c *cli.Context, q *queue.Client) error {
	v, err := viewThrottle(c, q, c.Args().First())
	if err != nil {
		return err
	}
	return show(c, v, func(w io.Writer) {
		limit := "any number"
		if v.Maximum > 0 {
			limit = "at most " + count(v.Maximum)
		}
		printf(w, "%s: %s at a time\nheld by %s\nwaiting %s\n", v.ID, limit, strings.Join(v.Holders, " "), strings.Join(v.Waiters, " "))
	})
}
