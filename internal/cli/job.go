package cli

import (
	"context"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/explain"
	"oarlock/internal/ops"
	"oarlock/internal/redact"
	"oarlock/internal/screen"
	"oarlock/internal/service"
	"oarlock/internal/show"
	"oarlock/queue"
	"oarlock/supervisor"
)

func jobCommand() *cli.Command {
	onlyJSON := []cli.Flag{jsonFlag()}
	job := group("job", "one job: look at it, change it",
		jobListVerb(),
		verb{name: "show", usage: "show everything that is known of a job, secrets blanked as [log] redact says", words: "JID", least: 1, most: 1, flags: onlyJSON, do: jobShow},
		verb{name: "log", usage: "show the history of a job, or add a line to it", words: "JID [MESSAGE]", least: 1, most: 2, flags: onlyJSON, do: jobLog},
		verb{name: "why", usage: "say what holds a job", words: "JID", least: 1, most: 1, flags: []cli.Flag{jsonFlag(), pidFlag()}, do: jobWhy},
		verb{name: "cancel", usage: "remove jobs for good, running ones too; exits 66 if one is not there, or complete", words: "JID…", least: 1, most: -1, flags: onlyJSON,
			do: func(c *cli.Context, q *queue.Client) error { return jobsAmend(c, q, ops.Cancel) }},
		verb{name: "retry", usage: "put a job into its queue again, with all its retries", words: "JID", least: 1, most: 1, flags: onlyJSON,
			do: jobRetry},
		verb{name: "move", usage: "put a job into another queue", words: "JID QUEUE", least: 2, most: 2,
			flags: []cli.Flag{&cli.DurationFlag{Name: "delay", Usage: "how long it waits there before it may run"}, forceFlag(), jsonFlag()},
			do:    jobMove},
		verb{name: "timeout", usage: "take running jobs from their workers and put them in front of their queues", words: "JID…", least: 1, most: -1, flags: onlyJSON,
			do: func(c *cli.Context, q *queue.Client) error { return jobsAmend(c, q, ops.TakeBack) }},
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

func jobShow(c *cli.Context, q *queue.Client) error {
	v, err := ops.ShowJob(c.Context, q, c.Args().First())
	if err != nil {
		return err
	}
	told, whole, err := blanked(c, v)
	if err != nil {
		return err
	}
	return answer(c, whole[0], func(w io.Writer) { show.Job(w, &told[0], q.Now()) })
}

// blanked are jobs without what is secret in them, as people are shown them; and the same as programs are told them, with their
// data byte for byte, for who puts them again.
func blanked(c *cli.Context, jobs ...ops.Job) (told, whole []ops.Job, err error) {
	secrets, err := redactor(c)
	if err != nil {
		return nil, nil, err
	}
	told, whole = make([]ops.Job, len(jobs)), make([]ops.Job, len(jobs))
	for i, job := range jobs {
		told[i] = ops.Blank(secrets, job)
		whole[i] = told[i]
		whole[i].Data = job.Data
	}
	return told, whole, nil
}

// answerJobs answers with jobs, as blanked says.
func answerJobs(c *cli.Context, jobs []ops.Job, words func(w io.Writer, told []ops.Job)) error {
	told, whole, err := blanked(c, jobs...)
	if err != nil {
		return err
	}
	return answer(c, whole, func(w io.Writer) { words(w, told) })
}

// redactor is what blanks secrets in what jobs and children said, as [log] redact and redact_text say.
func redactor(c *cli.Context) (*redact.Redactor, error) {
	cfg, err := load(c, config.Options{NoPools: true})
	return service.LogRedactor(cfg.Log), err
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
			return cfg.Supervisor.HostName()
		},
		Supervisor: func(ctx context.Context) (shot supervisor.Snapshot, err error) {
			s, err := reach(c)
			if err == nil {
				err = s.Status(ctx, &shot)
			}
			return shot, err
		},
	}
}

