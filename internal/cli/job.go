package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/control"
	"oarlock/internal/explain"
	"oarlock/internal/screen"
	"oarlock/queue"
	"oarlock/supervisor"
)

func jobCommand() *cli.Command {
	onlyJSON := []cli.Flag{jsonFlag()}
	job := group("job", "one job: look at it, change it",
		jobListVerb(),
		verb{name: "show", usage: "show everything that is known of a job", words: "JID", least: 1, most: 1, flags: onlyJSON, do: jobShow},
		verb{name: "log", usage: "show the history of a job, or add a line to it", words: "JID [MESSAGE]", least: 1, most: 2, flags: onlyJSON, do: jobLog},
		verb{name: "why", usage: "say what holds a job", words: "JID", least: 1, most: 1, flags: []cli.Flag{jsonFlag(), pidFlag()}, do: jobWhy},
		verb{name: "cancel", usage: "remove jobs for good, running ones too; exits 66 if one is not there, or complete", words: "JID…", least: 1, most: -1, flags: onlyJSON,
			do: func(c *cli.Context, q *queue.Client) error {
				return jobsAmend(c, q, "canceled", notComplete, func(job queue.Job) queue.Amendment { return job.Amend(queue.AmendCancel) })
			}},
		verb{name: "retry", usage: "put a job into its queue again, with all its retries", words: "JID", least: 1, most: 1, flags: onlyJSON,
			do: func(c *cli.Context, q *queue.Client) error { return jobMove(c, q, "") }},
		verb{name: "move", usage: "put a job into another queue", words: "JID QUEUE", least: 2, most: 2,
			flags: []cli.Flag{&cli.DurationFlag{Name: "delay", Usage: "how long it waits there before it may run"}, forceFlag(), jsonFlag()},
			do: func(c *cli.Context, q *queue.Client) error {
				if err := newName(c, "queue", c.Args().Get(1)); err != nil {
					return err
				}
				if c.Duration("delay") < 0 {
					return misused("--delay is negative; without it the job may run at once")
				}
				return jobMove(c, q, c.Args().Get(1))
			}},
		verb{name: "timeout", usage: "take running jobs from their workers and put them in front of their queues", words: "JID…", least: 1, most: -1, flags: onlyJSON,
			do: func(c *cli.Context, q *queue.Client) error {
				return jobsAmend(c, q, "taken back", running, func(job queue.Job) queue.Amendment { return job.Amend(queue.AmendTimeout) })
			}},
		verb{name: "priority", usage: "change the priority of a job; higher comes first", words: "JID NUMBER", least: 2, most: 2, flags: onlyJSON, do: jobPriority},
		verb{name: "tag", usage: "give a job tags", words: "JID TAG…", least: 2, most: -1,
			flags: []cli.Flag{&cli.BoolFlag{Name: "remove", Usage: "take the tags away"}, forceFlag(), jsonFlag()}, do: jobTag},
		verb{name: "track", usage: "publish what happens to a job", words: "JID", least: 1, most: 1,
			flags: []cli.Flag{&cli.BoolFlag{Name: "stop", Usage: "no longer"}, jsonFlag()}, do: jobTrack},
		verb{name: "depend", usage: "let a job that depends on others wait for more of them", words: "JID [ON…]", least: 1, most: -1,
			flags: []cli.Flag{
				&cli.BoolFlag{Name: "remove", Usage: "wait no longer for those named"},
				&cli.BoolFlag{Name: "all", Usage: "with --remove: wait for none any more"},
				jsonFlag(),
			}, do: jobDepend},
	)
	job.Subcommands = append(job.Subcommands, jobOutputCommand()) // which needs no Redis
	return job
}

// notComplete says that there is nothing to cancel.
func notComplete(job queue.Job) string {
	if job.State == "complete" {
		return fmt.Sprintf("%s is complete: there is nothing to cancel", job.JID)
	}
	return ""
}

// running says that nobody has the job.
func running(job queue.Job) string {
	if job.State != "running" {
		return fmt.Sprintf("%s is not running but %s: nobody has it", job.JID, job.State)
	}
	return ""
}

func jobShow(c *cli.Context, q *queue.Client) error {
	job, err := q.Get(c.Context, c.Args().First())
	if err != nil {
		return err
	}
	return show(c, viewJob(*job), func(w io.Writer) { printJob(w, *job, q.Now()) })
}

