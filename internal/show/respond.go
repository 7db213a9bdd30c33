package show

import (
	"cmp"
	"io"

	"oarlock/internal/explain"
	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// Responded says what became of an answer.
func Responded(w io.Writer, a ops.Answered) {
	job := cmp.Or(a.JID, "the job")
	switch a.Word {
	case queue.Resumed:
		screen.Printf(w, "resumed: %s goes on with it\n", job)
	case queue.KeptFor:
		if a.JID == "" {
			job = "the first job that parks with this correlation, for a day"
		}
		screen.Printf(w, "kept: for %s\n", job)
	case queue.Again:
		screen.Printf(w, "again: there was an answer already, and the first counts\n")
	case queue.Late:
		screen.Printf(w, "late: the job has ended, or has this correlation no more\n")
	}
}

// Parked lists jobs that wait for an answer. now is in seconds since the epoch.
func Parked(w io.Writer, jobs []ops.Job, now float64) {
	var rows [][]string
	for _, job := range jobs {
		rows = append(rows, []string{job.JID, job.Klass, job.Correlation, job.Queue, explain.DueWords(now, job.Due)})
	}
	screen.Table(w, "No job is parked.", []string{"JOB", "KLASS", "CORRELATION", "QUEUE", "UNTIL"}, rows)
}
