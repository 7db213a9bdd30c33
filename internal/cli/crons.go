package cli

import (
	"io"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/cron"
	"oarlock/internal/ops"
	"oarlock/internal/plan"
	"oarlock/internal/rules"
	"oarlock/internal/screen"
	"oarlock/internal/show"
	"oarlock/queue"
)

// Recurring jobs that our supervisors put, by a schedule. Those of the protocol, which whoever
// pops spawns by an interval, are in recur.go.

// cronFlags are what a schedule needs, on the command line.
func cronFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "cron", Usage: "at the times of an `EXPRESSION`: \"0 4 * * Mon-Fri\", @daily, \"@every 10m\"; our supervisors put these"},
		&cli.StringFlag{Name: "zone", Usage: "of --cron: a time `ZONE` such as Europe/Berlin (default: UTC)"},
		&cli.StringFlag{Name: "missed", Usage: "of --cron: what becomes of runs while no supervisor was there: `MISSED` run-once, run-all or skip (default: run-once)"},
		&cli.StringFlag{Name: "overlap", Usage: "of --cron: what becomes of a run while the last is not over: `OVERLAP` allow, skip or queue-one (default: allow)"},
	}
}

// addCron makes one by hand, or replaces one that was.
func addCron(c *cli.Context, q *queue.Client) error {
	for _, flag := range []string{"every", "offset", "backlog", "throttle"} {
		if c.IsSet(flag) {
			return misused("--%s is not for --cron", flag)
		}
	}
	r := queue.Cron{
		Name: c.String("jid"), Schedule: c.String("cron"), Zone: c.String("zone"), Missed: queue.Missed(c.String("missed")), Overlap: queue.Overlap(c.String("overlap")),
		CronWork: queue.CronWork{
			Queue: c.Args().First(), Klass: c.String("klass"), Data: recurData(c),
			Priority: c.Float64("priority"), Retries: c.Int("retries"), Tags: c.StringSlice("tag"),
		},
	}
	name, s, err := ops.AddCron(c.Context, q, r, sure(c))
	if err != nil {
		return err
	}
	now := cron.At(q.Now())
	defer sayUninstalledRuns(c, q, queue.Put{Queue: r.Queue, Klass: r.Klass})
	return answer(c, map[string]any{"jid": name, "queue": r.Queue, "next": ops.Moments(s, now, 3)}, func(w io.Writer) {
		screen.PrintLine(w, name)
		screen.Printf(c.App.ErrWriter, "It comes %s.\n", show.Comes(s, now))
	})
}

// sayUninstalledRuns tells, of a recurring job that was added, which rules of the configuration do not count for its runs because Redis does
// not have them.
func sayUninstalledRuns(c *cli.Context, q *queue.Client, run queue.Put) {
	cfg, err := reload(c, config.Options{NoPools: true}) // what reached Redis has told the doubts
	if err != nil {
		return
	}
	if names := uninstalled(c, q, cfg, []rules.Job{ruledJob(run)}); names != "" {
		screen.Printf(c.App.ErrWriter, "Redis does not have these rules of %s: %s.\nThey do not apply to its runs yet. Install them with `oarlock rules apply`.\n", cfg.Path, names)
	}
}

func recurPause(c *cli.Context, q *queue.Client) error {
	name := c.Args().First()
	was, err := ops.PauseCron(c.Context, q, name)
	switch {
	case err != nil:
		return err
	case was:
		return said(c, "%s was so before", name)
	}
	return said(c, "%s puts nothing until `oarlock recur resume`; what is due meanwhile is not missed", name)
}

func recurResume(c *cli.Context, q *queue.Client) error {
	name := c.Args().First()
	s, was, err := ops.ResumeCron(c.Context, q, name)
	switch {
	case err != nil:
		return err
	case was:
		return said(c, "%s was so before", name)
	}
	return said(c, "%s goes on; it comes %s", name, show.Comes(s, cron.At(q.Now())))
}

// recurDiff compares the file with Redis.
func recurDiff(c *cli.Context, q *queue.Client) error {
	cfg, err := load(c, config.Options{NoPools: true})
	if err != nil {
		return err
	}
	if cfg.Path == "" {
		return misused("there is no configuration file to compare with; name it: -c FILE")
	}
	all, err := ops.DiffCrons(c.Context, q, plan.Crons(cfg), plan.Fleet(cfg))
	if err != nil {
		return err
	}
	err = answer(c, all, func(w io.Writer) { show.CronDifferences(w, all) })
	if err == nil && len(all) > 0 {
		return silent{exitFailed}
	}
	return err
}
