package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/doctor"
	"oarlock/internal/screen"
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

// states are those that queue show lists; waiting jobs are what peek shows.
var states = []string{"running", "stalled", "scheduled", "depends", "throttled", "recurring"}

func queueCommand() *cli.Command {
	return group("queue", "the queues and what is in them",
		verb{name: "ls", usage: "list the queues with their numbers of jobs; of some queues, by names or globs (*, ?), or of all", words: "[QUEUE…]", most: -1,
			flags: []cli.Flag{jsonFlag()}, do: queueList},
		verb{name: "show", usage: "show the jobs of a queue by state, jids only", words: "QUEUE", least: 1, most: 1, flags: windowFlags(), do: queueShow},
		verb{name: "peek", usage: "show the jobs that come next", words: "QUEUE", least: 1, most: 1, flags: windowFlags(), do: queuePeek},
		verb{name: "purge", usage: "remove the jobs of a queue that are at rest; what runs or recurs stays", words: "QUEUE", least: 1, most: 1, flags: clearFlags(), do: queueClear},
		verb{name: "mv", usage: "move the jobs of a queue that are at rest to another; each keeps its place, due time and retries", words: "QUEUE TO", least: 2, most: 2,
			flags: clearFlags(), do: queueClear},
		pauseVerb(),
		verb{name: "resume", also: []string{"unpause"}, usage: "end a pause", words: "QUEUE…", least: 1, most: -1, flags: []cli.Flag{jsonFlag()},
			do: func(c *cli.Context, q *queue.Client) error {
				if err := knownQueues(c, q, c.Args().Slice()...); err != nil {
					return err
				}
				if err := q.Resume(c.Context, c.Args().Slice()...); err != nil {
					return err
				}
				return said(c, "resumed %s", strings.Join(c.Args().Slice(), ", "))
			}},
		verb{name: "forget", usage: "take queues off the list; jobs in them stay", words: "QUEUE…", least: 1, most: -1, flags: []cli.Flag{jsonFlag()},
			do: func(c *cli.Context, q *queue.Client) error {
				if err := knownQueues(c, q, c.Args().Slice()...); err != nil {
					return err
				}
				if err := q.ForgetQueues(c.Context, c.Args().Slice()...); err != nil {
					return err
				}
				return said(c, "forgot %s", strings.Join(c.Args().Slice(), ", "))
			}},
		verb{name: "limit", usage: "show or set how many jobs of a queue may run at a time; 0 is any number", words: "QUEUE [NUMBER]", least: 1, most: 2,
			flags: []cli.Flag{forceFlag(), jsonFlag()}, do: queueLimit},
	)
}

