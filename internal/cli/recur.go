package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/explain"
	"oarlock/internal/screen"
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
				&cli.DurationFlag{Name: "offset", Usage: "until the first copy (default: at once)"},
				&cli.StringSliceFlag{Name: "tag", Aliases: []string{"t"}, Usage: "`TAG` of the copies; may be given again"},
				&cli.StringSliceFlag{Name: "throttle", Usage: "`NAME` of a throttle; may be given again"},
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
		verb{name: "pause", usage: "let one with a schedule put nothing for a while", words: "JID", least: 1, most: 1, flags: []cli.Flag{jsonFlag()}, do: pauseCron(false)},
		verb{name: "resume", also: []string{"unpause"}, usage: "let it go on", words: "JID", least: 1, most: 1, flags: []cli.Flag{jsonFlag()}, do: pauseCron(true)},
		verb{name: "diff", usage: "compare the configuration with Redis: what a reload would add, change and end; exits 1 if anything", flags: []cli.Flag{jsonFlag()}, do: recurDiff},
	)
}

func recurList(c *cli.Context, q *queue.Client) error {
	queues, err := recurringQueues(c, q)
	if err != nil {
		return err
	}
	views, rows := []recurView{}, [][]string(nil)
	crons, err := q.Crons(c.Context)
	if err != nil {
		return err
	}
	for _, r := range crons {
		if patterns := c.Args().Slice(); len(patterns) == 0 || queue.MatchAny(patterns, r.Queue) {
			views = append(views, viewCron(r))
			rows = append(rows, []string{r.Name, r.Klass, r.Queue, cronWhen(r), cronNext(r), screen.Count(r.Runs), screen.Shorten(string(r.Data), 50)})
		}
	}
	for _, name := range queues {
		jids, err := q.Jobs(c.Context, "recurring", name, c.Int("offset"), c.Int("limit"))
		if err != nil {
			return err
		}
		for _, jid := range jids {
			r, err := q.Recurring(c.Context, jid)
			if errors.Is(err, queue.ErrNoJob) {
				continue // it went meanwhile, or an entry has none
			}
			if err != nil {
				return err
			}
			views = append(views, viewRecur(r))
			rows = append(rows, []string{r.JID, r.Klass, r.Queue, screen.Span(r.Interval), screen.Moment(r.Next), screen.Count(r.Count), screen.Shorten(string(r.Data), 50)})
		}
	}
	return show(c, views, func(w io.Writer) {
		screen.Table(w, "No job recurs.", []string{"JID", "KLASS", "QUEUE", "EVERY", "NEXT", "COPIES", "DATA"}, rows)
	})
}

// recurringQueues are the queues that the words of c name, and those known with recurring jobs
// that its globs match; all of them if there is no word.
func recurringQueues(c *cli.Context, q *queue.Client) ([]string, error) {
	patterns, queues := c.Args().Slice(), []string(nil)
	for _, pattern := range patterns {
		if !queue.IsGlob(pattern) {
			queues = append(queues, pattern)
		}
	}
	if len(patterns) == 0 {
		patterns = []string{"*"}
	}
	counts, err := q.Queues(c.Context)
	for _, n := range counts {
		if n.Recurring > 0 && queue.MatchAny(patterns, n.Name) && !slices.Contains(queues, n.Name) {
			queues = append(queues, n.Name)
		}
	}
	return queues, err
}

func recurAdd(c *cli.Context, q *queue.Client) error {
	if err := soundRecurring(c); err != nil {
		return err
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
		Queue: c.Args().First(), JID: c.String("jid"), Klass: c.String("klass"), Data: []byte("{}"),
		Interval: c.Duration("every"), Offset: c.Duration("offset"), Priority: c.Float64("priority"),
		Retries: c.Int("retries"), Backlog: c.Int("backlog"), Tags: c.StringSlice("tag"), Throttles: c.StringSlice("throttle"),
	}
	if _, err := q.Cron(c.Context, r.JID); err == nil {
		return misused("%s recurs by a schedule; `oarlock recur rm %s` ends that, or give another --jid", r.JID, screen.InShell(r.JID))
	} else if !errors.Is(err, queue.ErrNoJob) {
		return err
	}
	if c.NArg() == 2 {
		r.Data = []byte(c.Args().Get(1))
	}
	if err := isJSON(r.Data); err != nil {
		return misused("the data is not JSON: %v", err)
	}
	jid, err := q.Recur(c.Context, r)
	if err != nil {
		return err
	}
	return show(c, map[string]string{"jid": jid, "queue": r.Queue}, func(w io.Writer) { screen.PrintLine(w, jid) })
}

