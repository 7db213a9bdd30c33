package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/cron"
	"oarlock/internal/ops"
	"oarlock/internal/plan"
	"oarlock/internal/schedule"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// Recurring jobs that our supervisors put, by a schedule. Those of the protocol, which whoever
// pops spawns by an interval, are in recur.go.

// cronFlags are what a schedule needs, on the command line.
func cronFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "cron", Usage: "at the times of an `EXPRESSION`: \"0 4 * * Mon-Fri\", @daily, \"@every 10m\"; our supervisors put these"},
		&cli.StringFlag{Name: "zone", Usage: "of --cron: a time `ZONE` such as Europe/Berlin (default: UTC)"},
		&cli.StringFlag{Name: "missed", Usage: "of --cron: what becomes of runs while no supervisor was there: `WORD` run-once, run-all or skip (default: run-once)"},
		&cli.StringFlag{Name: "overlap", Usage: "of --cron: what becomes of a run while the last is not over: `WORD` allow, skip or queue-one (default: allow)"},
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
	return show(c, map[string]any{"jid": name, "queue": r.Queue, "next": ops.Moments(s, now, 3)}, func(w io.Writer) {
		screen.PrintLine(w, name)
		screen.Printf(c.App.ErrWriter, "It comes %s.\n", comes(s, now))
	})
}

// comes tells the next three moments of a schedule, in its zone.
func comes(s schedule.Schedule, now time.Time) string {
	var all []string
	for _, at := range ops.Moments(s, now, 3) {
		all = append(all, time.Unix(at, 0).In(s.Zone()).Format("Mon 2006-01-02 15:04:05 MST"))
	}
	return strings.Join(all, ", ")
}

// twoZones tells a moment in local time, and in the zone, if clocks differ there.
func twoZones(at float64, zone string) string {
	where, err := time.LoadLocation(zone)
	if err != nil || at == 0 || at >= screen.NoYear {
		return screen.Moment(at)
	}
	when := time.Unix(int64(at), 0)
	here, there := when.Format("2006-01-02 15:04:05"), when.In(where).Format("2006-01-02 15:04:05")
	if here == there {
		return here
	}
	return here + " (" + when.In(where).Format("15:04:05 MST") + ")"
}

// cronNext tells when a run comes next, for a column.
func cronNext(c queue.Cron) string {
	if c.Paused {
		return "paused"
	}
	return twoZones(c.Next, c.Zone)
}

// printCron prints one for people.
func printCron(w io.Writer, r queue.Cron, now float64) {
	source := "by hand"
	if r.FromFile {
		source = "the configuration of supervisors, one of which said so last at " + screen.Moment(r.Seen)
	}
	next := "paused; `oarlock recur resume` lets it go on"
	if !r.Paused {
		next = twoZones(r.Next, r.Zone)
		if r.Next != 0 && r.Next < screen.NoYear {
			next += ", " + cronDistance(now, r.Next)
		}
	}
	for _, line := range [][2]string{
		{"job", r.Name}, {"klass", r.Klass}, {"queue", r.Queue}, {"cron", r.Schedule}, {"zone", zoneName(r.Zone)}, {"next", next},
		{"last", lastRun(r)}, {"runs", fmt.Sprintf("%s put, %s missed, %s skipped", screen.Count(r.Runs), screen.Count(r.GivenUp), screen.Count(r.Skipped))},
		{"missed", string(r.Missed)}, {"overlap", string(r.Overlap)}, {"made", source},
		{"data", string(r.Data)}, {"priority", fmt.Sprint(r.Priority)}, {"retries", fmt.Sprint(r.Retries)}, {"tags", strings.Join(r.Tags, " ")},
	} {
		screen.Printf(w, "%-10s %s\n", line[0], line[1])
	}
	if r.Pending != 0 {
		screen.Printf(w, "%-10s the run of %s, for the job of the last\n", "waits", twoZones(r.Pending, r.Zone))
	}
}

func zoneName(zone string) string {
	if zone == "" {
		return "UTC"
	}
	return zone
}

// cronDistance says how far the next run is away, or that nobody has put it.
func cronDistance(now, due float64) string {
	if due > now {
		return screen.Ago(now, due) + " from now"
	}
	return "which was " + screen.Ago(due, now) + " ago: it comes when a supervisor runs"
}

func lastRun(r queue.Cron) string {
	if r.Last == 0 {
		return "none yet"
	}
	return twoZones(r.Last, r.Zone) + ", job " + r.LastJID
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
	return said(c, "%s goes on; it comes %s", name, comes(s, cron.At(q.Now())))
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
	err = show(c, all, func(w io.Writer) {
		var rows [][]string
		for _, d := range all {
			rows = append(rows, []string{d.Does, d.Name, strings.Join(append(d.Changes, strings.Fields(d.Why)...), " ")})
		}
		screen.Table(w, "Redis has what the file says.", []string{"RELOAD WOULD", "JOB", "WHAT"}, rows)
	})
	if err == nil && len(all) > 0 {
		return silent{exitFailed}
	}
	return err
}
