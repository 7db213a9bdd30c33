package cli

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/rollcall"
	"oarlock/internal/screen"
	"oarlock/internal/service"
	"oarlock/internal/show"
	"oarlock/queue"
	"oarlock/supervisor"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "show the pools and children of a running supervisor, or all supervisors that share a Redis",
		ArgsUsage: "[POOL…]",
		Category:  "a running supervisor",
		Flags: []cli.Flag{
			pidFlag(), jsonFlag(),
			&cli.BoolFlag{Name: "all", Usage: "ask all supervisors of the namespace, on whatever host, and tell who does not answer"},
		},
		Action: func(c *cli.Context) error {
			if c.Bool("all") {
				return statusOfAll(c)
			}
			s, err := reach(c)
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := s.Status(c.Context, &raw); err != nil {
				return err
			}
			var r service.Status
			if err := json.Unmarshal(raw, &r); err != nil {
				return err
			}
			if c.NArg() == 0 {
				err = answer(c, raw, func(w io.Writer) { show.Status(w, r) })
			} else if err = onlyPools(&r, c.Args().Slice()); err == nil {
				err = answer(c, r, func(w io.Writer) { show.Status(w, r) })
			}
			return cmp.Or(err, untold(c, r))
		},
	}
}

// untold is an error if pools are missing in a status, because their loops did not answer.
func untold(c *cli.Context, r service.Status) error {
	if len(r.Stuck) == 0 {
		return nil
	}
	if c.Bool("json") {
		for _, name := range r.Stuck {
			screen.PrintLine(c.App.ErrWriter, supervisor.StuckWords(name))
		}
	}
	return silent{exitTempFail}
}

// onlyPools leaves those pools in a status that names or globs stand for.
func onlyPools(r *service.Status, globs []string) error {
	for _, glob := range globs {
		names := slices.Clone(r.Stuck)
		for _, p := range r.Pools {
			names = append(names, p.Name)
		}
		if !slices.ContainsFunc(names, func(name string) bool { return queue.Match(glob, name) }) {
			return notThere("there is no pool %s", glob)
		}
	}
	r.Stuck = slices.DeleteFunc(r.Stuck, func(name string) bool { return !queue.MatchAny(globs, name) })
	r.Pools = slices.DeleteFunc(r.Pools, func(p supervisor.PoolSnapshot) bool { return !queue.MatchAny(globs, p.Name) })
	return nil
}

// statusOfAll calls the roll. That nobody is there is a failure, as it is for one supervisor; that some do not
// answer is told, with what is known of them.
func statusOfAll(c *cli.Context) error {
	if c.IsSet("pid") {
		return misused("--pid names one supervisor, and --all asks all")
	}
	client, err := open(c)
	if err != nil {
		return err
	}
	defer client.Close()
	roll, err := rollcall.New(client).Call(c.Context)
	if err != nil {
		return asked(err)
	}
	workers, err := client.Workers(c.Context)
	if err != nil {
		return asked(err)
	}
	there := len(roll.Items)
	if roll.NoteUnheard(workers); there == 0 {
		roll.Items = []rollcall.Answer{}
	}
	if globs := c.Args().Slice(); len(globs) > 0 && !roll.Only(globs) && there > 0 {
		return notThere("no supervisor that answered has a pool %s: %s", strings.Join(globs, " or "), show.Answered(roll))
	}
	if err := answer(c, roll, func(w io.Writer) { show.Roll(w, roll, "in this namespace of Redis", client.Now()) }); err != nil {
		return err
	}
	if len(roll.Items)+roll.Working() == 0 {
		return silent{exitFailed}
	}
	return nil
}