// jobWhy says what holds a job.
func jobWhy(c *cli.Context, q *queue.Client) error {
	hold, err := sources(c, q).Why(c.Context, c.Args().First())
	if err != nil {
		return err
	}
	secrets, err := redactor(c)
	if err != nil {
		return err
	}
	for i, reason := range hold.Reasons {
		hold.Reasons[i], _ = secrets.Lines(reason)
	}
	return answer(c, hold, func(w io.Writer) { show.Lines(w, "Nothing is known that holds it.", hold.Reasons) })
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
	secrets, err := redactor(c)
	if err != nil {
		return err
	}
	told := explain.History(*job)
	for i := range told {
		ops.BlankEntry(secrets, &told[i])
	}
	return answer(c, told, func(w io.Writer) { show.History(w, told) })
}

// jobsAmend changes the jobs that are named on the command line, and says what became of them. That one was
// not, for want of a reason to, has an exit code of its own.
func jobsAmend(c *cli.Context, q *queue.Client, do func(context.Context, *queue.Client, []string) (ops.Amended, error)) error {
	a, err := do(c.Context, q, c.Args().Slice())
	if err == nil {
		err = showAmended(c, a)
	}
	if err == nil {
		err = a.Err()
	}
	return err
}

func showAmended(c *cli.Context, a ops.Amended) error {
	return answer(c, a, func(w io.Writer) { show.Amended(w, a) })
}

func jobRetry(c *cli.Context, q *queue.Client) error {
	jid := c.Args().First()
	in, err := ops.Retry(c.Context, q, jid)
	if err != nil {
		return err
	}
	return said(c, "%s is in %s", jid, in)
}

func jobMove(c *cli.Context, q *queue.Client) error {
	jid, to := c.Args().First(), c.Args().Get(1)
	if err := ops.Move(c.Context, q, jid, to, c.Duration("delay"), sure(c)); err != nil {
		return err
	}
	return said(c, "%s is in %s", jid, to)
}

func jobPriority(c *cli.Context, q *queue.Client) error {
	jid := c.Args().First()
	priority, err := strconv.ParseFloat(c.Args().Get(1), 64)
	if err != nil || math.IsNaN(priority) || math.IsInf(priority, 0) {
		return misused("%q is no number", c.Args().Get(1))
	}
	if err := ops.SetPriority(c.Context, q, jid, priority); err != nil {
		return err
	}
	return said(c, "%s has priority %v", jid, priority)
}

func jobTag(c *cli.Context, q *queue.Client) error {
	var tags ops.Tags
	var err error
	if jid, named := c.Args().First(), c.Args().Tail(); c.Bool("remove") {
		tags, err = ops.Untag(c.Context, q, jid, named)
	} else {
		tags, err = ops.Tag(c.Context, q, jid, named, sure(c))
	}
	if err != nil {
		return err
	}
	return answer(c, tags, func(w io.Writer) { screen.PrintLine(w, strings.Join(tags.Tags, " ")) })
}

func jobTrack(c *cli.Context, q *queue.Client) error {
	jid := c.Args().First()
	if c.Bool("stop") {
		if err := ops.Untrack(c.Context, q, jid); err != nil {
			return err
		}
		return said(c, "%s is no longer tracked", jid)
	}
	if _, err := q.Track(c.Context, jid); err != nil {
		return err
	}
	return said(c, "%s is tracked", jid)
}

func jobDepend(c *cli.Context, q *queue.Client) error {
	jid, on := c.Args().First(), c.Args().Tail()
	var job ops.Job
	var err error
	switch {
	case c.Bool("remove") && c.Bool("all"):
		job, err = ops.DependOnNone(c.Context, q, jid)
	case c.Bool("remove"):
		job, err = ops.DependLess(c.Context, q, jid, on)
	default:
		job, err = ops.DependMore(c.Context, q, jid, on)
	}
	if err != nil {
		return err
	}
	return answer(c, job, func(w io.Writer) { show.Dependencies(w, job) })
}
