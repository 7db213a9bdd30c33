package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/cron"
	"oarlock/internal/ops"
	"oarlock/internal/schedule"
	"oarlock/internal/screen"
	"oarlock/internal/show"
	"oarlock/queue"
)

func recurCommand() *cli.Command {
	what := func(more ...cli.Flag) []cli.Flag {
		return append([]cli.Flag{
			&cli.StringFlag{Name: "klass", Aliases: []string{"k"}, Value: "job", Usage: "what `KIND` of work it is"},
			&cli.DurationFlag{Name: "every", Usage: "from one copy to the next"},
			&cli.Float64Flag{Name: "priority", Aliases: []string{"p"}, Usage: "higher comes first"},
			&cli.IntFlag{Name: "retries", Value: 5, Usage: "how often a copy may be tried again"},
			&cli.IntFlag{Name: "backlog", Usage: "how many missed copies are made up for; 0 is all"},
			forceFlag(),
			jsonFlag(),
		}, more...)
	}
	return group("recur", "jobs that come again and again",
		verb{name: "ls", usage: "list the recurring jobs, of some queues or of all; globs (*, ?) too", words: "[QUEUE…]", most: -1, flags: windowFlags(), do: recurList},
		verb{name: "add", usage: "put a copy of a job into a queue again and again: --every, or --cron", words: "QUEUE [DATA]", least: 1, most: 2,
			flags: what(append(cronFlags(),
				&cli.StringFlag{Name: "jid", Aliases: []string{"name"}, Usage: "`ID` of it; else a new one"},
				&cli.DurationFlag{Name: "offset", DefaultText: "at once", Usage: "until the first copy"},
				&cli.StringSliceFlag{Name: "tag", Aliases: []string{"t"}, Usage: "`TAG` of the copies; may be given again"},
				&cli.StringSliceFlag{Name: "throttle", Usage: "a `THROTTLE` that they need; may be given again"},
			)...), do: recurAdd},
		verb{name: "show", usage: "show a recurring job", words: "JID", least: 1, most: 1, flags: []cli.Flag{jsonFlag()}, do: recurShow},
		verb{name: "update", usage: "change a recurring job; copies that were made stay as they are", words: "JID", least: 1, most: 1,
			flags: what(append(cronFlags(),
				&cli.StringFlag{Name: "queue", Usage: "put copies into `QUEUE`"},
				&cli.StringFlag{Name: "data", Usage: "the data of copies, as `JSON`"},
				&cli.StringSliceFlag{Name: "tag", Usage: "one `TAG` more; may be given again"},
				&cli.StringSliceFlag{Name: "untag", Usage: "one `TAG` less; may be given again"},
			)...), do: recurUpdate},
		verb{name: "rm", usage: "end recurring jobs; copies that were made stay", words: "JID…", least: 1, most: -1, flags: []cli.Flag{jsonFlag()}, do: recurRemove},
		verb{name: "pause", usage: "let one with a schedule put nothing for a while", words: "JID", least: 1, most: 1, flags: []cli.Flag{jsonFlag()}, do: recurPause},
		verb{name: "resume", also: []string{"unpause"}, usage: "let it go on", words: "JID", least: 1, most: 1, flags: []cli.Flag{jsonFlag()}, do: recurResume},
		verb{name: "diff", usage: "compare the configuration with Redis: what a reload would add, change and end; exits 1 if anything", flags: []cli.Flag{jsonFlag()}, do: recurDiff},
	)
}

func recurList(c *cli.Context, q *queue.Client) error {
	all, err := ops.ListRecurring(c.Context, q, c.Args().Slice(), pageOf(c))
	if err != nil {
		return err
	}
	return answer(c, all, func(w io.Writer) { show.AllRecurring(w, all) })
}

