package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/show"
	"oarlock/queue"
)

func keyCommand() *cli.Command {
	dry := &cli.BoolFlag{Name: "dry-run", Usage: "say what it would be, and do nothing"}
	yes := &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask, on a terminal"}
	return group("key", "keys, of whose jobs one runs at a time, in order",
		verb{name: "ls", usage: "list the keys of a queue for which jobs wait behind others, longest first; or all by their names", words: "QUEUE", least: 1, most: 1, do: keyList,
			flags: append([]cli.Flag{&cli.StringFlag{Name: "by", Value: ops.ByBlocked, Usage: "in which `ORDER`: blocked or name"}}, windowFlags()...)},
		verb{name: "show", usage: "show who has the turn of a key, what that waits for, and who stands behind", words: "QUEUE KEY", least: 2, most: 2, flags: windowFlags(), do: keyShow},
		verb{name: "pass", usage: "let a key go on whose turn a failed job keeps (after_fail = \"hold\")", words: "QUEUE KEY", least: 2, most: 2,
			flags: []cli.Flag{dry, jsonFlag()}, do: keyPass},
		verb{name: "drop", usage: "cancel all jobs of a key that wait or run; not those that failed, or are delayed", words: "QUEUE KEY", least: 2, most: 2,
			flags: []cli.Flag{dry, yes, jsonFlag()}, do: keyDrop},
		verb{name: "free", usage: "give the order of a queue up: all that stands behind waits as any job, until the next put of a key", words: "QUEUE", least: 1, most: 1,
			flags: []cli.Flag{dry, yes, jsonFlag()}, do: keyFree},
	)
}

func keyList(c *cli.Context, q *queue.Client) error {
	keys, err := ops.ListKeys(c.Context, q, c.Args().First(), c.String("by"), pageOf(c))
	if err != nil {
		return asked(err)
	}
	return answer(c, keys, func(w io.Writer) { show.Keys(w, keys) })
}

func keyShow(c *cli.Context, q *queue.Client) error {
	key, err := ops.ShowKey(c.Context, sources(c, q), c.Args().First(), c.Args().Get(1), pageOf(c))
	if err != nil {
		return err
	}
	return answer(c, key, func(w io.Writer) { show.Key(w, q.Now(), key) })
}

func keyPass(c *cli.Context, q *queue.Client) error {
	passed, err := ops.PassKey(c.Context, q, c.Args().First(), c.Args().Get(1), c.Bool("dry-run"))
	if err != nil {
		return err
	}
	return answer(c, passed, func(w io.Writer) { show.PassedKey(w, passed) })
}

func keyDrop(c *cli.Context, q *queue.Client) error {
	name, key := c.Args().First(), c.Args().Get(1)
	dropped, err := ops.DropKey(c.Context, q, name, key, true)
	if err == nil && !c.Bool("dry-run") {
		if !confirmed(c, fmt.Sprintf("Cancel %s of key %s for good?", screen.Some(dropped.Jobs, "job"), screen.InShell(key))) {
			return errors.New("nothing was done")
		}
		dropped, err = ops.DropKey(c.Context, q, name, key, false)
	}
	if err != nil {
		return err
	}
	return answer(c, dropped, func(w io.Writer) { show.DroppedKey(w, dropped) })
}

func keyFree(c *cli.Context, q *queue.Client) error {
	name := c.Args().First()
	freed, err := ops.FreeKeys(c.Context, q, name, true)
	if err == nil && !c.Bool("dry-run") {
		if !confirmed(c, fmt.Sprintf("Give up the order of %s, in which %s?", name, freed.Behind())) {
			return errors.New("nothing was done")
		}
		freed, err = ops.FreeKeys(c.Context, q, name, false)
	}
	if err != nil {
		return err
	}
	return answer(c, freed, func(w io.Writer) { show.FreedKeys(w, freed) })
}
