package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/cron"
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
	cron := queue.Cron{
		Name: c.String("jid"), Schedule: c.String("cron"), Zone: c.String("zone"), Missed: queue.Missed(c.String("missed")), Overlap: queue.Overlap(c.String("overlap")),
		CronWork: queue.CronWork{
			Queue: c.Args().First(), Klass: c.String("klass"), Data: []byte("{}"),
			Priority: c.Float64("priority"), Retries: c.Int("retries"), Tags: c.StringSlice("tag"),
		},
	}
	if cron.Name == "" {
		cron.Name = queue.NewJID()
	}
	if c.NArg() == 2 {
		cron.Data = []byte(c.Args().Get(1))
	}
	if _, err := q.Recurring(c.Context, cron.Name); err == nil {
		return misused("%s recurs by an interval; `oarlock recur rm %s` ends that, or give another --jid", cron.Name, screen.InShell(cron.Name))
	} else if !errors.Is(err, queue.ErrNoJob) {
		return err
	}
	s, err := putCron(c, q, cron)
	if err != nil {
		return err
	}
	now := cronNow(q)
	return show(c, map[string]any{"jid": cron.Name, "queue": cron.Queue, "next": moments(s, now, 3)}, func(w io.Writer) {
		screen.PrintLine(w, cron.Name)
		screen.Printf(c.App.ErrWriter, "It comes %s.\n", comes(s, now))
	})
}

// putCron writes one that is made by hand, or changes one that was.
func putCron(c *cli.Context, q *queue.Client, cron queue.Cron) (schedule.Schedule, error) {
	s, err := schedule.Parse(cron.Schedule, cron.Zone)
	if err != nil {
		return s, misused("%v", err)
	}
	if err := cron.Check(); err != nil {
		return s, misused("%v", err)
	}
	last := time.Time{}
	old, err := q.Cron(c.Context, cron.Name)
	switch {
	case errors.Is(err, queue.ErrNoJob):
	case err != nil:
		return s, err
	case old.FromFile:
		return s, misused("%s is in the configuration of supervisors: change it there", cron.Name)
	default:
		last = cronTime(old.Next)
	}
	done, err := q.PutCron(c.Context, cron, old.Rev, nextRun(s, last, q), queue.CronHolder{})
	if err == nil && !done {
		err = fmt.Errorf("%s was changed by somebody else at this moment; look at it, and try again", cron.Name)
	}
	return s, err
}

func nextRun(s schedule.Schedule, last time.Time, q *queue.Client) time.Time {
	return cron.NextRun(s, last, cronNow(q))
}

// cronNow is the time of Redis, by which runs are put.
func cronNow(q *queue.Client) time.Time { return cron.At(q.Now()) }

// cronTime is a time of a Cron; zero if it is never.
func cronTime(at float64) time.Time {
	if at == 0 || at >= screen.NoYear {
		return time.Time{}
	}
	return cron.At(at)
}

// moments are the next moments of a schedule, in seconds since the epoch.
func moments(s schedule.Schedule, now time.Time, most int) []int64 {
	var all []int64
	for at := s.Next(now); !at.IsZero() && len(all) < most; at = s.Next(at) {
		all = append(all, at.Unix())
	}
	return all
}