func recurAdd(c *cli.Context, q *queue.Client) error {
	if c.IsSet("jid") && c.String("jid") == "" {
		return misused("the jid is empty; give it a name")
	}
	if c.IsSet("cron") {
		return addCron(c, q)
	}
	for _, flag := range []string{"zone", "missed", "overlap"} {
		if c.IsSet(flag) {
			return misused("--%s is for --cron; an interval with it is --cron \"@every 10m\"", flag)
		}
	}
	if c.Duration("every") <= 0 {
		return misused("say how often: --every 1h, or --cron \"0 4 * * Mon-Fri\"")
	}
	r := queue.Recurring{
		Queue: c.Args().First(), JID: c.String("jid"), Klass: c.String("klass"), Data: recurData(c),
		Interval: c.Duration("every"), Offset: c.Duration("offset"), Priority: c.Float64("priority"),
		Retries: c.Int("retries"), Backlog: c.Int("backlog"), Tags: c.StringSlice("tag"), Throttles: c.StringSlice("throttle"),
	}
	jid, err := ops.Recur(c.Context, q, r, sure(c))
	if err != nil {
		return err
	}
	defer sayUninstalledRuns(c, q, queue.Put{Queue: r.Queue, Klass: r.Klass, Throttles: r.Throttles})
	return answer(c, map[string]string{"jid": jid, "queue": r.Queue}, func(w io.Writer) { screen.PrintLine(w, jid) })
}

// recurData is the data of the copies of one that is added.
func recurData(c *cli.Context) []byte {
	if c.NArg() == 2 {
		return []byte(c.Args().Get(1))
	}
	return []byte("{}")
}

func recurShow(c *cli.Context, q *queue.Client) error {
	shown, err := ops.ShowRecurring(c.Context, q, c.Args().First())
	if err != nil {
		return err
	}
	return answer(c, shown, func(w io.Writer) { show.Recurring(w, shown, q.Now()) })
}

func recurUpdate(c *cli.Context, q *queue.Client) error {
	change := ops.RecurringChange{
		Queue: given(c, "queue", c.String), Klass: given(c, "klass", c.String), Interval: given(c, "every", c.Duration),
		Priority: given(c, "priority", c.Float64), Retries: given(c, "retries", c.Int), Backlog: given(c, "backlog", c.Int),
		Tag: c.StringSlice("tag"), Untag: c.StringSlice("untag"), Schedule: given(c, "cron", c.String), Zone: given(c, "zone", c.String),
		Missed: given(c, "missed", c.String), Overlap: given(c, "overlap", c.String),
	}
	if c.IsSet("data") {
		change.Data = []byte(c.String("data"))
	}
	r, err := ops.UpdateRecurring(c.Context, q, c.Args().First(), change, sure(c))
	if err != nil {
		return err
	}
	if r.BySchedule == nil {
		return said(c, "%s is changed", r.JID)
	}
	s, err := schedule.Parse(r.BySchedule.Schedule, r.BySchedule.Zone)
	if err != nil {
		return err
	}
	return said(c, "%s is changed; it comes %s", r.JID, show.Comes(s, cron.At(q.Now())))
}

// given is the value of an option, or nil if the command line does not have it.
func given[T any](c *cli.Context, name string, value func(string) T) *T {
	if !c.IsSet(name) {
		return nil
	}
	v := value(name)
	return &v
}

// recurRemove ends all that are named, or none if one is not there.
func recurRemove(c *cli.Context, q *queue.Client) error {
	jids := slices.Compact(slices.Sorted(slices.Values(c.Args().Slice())))
	for _, jid := range jids {
		if _, err := ops.ShowRecurring(c.Context, q, jid); errors.Is(err, queue.ErrNoJob) {
			return notThere("there is no recurring job %s; nothing was done", jid)
		}
	}
	for i, jid := range jids {
		err := ops.Worded(jid, ops.EndRecurring(c.Context, q, jid))
		if err != nil && i > 0 {
			return fmt.Errorf("%w; before it ended %s", err, strings.Join(jids[:i], " "))
		} else if err != nil {
			return err
		}
	}
	return said(c, "recurs no more: %s", strings.Join(jids, " "))
}
