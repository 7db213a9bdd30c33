package show

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"oarlock/internal/explain"
	"oarlock/internal/ops"
	"oarlock/internal/screen"
)

// Jobs lists jobs, one a line; empty is what it says if there is none.
func Jobs(w io.Writer, empty string, jobs []ops.Job) {
	var rows [][]string
	for _, job := range jobs {
		rows = append(rows, []string{job.JID, job.Klass, job.State, fmt.Sprint(job.Priority), retriesLeft(job.Remaining, job.Retries), screen.Shorten(job.Payload(), 60)})
	}
	keyedTable(w, empty, []string{"JID", "KLASS", "STATE", "PRIORITY", "RETRIES", "DATA"}, rows, jobs)
}

// keyedTable is a table of jobs, a row each. Behind its first column stand the keys of the jobs, if one has a key.
func keyedTable(w io.Writer, empty string, head []string, rows [][]string, jobs []ops.Job) {
	if slices.ContainsFunc(jobs, func(job ops.Job) bool { return job.Key != "" }) {
		head = slices.Insert(head, 1, "KEY")
		for i := range rows {
			rows[i] = slices.Insert(rows[i], 1, screen.Shorten(jobs[i].Key, 40))
		}
	}
	screen.Table(w, empty, head, rows)
}

// retriesLeft says how many of a job's retries are left: below zero there is none, and the job has failed for that.
func retriesLeft(remaining, retries int) string {
	if remaining < 0 {
		return "none left"
	}
	return fmt.Sprintf("%d/%d", remaining, retries)
}

// mostNamed is how many jobs are named that have to do with something.
const mostNamed = 10

// firstOf names jobs on one line: the first of them, and how many there are beside.
func firstOf(jids []string) string { return firstOfMany(jids, len(jids)) }

// firstOfMany is firstOf where jids are some of all.
func firstOfMany(jids []string, all int) string {
	if all > len(jids) {
		shown := jids[:min(len(jids), mostNamed)]
		return fmt.Sprintf("%s and %s more; --json names %s", strings.Join(shown, " "), screen.Count(all-len(shown)), screen.Count(len(jids)))
	}
	words := strings.Join(jids[:min(len(jids), mostNamed)], " ")
	if more := len(jids) - mostNamed; more > 0 {
		words += fmt.Sprintf(" and %s more; --json names all", screen.Count(more))
	}
	return words
}

// List shows jobs of a list that no queue has; which is its name.
func List(w io.Writer, which string, list ops.List) {
	Jobs(w, "No job like that is "+which+".", list.Jobs)
	if len(list.Gone) > 0 {
		screen.Printf(w, "tracked and gone: %s\n", firstOf(list.Gone))
	}
	if list.More {
		screen.PrintLine(w, "There are more; --offset and --limit show them.")
	}
}

// Tagged lists the jobs that have a tag.
func Tagged(w io.Writer, tagged ops.Tagged) {
	Jobs(w, "No job has that tag.", tagged.Jobs)
	if n := len(tagged.Jobs); tagged.Total > n {
		screen.Printf(w, "%s of %s; --offset and --limit show more\n", screen.Count(n), screen.Count(tagged.Total))
	}
}

// Failed lists jobs that have failed, one a line.
func Failed(w io.Writer, jobs []ops.Job) {
	var rows [][]string
	for _, job := range jobs {
		why := job.Failed()
		rows = append(rows, []string{job.JID, job.Klass, job.Queue, screen.Moment(why.When), why.Group, screen.Gist(why.Message, 70)})
	}
	keyedTable(w, "No job like that has failed.", []string{"JID", "KLASS", "QUEUE", "FAILED", "GROUP", "MESSAGE"}, rows, jobs)
}

// Sorted lists jobs with what they are sorted by.
func Sorted(w io.Writer, found ops.SortedJobs) {
	var rows [][]string
	for _, job := range found.Items {
		due := "-"
		if job.Due > 0 {
			due = screen.Moment(job.Due)
		}
		tries := job.Retries - job.Remaining + job.Crashes
		rows = append(rows, []string{job.JID, job.Klass, screen.Count(tries), due, screen.Gist(job.Failed().Message, 60)})
	}
	keyedTable(w, "There is no job like that.", []string{"JID", "KLASS", "TRIED", "DUE", "FAILED LAST WITH"}, rows, found.Items)
	if n := found.Matched - len(found.Items); n > 0 {
		screen.Printf(w, "%s more\n", screen.Count(n))
	}
	if found.Partial {
		screen.PrintLine(w, "There are more jobs than are looked at: others may belong among these.")
	}
}

// ScheduledDeed says what was done to scheduled jobs, or would be: would and done stand behind a number of jobs.
func ScheduledDeed(w io.Writer, d *ops.ScheduledDeed, would, done string) {
	if d.DryRun {
		screen.Printf(w, "%s of %s %s\n", screen.Some(d.Count, "job"), d.Queue, would)
		return
	}
	screen.Printf(w, "%s of %s %s\n", screen.Some(d.Done, "job"), d.Queue, done)
	if d.Changed > 0 {
		screen.Printf(w, "%s left alone: changed meanwhile\n", screen.Some(d.Changed, "job"))
	}
	for _, why := range d.Refused {
		screen.PrintLine(w, why)
	}
}

// FailedGroups lists how many jobs have failed by their groups, as queue.Client.FailedGroups counts them; damage
// says what is wrong with one that cannot be counted.
func FailedGroups(w io.Writer, groups map[string]int, damage func(group string) string) {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		row := []string{name, screen.Count(groups[name]), ""}
		if groups[name] < 0 {
			row[1], row[2] = "?", damage(name)
		}
		rows = append(rows, row)
	}
	screen.Table(w, "No job has failed.", []string{"GROUP", "JOBS", ""}, rows)
}

// Held lists the jobs of a worker, and how long their locks hold from now on, in seconds since the epoch.
func Held(w io.Writer, jobs []ops.Job, now float64) {
	var rows [][]string
	for _, job := range jobs {
		lock := "" // of a job that was taken back it shows what was
		if job.State == "running" {
			lock = explain.LockWords(now, job.Expires)
		}
		rows = append(rows, []string{job.JID, job.Klass, job.Queue, job.State, lock})
	}
	screen.Table(w, "It holds no job.", []string{"JID", "KLASS", "QUEUE", "STATE", "LOCK"}, rows)
}

// Workers lists workers, and how long before now, in seconds since the epoch, they were seen.
func Workers(w io.Writer, workers []ops.Worker, now float64) {
	var rows [][]string
	for _, n := range workers {
		seen := screen.Ago(n.Seen, now) + " ago"
		if ahead := screen.Ahead(n.Seen, now); ahead != "" {
			seen = "its clock is " + ahead
		}
		row := []string{n.Name, screen.Count(n.Jobs), screen.Count(n.Stalled), seen, ""}
		if n.Damage != "" {
			row = []string{n.Name, "?", "?", seen, "cannot be read; see oarlock doctor: " + n.Damage}
		}
		rows = append(rows, row)
	}
	screen.Table(w, "No worker was seen lately.", []string{"WORKER", "JOBS", "STALLED", "SEEN", ""}, rows)
}