// soundRecurring refuses what nobody can mean of a recurring job, or asks.
func soundRecurring(c *cli.Context) error {
	switch {
	case c.Int("retries") < 0:
		return misused("--retries is negative; 0 means that a copy is tried once")
	case c.Int("backlog") < 0:
		return misused("--backlog is negative; 0 means that all missed copies are made up for")
	case c.Duration("offset") < 0:
		return misused("--offset is negative; without it the first copy comes at once")
	case math.IsNaN(c.Float64("priority")) || math.IsInf(c.Float64("priority"), 0):
		return misused("--priority must be a number, higher comes first")
	}
	names := [][2]string{{"klass", c.String("klass")}}
	if c.Command.Name == "add" {
		names = append(names, [2]string{"queue", c.Args().First()})
	}
	for _, option := range []string{"jid", "queue"} {
		if c.IsSet(option) {
			names = append(names, [2]string{option, c.String(option)})
		}
	}
	for _, of := range []string{"tag", "throttle"} {
		for _, name := range c.StringSlice(of) {
			names = append(names, [2]string{of, name})
		}
	}
	for _, name := range names {
		if err := newName(c, name[0], name[1]); err != nil {
			return err
		}
	}
	return nil
}

func recurShow(c *cli.Context, q *queue.Client) error {
	if r, err := q.Cron(c.Context, c.Args().First()); err == nil {
		return showCron(c, q, r)
	} else if !errors.Is(err, queue.ErrNoJob) {
		return err
	}
	r, err := q.Recurring(c.Context, c.Args().First())
	if err != nil {
		return err
	}
	return show(c, viewRecur(r), func(w io.Writer) {
		if r.Damage != "" {
			screen.Printf(w, "%-10s %s\n", "damage", screen.Paint(w, screen.Red, r.Damage))
		}
		for _, line := range [][2]string{
			{"job", r.JID}, {"klass", r.Klass}, {"queue", r.Queue}, {"every", screen.Span(r.Interval)},
			{"next", explain.DueWords(q.Now(), r.Next)},
			{"copies", screen.Count(r.Count)}, {"data", string(r.Data)}, {"priority", fmt.Sprint(r.Priority)}, {"retries", fmt.Sprint(r.Retries)},
			{"backlog", fmt.Sprint(r.Backlog)}, {"tags", strings.Join(r.Tags, " ")},
		} {
			screen.Printf(w, "%-10s %s\n", line[0], line[1])
		}
	})
}

func recurUpdate(c *cli.Context, q *queue.Client) error {
	jid := c.Args().First()
	if c.IsSet("data") {
		if err := isJSON([]byte(c.String("data"))); err != nil {
			return misused("the data is not JSON: %v", err)
		}
	}
	if err := soundRecurring(c); err != nil {
		return err
	}
	if r, err := q.Cron(c.Context, jid); err == nil {
		return updateCron(c, q, r)
	} else if !errors.Is(err, queue.ErrNoJob) {
		return err
	}
	for _, flag := range []string{"cron", "zone", "missed", "overlap"} {
		if c.IsSet(flag) {
			return misused("--%s is for recurring jobs with a schedule; %s has none", flag, jid)
		}
	}
	change := queue.RecurringChange{
		Queue: given(c, "queue", c.String), Klass: given(c, "klass", c.String), Interval: given(c, "every", c.Duration),
		Priority: given(c, "priority", c.Float64), Retries: given(c, "retries", c.Int), Backlog: given(c, "backlog", c.Int),
	}
	if c.IsSet("data") {
		change.Data = []byte(c.String("data"))
	}
	if change.Interval != nil && *change.Interval < time.Millisecond {
		return misused("--every must be more than zero")
	}
	if err := q.UpdateRecurring(c.Context, jid, change); err != nil {
		return err
	}
	if tags := c.StringSlice("tag"); len(tags) > 0 {
		if _, err := q.TagRecurring(c.Context, jid, tags...); err != nil {
			return err
		}
	}
	if tags := c.StringSlice("untag"); len(tags) > 0 {
		if _, err := q.UntagRecurring(c.Context, jid, tags...); err != nil {
			return err
		}
	}
	return said(c, "%s is changed", jid)
}

// given is the value of an option, or nil if the command line does not have it.
func given[T any](c *cli.Context, name string, value func(string) T) *T {
	if !c.IsSet(name) {
		return nil
	}
	v := value(name)
	return &v
}

func recurRemove(c *cli.Context, q *queue.Client) error {
	for _, jid := range c.Args().Slice() {
		if err := q.EndCron(c.Context, jid); err == nil {
			continue
		} else if errors.Is(err, queue.ErrHeld) {
			return fmt.Errorf("%s does not end: %w; take it out there, or pause it", jid, err)
		} else if !errors.Is(err, queue.ErrNoJob) {
			return err
		}
		if _, err := q.Recurring(c.Context, jid); err != nil {
			return err
		}
		if err := q.Unrecur(c.Context, jid); err != nil {
			return err
		}
	}
	return said(c, "recurs no more: %s", strings.Join(c.Args().Slice(), " "))
}
