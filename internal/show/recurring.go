package show

import (
	"fmt"
	"io"
	"strings"
	"time"

	"oarlock/internal/explain"
	"oarlock/internal/ops"
	"oarlock/internal/schedule"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// AllRecurring lists recurring jobs.
func AllRecurring(w io.Writer, all []ops.Recurring) {
	var rows [][]string
	for _, r := range all {
		var every, next string
		if s := r.BySchedule; s != nil {
			every, next = ops.CronWhen(*s), cronNext(*s)
		} else {
			every, next = screen.Span(r.ByInterval.Interval), screen.Moment(r.ByInterval.Next)
		}
		rows = append(rows, []string{r.JID, r.Klass, r.Queue, every, next, screen.Count(r.Count), screen.Shorten(r.Payload(), 50)})
	}
	screen.Table(w, "No job recurs.", []string{"JID", "KLASS", "QUEUE", "EVERY", "NEXT", "COPIES", "DATA"}, rows)
}

// Recurring shows a recurring job; now is in seconds since the epoch.
func Recurring(w io.Writer, shown ops.Recurring, now float64) {
	if shown.Damage != "" {
		screen.Printf(w, "%-10s %s\n", "damage", screen.Paint(w, screen.Red, shown.Damage))
	}
	r := shown.ByInterval
	if r == nil {
		byCron(w, *shown.BySchedule, now)
		return
	}
	for _, line := range [][2]string{
		{"job", r.JID}, {"klass", r.Klass}, {"queue", r.Queue}, {"every", screen.Span(r.Interval)},
		{"next", explain.DueWords(now, r.Next)},
		{"copies", screen.Count(r.Count)}, {"data", string(r.Data)}, {"priority", fmt.Sprint(r.Priority)}, {"retries", fmt.Sprint(r.Retries)},
		{"backlog", fmt.Sprint(r.Backlog)}, {"tags", strings.Join(r.Tags, " ")},
	} {
		screen.Printf(w, "%-10s %s\n", line[0], line[1])
	}
}

// Comes tells the next three moments of a schedule, in its zone.
func Comes(s schedule.Schedule, now time.Time) string {
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

// byCron shows one that our supervisors put.
func byCron(w io.Writer, r queue.Cron, now float64) {
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

// zoneName is the name of a zone.
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

// lastRun tells when it last came, and as which job.
func lastRun(r queue.Cron) string {
	if r.Last == 0 {
		return "none yet"
	}
	return twoZones(r.Last, r.Zone) + ", job " + r.LastJID
}

// CronDifferences lists where the configuration and Redis differ.
func CronDifferences(w io.Writer, all []ops.CronDifference) {
	var rows [][]string
	for _, d := range all {
		rows = append(rows, []string{d.Does, d.Name, strings.Join(append(d.Changes, strings.Fields(d.Why)...), " ")})
	}
	screen.Table(w, "Redis has what the file says.", []string{"RELOAD WOULD", "JOB", "WHAT"}, rows)
}
