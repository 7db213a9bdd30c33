package cli

import (
	"io"
	"os/signal"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/show"
	"oarlock/queue"
)

func listCommand() *cli.Command {
	dry := &cli.BoolFlag{Name: "dry-run", Usage: "say how many it would be, and do nothing"}
	return group("list", "lists that are worked where they lie: hworker:NAME, or the key of one",
		verb{name: "ls", usage: "list the lists with their numbers of entries: those named, or those of the configuration and those that Redis shows to be worked",
			words: "[LIST…]", most: -1, flags: []cli.Flag{jsonFlag()}, do: listLists},
		verb{name: "show", usage: "show the entries that come next; with --in-work those that somebody has", words: "LIST", least: 1, most: 1,
			flags: append(windowFlags(), &cli.BoolFlag{Name: "in-work", Usage: "what is in work, with the last sign of life of whoever has it, longest ago first"}), do: listShow},
		verb{name: "failed", usage: "show the entries that failed, newest first, and why", words: "LIST", least: 1, most: 1, flags: windowFlags(),
			do: func(c *cli.Context, q *queue.Client) error { return listPart(c, q, ops.PartFailed) }},
		verb{name: "broken", usage: "show the entries that are no jobs", words: "LIST", least: 1, most: 1, flags: windowFlags(),
			do: func(c *cli.Context, q *queue.Client) error { return listPart(c, q, ops.PartBroken) }},
		verb{name: "watch", usage: "say again and again how a list is, until ^C", words: "LIST", least: 1, most: 1, do: listWatch,
			flags: []cli.Flag{&cli.DurationFlag{Name: "every", Value: time.Second, Usage: "from one look to the next"}, jsonFlag()}},
		verb{name: "put", usage: "push a job: DATA as it is, or in its envelope where the list is an hworker's", words: "LIST DATA", least: 2, most: 2,
			flags: []cli.Flag{forceFlag(), jsonFlag()}, do: listPut},
		verb{name: "retry", usage: "put all that failed or is broken back into the list", words: "LIST", least: 1, most: 1, flags: lostFlags(jsonFlag()),
			do: func(c *cli.Context, q *queue.Client) error {
				n, err := ops.RetryList(c.Context, q, c.Args().First(), lost(c))
				return listChanged(c, q, "retried", "put back: ", n, err)
			}},
		verb{name: "drop", usage: "delete what is broken of a list, or what failed, for good", words: "LIST", least: 1, most: 1,
			flags: lostFlags(dry, &cli.BoolFlag{Name: "yes", Usage: "it is meant"}, jsonFlag()), do: listDrop},
		verb{name: "destroy", usage: "delete a list and all that is kept beside it, what is in work included", words: "LIST", least: 1, most: 1,
			flags: []cli.Flag{dry, &cli.BoolFlag{Name: "yes", Usage: "it is meant"}, jsonFlag()}, do: listDestroy},
	)
}

func listLists(c *cli.Context, q *queue.Client) error {
	var configured []string
	if cfg, err := reload(c, config.Options{}); err == nil { // a host without the pools' programs has none
		for _, pool := range cfg.Pools {
			if pool.List != "" {
				configured = append(configured, pool.List)
			}
		}
		for _, q := range cfg.Queues {
			configured = append(configured, q.Intake...)
		}
	}
	lists, err := ops.Lists(c.Context, q, c.Args().Slice(), configured)
	if err != nil {
		return err
	}
	return answer(c, lists, func(w io.Writer) { show.Lists(w, lists) })
}

func listShow(c *cli.Context, q *queue.Client) error {
	if c.Bool("in-work") {
		return listPart(c, q, ops.PartInWork)
	}
	return listPart(c, q, ops.PartWaiting)
}

func listPart(c *cli.Context, q *queue.Client, part ops.ListPart) error {
	entries, err := ops.Entries(c.Context, q, c.Args().First(), part, pageOf(c))
	if err != nil {
		return err
	}
	empty := part.Empty()
	if len(entries) == 0 {
		if empty, err = orMeant(c, q, empty, " "); err != nil {
			return err
		}
	}
	return answer(c, entries, func(w io.Writer) { show.Entries(w, empty, part, entries) })
}

// orMeant is a text, and behind it the list that may be meant instead, if there is one.
func orMeant(c *cli.Context, q *queue.Client, text, between string) (string, error) {
	meant, err := ops.MeantList(c.Context, q, c.Args().First())
	if meant == "" || err != nil {
		return text, err
	}
	return text + between + "There is an hworker's list of that name: " + meant, nil
}

func listWatch(c *cli.Context, q *queue.Client) error {
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ticker := time.NewTicker(max(c.Duration("every"), 100*time.Millisecond))
	defer ticker.Stop()
	for {
		lists, err := ops.Lists(ctx, q, c.Args().Slice(), nil)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if c.Bool("json") {
			err = screen.EncodeJSON(c.App.Writer, lists[0], "")
		} else {
			show.ListLine(c.App.Writer, time.Now(), lists[0].ListCounts)
		}
		if err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func listPut(c *cli.Context, q *queue.Client) error {
	entry, err := ops.PushList(c.Context, q, c.Args().First(), []byte(c.Args().Get(1)), sure(c))
	if err != nil {
		return err
	}
	return answer(c, map[string]string{"entry": entry}, func(w io.Writer) { screen.PrintLine(w, entry) })
}

// lostFlags say which entries are meant of those that nobody works any more.
func lostFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{&cli.BoolFlag{Name: "broken", Usage: "only those that are no jobs"}, &cli.BoolFlag{Name: "failed", Usage: "only those that failed"}}, more...)
}

func lost(c *cli.Context) ops.Lost {
	return ops.Lost{Failed: c.Bool("failed"), Broken: c.Bool("broken")}
}

// listChanged tells how many entries of a list were put back or dropped, unless that failed.
func listChanged(c *cli.Context, q *queue.Client, key, text string, n int, err error) error {
	if err != nil {
		return err
	}
	if text += screen.Count(n); n == 0 {
		if text, err = orMeant(c, q, text, ". "); err != nil {
			return err
		}
	}
	return answer(c, map[string]int{key: n}, func(w io.Writer) { screen.PrintLine(w, text) })
}

func listDrop(c *cli.Context, q *queue.Client) error {
	which, name, dry := lost(c), c.Args().First(), c.Bool("dry-run")
	switch {
	case !which.Failed && !which.Broken:
		return misused("say which entries of %s are to go: --broken, --failed, or both", name)
	case !dry && !c.Bool("yes"):
		return misused("this deletes entries of the list %s for good; say --yes if it is meant", name)
	}
	n, err := ops.DropList(c.Context, q, name, which, dry)
	if dry {
		return listChanged(c, q, "would_drop", "would be dropped: ", n, err)
	}
	return listChanged(c, q, "dropped", "dropped: ", n, err)
}

func listDestroy(c *cli.Context, q *queue.Client) error {
	name, done := c.Args().First(), "deleted"
	if c.Bool("dry-run") {
		done = "would delete"
	} else if !c.Bool("yes") {
		return misused("this deletes the list %s and all that is kept beside it; say --yes if it is meant", name)
	}
	was, err := ops.DestroyList(c.Context, q, name, c.Bool("dry-run"))
	if err != nil {
		return err
	}
	return answer(c, was, func(w io.Writer) {
		screen.Printf(w, "%s %s: %s waited, %s in work, %s failed, %s broken\n", done, name,
			screen.Count(was.Waiting), screen.Count(was.Progress), screen.Count(was.Failed), screen.Count(was.Broken))
	})
}