// queuePause pauses queues. One that nobody knows is more likely misspelled than meant.
func queuePause(c *cli.Context, q *queue.Client) error {
	var unknown gone
	switch err := knownQueues(c, q, c.Args().Slice()...); {
	case errors.As(err, &unknown):
		text := unknown.text
		if err := doubtful(c, "%s", strings.ToUpper(text[:1])+text[1:]+ending(text)); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	if err := q.Pause(c.Context, c.Args().Slice()...); err != nil {
		return err
	}
	if c.Bool("stop") {
		return stopAll(c, q, c.Args().Slice())
	}
	return said(c, "paused %s", strings.Join(c.Args().Slice(), ", "))
}

// ending is the full stop that a sentence lacks.
func ending(sentence string) string {
	if strings.HasSuffix(sentence, "?") {
		return ""
	}
	return "."
}

func queueList(c *cli.Context, q *queue.Client) error {
	counts, err := q.Queues(c.Context)
	if err != nil {
		return err
	}
	if patterns := c.Args().Slice(); len(patterns) > 0 {
		counts = slices.DeleteFunc(counts, func(n queue.QueueCounts) bool { return !queue.MatchAny(patterns, n.Name) })
	}
	views := make([]queueView, len(counts))
	rows := make([][]string, len(counts))
	unserved, err := doctor.Unserved(c.Context, q, counts)
	if err != nil {
		return err
	}
	for i, n := range counts {
		views[i] = viewQueue(n)
		views[i].Unserved = unserved[n.Name].Seconds()
		rows[i] = []string{n.Name, screen.Count(n.Waiting), screen.Count(n.Running), screen.Count(n.Stalled), screen.Count(n.Scheduled), screen.Count(n.Depends), screen.Count(n.Throttled), screen.Count(n.Recurring), ""}
		if n.Paused {
			rows[i][8] = "paused"
		}
		if waited := unserved[n.Name]; waited > 0 {
			rows[i][8] = "none runs, the next waits for " + screen.Span(waited) + ": does a pool work it?"
		}
		if n.Damage != "" {
			rows[i][8] = "cannot be read; see oarlock doctor: " + n.Damage
		}
	}
	return show(c, views, func(w io.Writer) {
		empty := "There are no queues yet; a put makes one."
		if c.NArg() > 0 {
			empty = "There is no queue like that; `oarlock queue ls` lists all."
		}
		screen.Table(w, empty,
			[]string{"QUEUE", "WAITING", "RUNNING", "STALLED", "SCHEDULED", "DEPENDS", "THROTTLED", "RECURRING", ""}, rows)
	})
}

func queueShow(c *cli.Context, q *queue.Client) error {
	name := c.Args().First()
	if err := knownQueues(c, q, name); err != nil {
		return err
	}
	counts, err := q.Queue(c.Context, name)
	if err != nil {
		return err
	}
	jids := map[string][]string{}
	for _, state := range states {
		found, err := q.Jobs(c.Context, state, name, c.Int("offset"), c.Int("limit"))
		if err != nil {
			return err
		}
		jids[state] = list(found)
	}
	value := map[string]any{"counts": viewQueue(counts), "jids": jids}
	return show(c, value, func(w io.Writer) {
		screen.Printf(w, "%s: %s waiting (see `oarlock queue peek`)\n", screen.Paint(w, screen.Bold, name), screen.Count(counts.Waiting))
		if counts.Paused {
			screen.PrintLine(w, screen.Paint(w, screen.Yellow, "paused"))
		}
		for _, state := range states {
			if len(jids[state]) > 0 {
				screen.Printf(w, "\n%s\n", state)
			}
			for _, jid := range jids[state] {
				screen.PrintLine(w, "  "+jid)
			}
		}
	})
}

func queuePeek(c *cli.Context, q *queue.Client) error {
	if err := knownQueues(c, q, c.Args().First()); err != nil {
		return err
	}
	jobs, err := q.Peek(c.Context, c.Args().First(), c.Int("offset"), c.Int("limit"))
	if err != nil {
		return err
	}
	return show(c, viewJobs(jobs), func(w io.Writer) {
		printJobs(w, "No job is waiting there.", jobs)
	})
}

// printJobs lists jobs, one a line.
func printJobs(w io.Writer, empty string, jobs []queue.Job) {
	var rows [][]string
	for _, job := range jobs {
		rows = append(rows, []string{job.JID, job.Klass, job.State, fmt.Sprint(job.Priority), fmt.Sprintf("%d/%d", job.Remaining, job.Retries), screen.Shorten(string(job.Data), 60)})
	}
	screen.Table(w, empty, []string{"JID", "KLASS", "STATE", "PRIORITY", "RETRIES", "DATA"}, rows)
}

func queueLimit(c *cli.Context, q *queue.Client) error {
	name := c.Args().First()
	setting := name + "-max-concurrency"
	if c.NArg() == 1 {
		value, err := q.Setting(c.Context, setting)
		if err != nil {
			return err
		}
		return show(c, map[string]string{"queue": name, "limit": value}, func(w io.Writer) {
			if value == "" || value == "0" {
				value = "none"
			}
			screen.PrintLine(w, value)
			if knownQueues(c, q, name) != nil {
				screen.Printf(c.App.ErrWriter, "There is no queue %s yet.\n", name)
			}
		})
	}
	n, err := strconv.Atoi(c.Args().Get(1))
	if err != nil || n < 0 {
		return misused("%q is no limit; name a number of jobs, 0 for any", c.Args().Get(1))
	}
	if err := newName(c, "queue", name); err != nil {
		return err
	}
	if n == 0 {
		err = q.Unset(c.Context, setting)
	} else {
		err = q.Set(c.Context, setting, strconv.Itoa(n))
	}
	if err != nil {
		return err
	}
	if n == 0 {
		return said(c, "%s: any number of jobs at a time", name)
	}
	return said(c, "%s: at most %s at a time", name, screen.Some(n, "job"))
}
