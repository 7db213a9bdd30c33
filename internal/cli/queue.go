package cli

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/show"
	"oarlock/queue"
)

// windowFlags choose a part of a long list.
func windowFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "offset", Usage: "how many to leave out first"},
		&cli.IntFlag{Name: "limit", Aliases: []string{"n"}, Value: 25, Usage: "how many to show at most"},
		jsonFlag(),
	}
}

// pageOf is the part of a list that the options of c choose.
func pageOf(c *cli.Context) ops.Page {
	return ops.Page{Offset: c.Int("offset"), Limit: c.Int("limit")}
}

func queueCommand() *cli.Command {
	return group("queue", "the queues and what is in them",
		verb{name: "ls", usage: "list the queues with their numbers of jobs; of some queues, by names or globs (*, ?), or of all", words: "[QUEUE…]", most: -1,
			flags: []cli.Flag{jsonFlag()}, do: queueList},
		verb{name: "show", usage: "show the jobs of a queue by state, jids only", words: "QUEUE", least: 1, most: 1, flags: windowFlags(), do: queueShow},
		verb{name: "peek", usage: "show the jobs that come next", words: "QUEUE", least: 1, most: 1, flags: windowFlags(), do: queuePeek},
		verb{name: "jobs", usage: "list the jobs of a queue in one state, sorted", words: "QUEUE", least: 1, most: 1, do: queueJobs, flags: []cli.Flag{
			&cli.StringFlag{Name: "state", Value: "waiting", Usage: "`STATE` " + strings.Join(ops.QueueStates, ", ") + ", parked, or behind (others of their key)"},
			&cli.StringFlag{Name: "by", Value: "time", Usage: "sort by `COLUMN`: jid, klass, tries, time (when it is due, else put or taken), put (when it was put or taken last), or key"},
			&cli.StringFlag{Name: "from", Usage: "only from `VALUE` of that on; a time is 2026-07-01T12:00:00Z, or so long from now: -2h, 5m"},
			&cli.StringFlag{Name: "to", Usage: "only up to `VALUE`"},
			&cli.BoolFlag{Name: "reverse", Usage: "the last first"},
			&cli.IntFlag{Name: "limit", Aliases: []string{"n"}, Value: 100, Usage: "how many to show at most"},
			jsonFlag(),
		}},
		verb{name: "now", usage: "let the scheduled jobs of a queue wait no longer", words: "QUEUE", least: 1, most: 1, flags: deedFlags(),
			do: func(c *cli.Context, q *queue.Client) error {
				return queueDeed(c, q, "would run now", "may run now", func() (*ops.ScheduledDeed, error) { return ops.PlanNow(c.Context, q, c.Args().First()) })
			}},
		verb{name: "kill", usage: "fail the jobs of a queue that wait to be tried again, in the group killed", words: "QUEUE", least: 1, most: 1,
			flags: append(deedFlags(), &cli.BoolFlag{Name: "drop", Usage: "remove them for good instead"}),
			do: func(c *cli.Context, q *queue.Client) error {
				would, done := "would fail", "failed, in the group killed (`oarlock failed retry killed` takes that back)"
				if c.Bool("drop") {
					would, done = "would be removed", "removed"
				}
				return queueDeed(c, q, would, done, func() (*ops.ScheduledDeed, error) {
					return ops.PlanKill(c.Context, q, c.Args().First(), c.Bool("drop"))
				})
			}},
		verb{name: "eta", usage: "look at queues for a while, and tell when they will be empty, or how many children it would take", words: "[QUEUE…]", most: -1,
			flags: []cli.Flag{&cli.DurationFlag{Name: "over", Value: 10 * time.Second, Usage: "for how long to look"}, jsonFlag()}, do: queueEta},
		verb{name: "purge", usage: "remove the jobs of a queue that are at rest; what runs or recurs stays", words: "QUEUE", least: 1, most: 1, flags: clearFlags(), do: queueClear},
		verb{name: "mv", usage: "move the jobs of a queue that are at rest to another; each keeps its place, due time and retries", words: "QUEUE TO", least: 2, most: 2,
			flags: clearFlags(), do: queueClear},
		verb{name: "pause", usage: "hand out no more jobs; what runs goes on", words: "QUEUE…", least: 1, most: -1, do: queuePause,
			flags: []cli.Flag{
				&cli.BoolFlag{Name: "stop", Usage: "take what runs from its workers, too: children are told, and killed after kill_grace; it costs the jobs nothing"},
				forceFlag(), jsonFlag(),
			}},
		verb{name: "resume", also: []string{"unpause"}, usage: "end a pause", words: "QUEUE…", least: 1, most: -1, flags: []cli.Flag{jsonFlag()},
			do: func(c *cli.Context, q *queue.Client) error {
				if err := ops.Resume(c.Context, q, c.Args().Slice()); err != nil {
					return err
				}
				return said(c, "resumed %s", strings.Join(c.Args().Slice(), ", "))
			}},
		verb{name: "forget", usage: "take queues off the list; jobs in them stay", words: "QUEUE…", least: 1, most: -1, flags: []cli.Flag{jsonFlag()},
			do: func(c *cli.Context, q *queue.Client) error {
				if err := ops.ForgetQueues(c.Context, q, c.Args().Slice()); err != nil {
					return err
				}
				return said(c, "forgot %s", strings.Join(c.Args().Slice(), ", "))
			}},
		verb{name: "limit", usage: "show or set how many jobs of a queue may run at a time; 0 is any number", words: "QUEUE [NUMBER]", least: 1, most: 2,
			flags: []cli.Flag{forceFlag(), jsonFlag()}, do: queueLimit},
	)
}