// printJob shows a job the way a person asks: what and where it is, why it failed, what
// was seen of its last bad attempt, and what happened to it.
func printJob(w io.Writer, job queue.Job, now float64) {
	line := func(name string, value any) {
		if value != "" {
			screen.Printf(w, "%-13s %s\n", name, value)
		}
	}
	colour := map[string]string{"failed": screen.Red, "stalled": screen.Red, "complete": screen.Green, "running": screen.Cyan}[job.State]
	if colour == "" {
		colour = screen.Yellow
	}
	line("job", job.JID)
	line("klass", job.Klass)
	line("state", screen.Paint(w, colour, job.State))
	line("queue", job.Queue)
	if job.Damage != "" {
		line("damage", screen.Paint(w, screen.Red, job.Damage))
	}
	if job.State == "running" {
		line("worker", job.Worker)
		line("lock", explain.LockWords(now, job.Expires))
	}
	line("output", whereItPrinted(&job))
	line("data", screen.Shorten(string(job.Data), 400))
	line("priority", fmt.Sprint(job.Priority))
	line("retries", fmt.Sprintf("%d left of %d", max(job.Remaining, 0), job.Retries))
	line("tags", strings.Join(job.Tags, " "))
	line("throttles", strings.Join(job.Throttles, " "))
	line("waits for", strings.Join(job.Dependencies, " "))
	line("waited for by", strings.Join(job.Dependents, " "))
	line("made by", job.SpawnedFrom)
	v := viewJob(job)
	if v.Crashes+v.Interruptions+v.Spared > 0 {
		line("beside that", fmt.Sprintf("%d crashes, %d interruptions, %d bad endings that it was spared", v.Crashes, v.Interruptions, v.Spared))
	}
	if v.Deaths > 0 {
		line("deaths", fmt.Sprintf("%d of supervisors that had it, since it last ended otherwise", v.Deaths))
	}
	line("checkpoint", screen.Shorten(string(v.Checkpoint), 400))
	if job.Failure.Group != "" {
		screen.Printf(w, "\n%s %s, %s\n  %s\n", screen.Paint(w, screen.Red, "failure"), job.Failure.Group, screen.Moment(job.Failure.When), screen.Lines(strings.ReplaceAll(job.Failure.Message, "\n", "\n  ")))
	}
	printRecord(w, v.Record)
	screen.PrintLine(w)
	printHistory(w, v.History)
}

// printRecord tells the story of the last attempt that did not end well, and its last words.
func printRecord(w io.Writer, text json.RawMessage) {
	var r supervisor.Record
	if len(text) == 0 || json.Unmarshal(text, &r) != nil {
		return
	}
	screen.Printf(w, "\n%s\n", screen.Paint(w, screen.Bold, "The last attempt that did not end well"))
	for _, sentence := range explain.Record(r) {
		screen.Printf(w, "  %s\n", screen.Lines(strings.ReplaceAll(sentence, "\n", "\n    ")))
	}
	for _, stream := range []struct{ name, text string }{{"stdout", r.Stdout}, {"stderr", r.Stderr}} {
		if stream.text != "" {
			screen.Printf(w, "  Its last words on %s:\n%s\n", stream.name, screen.Lines(indent(stream.text)))
		}
	}
}

// printHistory lists what happened to a job.
func printHistory(w io.Writer, told []explain.Entry) {
	for _, e := range told {
		more := make(map[string]json.RawMessage)
		for name, value := range e.More {
			if name != "oarlock" && (name != "record" || e.What != "replaced") {
				more[name] = value
			}
		}
		screen.Printf(w, "%s  %s", screen.Moment(e.When), e.Says)
		if len(more) > 0 {
			screen.Printf(w, " %s", screen.Paint(w, screen.Dim, screen.Compact(more)))
		}
		screen.PrintLine(w)
	}
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}

// sources are where explanations come from.
func sources(c *cli.Context, q *queue.Client) explain.Sources {
	return explain.Sources{
		Client: q,
		Host: func() string {
			cfg, err := load(c, config.Options{NoPools: true})
			if err != nil {
				return ""
			}
			return hostName(cfg)
		},
		Supervisor: func(context.Context) (*control.Client, error) { return reach(c) },
	}
}

// jobWhy says what holds a job.
func jobWhy(c *cli.Context, q *queue.Client) error {
	hold, err := sources(c, q).Why(c.Context, c.Args().First())
	if err != nil {
		return err
	}
	return show(c, hold, func(w io.Writer) {
		for _, reason := range hold.Reasons {
			screen.PrintLine(w, reason)
		}
	})
}

