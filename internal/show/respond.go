package show

import (
	"cmp"
	"io"

	"oarlock/internal/explain"
	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// Responded says what became of an answer, which may end the job.
func Responded(w io.Writer, a ops.Answered, end queue.AnswerEnd) {
	job := cmp.Or(a.JID, "the job")
	switch a.Word {
	case queue.Resumed:
		if end != "" {
			screen.Printf(w, "resumed: %s ends with it, with the next look of a supervisor that works its queue\n", job)
			return
		}
		screen.Printf(w, "resumed: %s is the next of its queue, with it\n", job)
	case queue.KeptFor:
		if a.JID == "" {
			job = "the first job that parks or is put with this correlation, for as long as park.keep_early says"
		}
		screen.Printf(w, "kept: for %s\n", job)
	case queue.Again:
		screen.Printf(w, "again: there was an answer already, and the first counts\n")
	case queue.Late:
		screen.Printf(w, "late: the job has ended, or has this correlation no more\n")
	}
}

// ParkedJob tells of one that waits for an answer.
func ParkedJob(w io.Writer, job ops.Job, now float64) {
	screen.Printf(w, "%s of class %s, of queue %s, waits for an answer to %s until %s.\n", job.JID, job.Klass, job.Queue, screen.InShell(job.Correlation),
		explain.DueWords(now, job.Due))
	screen.Table(w, "", nil, [][]string{
		{"  oarlock respond " + screen.InShell(job.Klass) + " " + screen.InShell(job.Correlation) + " DATA", "answers it"},
		{"  oarlock park extend " + screen.InShell(job.JID) + " --timeout 2h", "lets it wait longer"},
		{"  oarlock park fail " + screen.InShell(job.JID) + " --error TEXT", "fails it"},
	})
}

// Extended says until when a job waits.
func Extended(w io.Writer, e ops.Extended, now float64) {
	screen.Printf(w, "%s waits until %s\n", e.JID, explain.DueWords(now, e.Until))
}

// FailedParked says that a job fails which waited for an answer.
func FailedParked(w io.Writer, a ops.Answered) {
	screen.Printf(w, "%s fails with the next look of a supervisor that works its queue\n", a.JID)
}

// Parked lists jobs that wait for an answer. now is in seconds since the epoch.
//
//	more   there may be others
func Parked(w io.Writer, jobs []ops.Job, more bool, now float64) {
	var rows [][]string
	for _, job := range jobs {
		rows = append(rows, []string{job.JID, job.Klass, screen.InShell(job.Correlation), job.Queue, explain.DueWords(now, job.Due)})
	}
	none := "No job is parked."
	if more {
		none = "No job is parked among those that were looked at."
	}
	screen.Table(w, none, []string{"JOB", "KLASS", "CORRELATION", "QUEUE", "UNTIL"}, rows)
	if more {
		screen.PrintLine(w, "Not all that are scheduled were looked at: there may be more, and a larger --limit looks further.")
	}
}