// deedFlags are those of a verb that does something to all scheduled jobs of a queue.
func deedFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "dry-run", Usage: "say how many jobs those are, and do nothing"},
		&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask, on a terminal"},
		jsonFlag(),
	}
}

// queueDeed plans something to be done to scheduled jobs, and does it. would and done say what, behind a number of jobs.
func queueDeed(c *cli.Context, q *queue.Client, would, done string, plan func() (*ops.ScheduledDeed, error)) error {
	deed, err := plan()
	if err != nil {
		return err
	}
	if !c.Bool("dry-run") && deed.Count > 0 {
		if !confirmed(c, screen.Some(deed.Count, "job")+" of "+deed.Queue+" "+would+". Do it?") {
			return errors.New("nothing was done")
		}
		err = deed.Do(c.Context, q)
	}
	deed.DryRun = c.Bool("dry-run")
	return errors.Join(err, answer(c, deed, func(w io.Writer) { show.ScheduledDeed(w, deed, would, done) }))
}

func queueJobs(c *cli.Context, q *queue.Client) error {
	found, err := ops.Sorted{
		Queue: c.Args().First(), State: c.String("state"), By: c.String("by"), From: c.String("from"), To: c.String("to"),
		Reverse: c.Bool("reverse"), Limit: c.Int("limit"),
	}.List(c.Context, q)
	if err != nil {
		return err
	}
	told := found
	if told.Items, found.Items, err = blanked(c, found.Items...); err != nil {
		return err
	}
	return answer(c, found, func(w io.Writer) { show.Sorted(w, told) })
}

func queuePause(c *cli.Context, q *queue.Client) error {
	names := c.Args().Slice()
	unknown := func(sentence string) error { // all that may be odd about them
		if err := sure(c)(sentence); err != nil {
			return notThere("%v", err)
		}
		return nil
	}
	if err := ops.Pause(c.Context, q, names, unknown); err != nil {
		return err
	}
	if !c.Bool("stop") {
		return said(c, "paused %s", strings.Join(names, ", "))
	}
	stopped, err := ops.Stop(c.Context, q, names)
	if err != nil {
		return err
	}
	return answer(c, stopped, func(w io.Writer) { show.Stopped(w, names, stopped) })
}

func queueList(c *cli.Context, q *queue.Client) error {
	queues, err := ops.Queues(c.Context, q, c.Args().Slice())
	if err != nil {
		return err
	}
	empty := "There are no queues yet; a put makes one."
	if c.NArg() > 0 {
		empty = "There is no queue like that; `oarlock queue ls` lists all."
	}
	return answer(c, queues, func(w io.Writer) { show.Queues(w, empty, queues) })
}

func queueShow(c *cli.Context, q *queue.Client) error {
	name := c.Args().First()
	in, err := ops.ShowQueue(c.Context, q, name, pageOf(c))
	if err != nil {
		return err
	}
	return answer(c, in, func(w io.Writer) { show.Contents(w, name, in) })
}

func queuePeek(c *cli.Context, q *queue.Client) error {
	jobs, err := ops.Peek(c.Context, q, c.Args().First(), pageOf(c))
	if err != nil {
		return err
	}
	return answerJobs(c, jobs, func(w io.Writer, jobs []ops.Job) { show.Jobs(w, "No job is waiting there.", jobs) })
}

func queueEta(c *cli.Context, q *queue.Client) error {
	outlooks, err := ops.Eta(c.Context, q, c.Args().Slice(), c.Duration("over"))
	if err != nil {
		return err
	}
	return answer(c, outlooks, func(w io.Writer) { show.Outlooks(w, outlooks) })
}

func queueLimit(c *cli.Context, q *queue.Client) error {
	name := c.Args().First()
	if c.NArg() == 1 {
		limit, err := ops.LimitOf(c.Context, q, name)
		if err != nil {
			return err
		}
		return answer(c, limit, func(w io.Writer) {
			if limit.Limit == "" || limit.Limit == "0" {
				limit.Limit = "none"
			}
			screen.PrintLine(w, limit.Limit)
			if ops.KnownQueues(c.Context, q, name) != nil {
				screen.Printf(c.App.ErrWriter, "There is no queue %s yet.\n", name)
			}
		})
	}
	most, err := jobCount(c.Args().Get(1))
	if err == nil {
		err = ops.SetLimit(c.Context, q, name, most, sure(c))
	}
	if err != nil {
		return err
	}
	return said(c, "%s: %s", name, show.Most(most))
}

// jobCount reads a limit.
func jobCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, misused("%q is no limit; name a number of jobs, 0 for any", text)
	}
	return n, nil
}
