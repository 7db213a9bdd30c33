package cli

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/screen"
	"oarlock/queue"
)

func throttleCommand() *cli.Command {
	onlyJSON := []cli.Flag{jsonFlag()}
	return group("throttle", "named limits on how many jobs run at a time",
		verb{name: "ls", usage: "list the throttles that were set", flags: onlyJSON, do: throttleList},
		verb{name: "show", usage: "show a throttle, who holds it and who waits for it", words: "ID", least: 1, most: 1, flags: onlyJSON, do: throttleShow},
		verb{name: "set", usage: "set how many jobs may hold a throttle; 0 is any number", words: "ID NUMBER", least: 2, most: 2,
			flags: []cli.Flag{&cli.DurationFlag{Name: "ttl", Usage: "forget the limit after so long"}, forceFlag(), jsonFlag()},
			do: func(c *cli.Context, q *queue.Client) error {
				most, err := strconv.Atoi(c.Args().Get(1))
				if err != nil || most < 0 {
					return misused("%q is no limit; name a number of jobs, 0 for any", c.Args().Get(1))
				}
				if c.Duration("ttl") < 0 {
					return misused("--ttl is negative; without it the limit stays")
				}
				if err := newName(c, "throttle", c.Args().First()); err != nil {
					return err
				}
				if err := q.SetThrottle(c.Context, queue.Throttle{ID: c.Args().First(), Maximum: most, TTL: c.Duration("ttl")}); err != nil {
					return err
				}
				return said(c, "%s: %s", c.Args().First(), mostWords(most))
			}},
		verb{name: "release", usage: "make jobs give a throttle up that they hold", words: "ID JID…", least: 2, most: -1, flags: onlyJSON,
			do: func(c *cli.Context, q *queue.Client) error {
				return throttleRelease(c, q, c.Args().First(), c.Args().Tail())
			}},
		verb{name: "rm", usage: "remove the limit", words: "ID", least: 1, most: 1, flags: onlyJSON,
			do: func(c *cli.Context, q *queue.Client) error {
				if t, err := q.Throttle(c.Context, c.Args().First()); err != nil {
					return err
				} else if t.Maximum == 0 {
					return notThere("%s had no limit", c.Args().First())
				}
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
	Idle    []string `json:"idle,omitempty"` // of show: what is known of holders that do no work
	Damage  string   `json:"damage,omitempty"`
}

// ttlWords says how long a throttle is kept.
func ttlWords(ttl float64) string {
	if ttl == 0 {
		return "for ever"
	}
	return screen.Seconds(ttl)
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

func throttleList(c *cli.Context, q *queue.Client) error {
	ids, err := q.ThrottleIDs(c.Context)
	if err != nil {
		return err
	}
	views, rows := []throttleView{}, [][]string(nil)
	for _, id := range ids {
		v, err := viewThrottle(c, q, id)
		row := []string{v.ID, screen.Count(v.Maximum), screen.Count(len(v.Holders)), screen.Count(len(v.Waiters)), ttlWords(v.TTL), ""}
		if queue.Class(err) == queue.Refused {
			v = throttleView{ID: id, Holders: []string{}, Waiters: []string{}, Damage: cmp.Or(q.ThrottleDamage(c.Context, id), err.Error())}
			row = []string{id, "?", "?", "?", "?", v.Damage}
		} else if err != nil {
			return err
		} else if v.Maximum == 0 && v.TTL == 0 {
			continue // it has no limit, so what holds it holds nobody up
		}
		views, rows = append(views, v), append(rows, row)
	}
	return show(c, views, func(w io.Writer) {
		screen.Table(w, "No throttle was set.", []string{"THROTTLE", "LIMIT", "HELD", "WAITING", "TTL", ""}, rows)
	})
}

// throttleRelease makes jobs give a throttle up; it wants each to hold it. One that waits would
// leave the line by the protocol's command, and be in no place from which it could be taken.
func throttleRelease(c *cli.Context, q *queue.Client, id string, jids []string) error {
	v, err := viewThrottle(c, q, id)
	if err != nil {
		return err
	}
	for _, jid := range jids {
		if slices.Contains(v.Waiters, jid) {
			return notThere("%s does not hold %s but waits for it: raise its limit, or release one that holds it; nothing was done", jid, id)
		}
		if !slices.Contains(v.Holders, jid) {
			return notThere("%s does not hold %s; nothing was done", jid, id)
		}
	}
	if err := q.ReleaseThrottle(c.Context, id, jids...); err != nil {
		return err
	}
	return said(c, "%s: released by %s", id, strings.Join(jids, ", "))
}

// mostWords says how many jobs may hold a throttle.
func mostWords(most int) string {
	if most == 0 {
		return "any number of jobs at a time"
	}
	return "at most " + screen.Some(most, "job") + " at a time"
}

func throttleShow(c *cli.Context, q *queue.Client) error {
	v, err := viewThrottle(c, q, c.Args().First())
	if err != nil {
		return err
	}
	if v.Maximum == 0 && len(v.Holders) == 0 && len(v.Waiters) == 0 {
		return notThere("there is no throttle %s: it has no limit, and no job names it at the moment", v.ID)
	}
	if v.Idle, err = sources(c, q).Idle(c.Context, v.Holders); err != nil {
		return err
	}
	return show(c, v, func(w io.Writer) {
		screen.Printf(w, "%s: %s\n", v.ID, mostWords(v.Maximum))
		if v.TTL > 0 {
			screen.Printf(w, "forgotten in: %s\n", screen.Seconds(v.TTL))
		}
		screen.Printf(w, "held by: %s\nwaited for by: %s\n", orNobody(v.Holders), orNobody(v.Waiters))
		for _, holder := range v.Idle {
			screen.PrintLine(w, holder)
		}
	})
}

// orNobody lists jids.
func orNobody(jids []string) string {
	if len(jids) == 0 {
		return "no job"
	}
	return strings.Join(jids, " ")
}