// comes tells the next three moments of a schedule, in its zone.
func comes(s schedule.Schedule, now time.Time) string {
	var all []string
	for _, at := range moments(s, now, 3) {
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

// cronWhen tells at which times.
func cronWhen(c queue.Cron) string {
	if c.Zone == "" || strings.HasPrefix(c.Schedule, "@every") {
		return c.Schedule
	}
	return c.Schedule + " " + c.Zone
}

// viewCron is one as --json prints it: what those of the protocol have, and more.
func viewCron(c queue.Cron) recurView {
	v := recurView{
		JID: c.Name, Klass: c.Klass, Queue: c.Queue, Damage: c.Damage, Data: rawJSON(c.Data), Count: c.Runs, Priority: c.Priority,
		Retries: c.Retries, Tags: list(c.Tags),
		Cron: &cronView{
			Schedule: c.Schedule, Zone: c.Zone, Missed: string(c.Missed), Overlap: string(c.Overlap), Source: cronSource(c), Paused: c.Paused,
			Pending: c.Pending, Last: c.Last, LastJID: c.LastJID, GivenUp: c.GivenUp, Skipped: c.Skipped,
		},
	}
	if at := cronTime(c.Next); !at.IsZero() && !c.Paused {
		v.Next = &c.Next
	}
	return v
}

func cronSource(c queue.Cron) string {
	if c.FromFile {
		return "file"
	}
	return "hand"
}

// showCron prints one for people.
func showCron(c *cli.Context, q *queue.Client, r queue.Cron) error {
	return show(c, viewCron(r), func(w io.Writer) {
		now := q.Now()
		if r.Damage != "" {
			screen.Printf(w, "%-10s %s\n", "damage", screen.Paint(w, screen.Red, r.Damage))
		}
		source := "by hand"
		if r.FromFile {
			source = "the configuration of supervisors, one of which said so last at " + screen.Moment(r.Seen)
		}
		next := "paused; `oarlock recur resume` lets it go on"
		if !r.Paused {
			next = twoZones(r.Next, r.Zone)
			if at := cronTime(r.Next); !at.IsZero() {
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
	})
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

// updateCron changes one that was made by hand.
func updateCron(c *cli.Context, q *queue.Client, r queue.Cron) error {
	for _, flag := range []string{"every", "backlog"} {
		if c.IsSet(flag) {
			return misused("--%s is not for one with a schedule", flag)
		}
	}
	change := func(name string, to *string) {
		if c.IsSet(name) {
			*to = c.String(name)
		}
	}
	change("queue", &r.Queue)
	change("klass", &r.Klass)
	change("cron", &r.Schedule)
	change("zone", &r.Zone)
	change("missed", (*string)(&r.Missed))
	change("overlap", (*string)(&r.Overlap))
	if c.IsSet("data") {
		r.Data = []byte(c.String("data"))
	}
	if c.IsSet("priority") {
		r.Priority = c.Float64("priority")
	}
	if c.IsSet("retries") {
		r.Retries = c.Int("retries")
	}
	for _, tag := range c.StringSlice("tag") {
		if !slices.Contains(r.Tags, tag) {
			r.Tags = append(r.Tags, tag)
		}
	}
	r.Tags = slices.DeleteFunc(r.Tags, func(tag string) bool { return slices.Contains(c.StringSlice("untag"), tag) })
	s, err := putCron(c, q, r)
	if err != nil {
		return err
	}
	return said(c, "%s is changed; it comes %s", r.Name, comes(s, cronNow(q)))
}

// pauseCron makes one put nothing, or go on.
func pauseCron(resume bool) func(*cli.Context, *queue.Client) error {
	return func(c *cli.Context, q *queue.Client) error {
		name := c.Args().First()
		r, err := q.Cron(c.Context, name)
		if errors.Is(err, queue.ErrNoJob) {
			if _, other := q.Recurring(c.Context, name); other == nil {
				return misused("%s recurs by an interval, which any client spawns: pause its queue, or end it", name)
			}
			return fmt.Errorf("recurring job %s: %w", name, err)
		}
		if err != nil {
			return err
		}
		if r.Paused != resume {
			return said(c, "%s was so before", name)
		}
		done, text := false, "%s puts nothing until `oarlock recur resume`; what is due meanwhile is not missed"
		if resume {
			s, bad := schedule.Parse(r.Schedule, r.Zone)
			if bad != nil {
				return bad
			}
			text = "%s goes on; it comes " + strings.ReplaceAll(comes(s, cronNow(q)), "%", "%%")
			done, err = q.ResumeCron(c.Context, name, r.Rev, s.Next(cronNow(q)))
		} else {
			done, err = q.PauseCron(c.Context, name, r.Rev)
		}
		if err == nil && !done {
			err = fmt.Errorf("%s was changed by somebody else at this moment; try again", name)
		}
		if err != nil {
			return err
		}
		return said(c, text, name)
	}
}

// cronDifference is what a reload would do with one recurring job.
type cronDifference struct {
	Name    string   `json:"name"`
	Does    string   `json:"does"` // add, change, end, or leave alone
	Changes []string `json:"changes,omitempty"`
	Why     string   `json:"why,omitempty"`
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
	there, err := q.Crons(c.Context)
	if err != nil {
		return err
	}
	fleet, err := q.FleetCrons(c.Context, plan.Fleet(cfg))
	if err != nil {
		return err
	}
	all := cronDifferences(plan.Crons(cfg), there, fleet, q.Now())
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

// cronDifferences are what a reload of a file would do; fleet are those that its files had.
func cronDifferences(file, there []queue.Cron, fleet []string, now float64) []cronDifference {
	all := []cronDifference{}
	old := make(map[string]queue.Cron, len(there))
	for _, c := range there {
		old[c.Name] = c
	}
	for i := range file {
		name := file[i].Name
		was, known := old[name]
		delete(old, name)
		switch {
		case !known:
			all = append(all, cronDifference{Name: name, Does: "add", Changes: []string{cronWhen(file[i])}})
		case !was.FromFile:
			all = append(all, cronDifference{Name: name, Does: "leave alone", Why: "it was made by hand"})
		case was.Was(file[i]) && now-was.Seen < queue.CronLease.Seconds():
			all = append(all, cronDifference{Name: name, Does: "leave alone", Changes: cronChanges(was, file[i]), Why: "while a supervisor runs that has this newer version in its file"})
		case was.Print() != file[i].Print():
			all = append(all, cronDifference{Name: name, Does: "change", Changes: cronChanges(was, file[i])})
		}
	}
	for _, name := range fleet {
		was, left := old[name]
		switch {
		case !left || !was.FromFile:
		case now-was.Seen < queue.CronLease.Seconds():
			all = append(all, cronDifference{Name: name, Does: "end", Why: "unless another supervisor has it in its file"})
		default:
			all = append(all, cronDifference{Name: name, Does: "end"})
		}
	}
	return all
}

// cronChanges tells in which fields two differ.
func cronChanges(was, is queue.Cron) []string {
	var changes []string
	old, now := was.Says(), is.Says()
	for _, field := range slices.Sorted(maps.Keys(now)) {
		if old[field] != now[field] {
			changes = append(changes, fmt.Sprintf("%s: %s → %s", field, screen.Shorten(old[field], 40), screen.Shorten(now[field], 40)))
		}
	}
	return changes
}