func jobLog(c *cli.Context, q *queue.Client) error {
	jid := c.Args().First()
	if c.NArg() == 2 && strings.TrimSpace(c.Args().Get(1)) == "" {
		return misused("the message is empty")
	}
	if c.NArg() == 2 {
		if err := q.Log(c.Context, jid, c.Args().Get(1), nil); err != nil {
			return err
		}
		return said(c, "noted")
	}
	job, err := q.Get(c.Context, jid)
	if err != nil {
		return err
	}
	told := explain.History(*job)
	return show(c, told, func(w io.Writer) { printHistory(w, told) })
}

// jobMove puts a job into a queue, its own if that is "".
func jobMove(c *cli.Context, q *queue.Client, to string) error {
	jid := c.Args().First()
	job, err := q.Get(c.Context, jid)
	if err != nil {
		return err
	}
	switch {
	case to == "" && job.Queue == "":
		return fmt.Errorf("%s is %s and in no queue; name one: oarlock job move %s QUEUE", jid, job.State, screen.InShell(jid))
	case job.State == "running":
		return fmt.Errorf("%s is running; `oarlock job timeout %s` takes it from its worker", jid, screen.InShell(jid))
	}
	again := job.Amend(queue.AmendRetry)
	if to != "" {
		again.Change, again.Queue = queue.AmendMove, to
	} else {
		to = job.Queue
	}
	again.Delay = c.Duration("delay")
	if err := amendOne(c, q, again); err != nil {
		return err
	}
	return said(c, "%s is in %s", jid, to)
}

func jobPriority(c *cli.Context, q *queue.Client) error {
	priority, err := strconv.ParseFloat(c.Args().Get(1), 64)
	if err != nil || math.IsNaN(priority) || math.IsInf(priority, 0) {
		return misused("%q is no number", c.Args().Get(1))
	}
	job, err := q.Get(c.Context, c.Args().First())
	if err != nil {
		return err
	}
	change := job.Amend(queue.AmendPriority)
	change.Priority = priority
	if err := amendOne(c, q, change); err != nil {
		return err
	}
	return said(c, "%s has priority %v", job.JID, priority)
}

func jobTag(c *cli.Context, q *queue.Client) error {
	change := q.AddTags
	if c.Bool("remove") {
		change = q.RemoveTags
	} else if err := newNames(c, "tag", c.Args().Tail()...); err != nil {
		return err
	}
	tags, err := change(c.Context, c.Args().First(), c.Args().Tail()...)
	if err != nil {
		return err
	}
	return show(c, map[string]any{"tags": list(tags)}, func(w io.Writer) { screen.PrintLine(w, strings.Join(tags, " ")) })
}

func jobTrack(c *cli.Context, q *queue.Client) error {
	change, done := q.Track, "tracked"
	if c.Bool("stop") {
		change, done = q.Untrack, "no longer tracked"
	}
	changed, err := change(c.Context, c.Args().First())
	if err != nil {
		return err
	}
	if !changed && c.Bool("stop") {
		return notThere("%s was not tracked", c.Args().First())
	}
	return said(c, "%s is %s", c.Args().First(), done)
}

func jobDepend(c *cli.Context, q *queue.Client) error {
	jid, on := c.Args().First(), c.Args().Tail()
	before, err := q.Get(c.Context, jid)
	switch {
	case err != nil:
		return err
	case before.State != "depends":
		return notThere("%s is %s and waits for no other job: what it depends on cannot be changed any more", jid, before.State)
	case c.Bool("remove") && c.Bool("all"):
		err = q.UndependAll(c.Context, jid)
	case len(on) == 0:
		return misused("name the jobs that %s waits for", jid)
	case c.Bool("remove"):
		err = q.Undepend(c.Context, jid, on...)
	default:
		err = q.Depend(c.Context, jid, on...)
	}
	if err != nil {
		return err
	}
	job, err := q.Get(c.Context, jid)
	if err != nil {
		return err
	}
	return show(c, viewJob(*job), func(w io.Writer) {
		if len(job.Dependencies) == 0 {
			screen.Printf(w, "%s waits for no job; it is %s\n", jid, job.State)
			return
		}
		screen.Printf(w, "%s waits for %s\n", jid, strings.Join(job.Dependencies, " "))
	})
}
