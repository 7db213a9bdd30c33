package show

import (
	"fmt"
	"io"
	"regexp"

	"github.com/dustin/go-humanize"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/service"
)

// outputMarks stand in front of lines, by their streams.
var outputMarks = map[string]string{"stdout": "|", "stderr": "!", "status": "@"}

// Output shows what a job printed.
func Output(w io.Writer, view service.JobOutput) {
	heading := fmt.Sprintf("Attempt %d of %s, pool %s on %s: %s after %s, at %s",
		view.Attempt.Attempt, view.JID, view.Pool, view.Host, view.Outcome, screen.Seconds(view.Duration), screen.Moment(view.Ended))
	screen.PrintLine(w, screen.Paint(w, screen.Bold, heading))
	if view.Lost > 0 {
		screen.PrintLine(w, screen.Paint(w, screen.Yellow, fmt.Sprintf("  %s before this were not kept (keep_output)", humanize.IBytes(uint64(view.Lost)))))
	}
	if len(view.Lines) == 0 {
		screen.PrintLine(w, "  It printed nothing.")
	}
	for _, line := range view.Lines {
		colour := ""
		if line.Stream == "stderr" {
			colour = screen.Red
		}
		screen.Printf(w, "%s %s\n", outputMarks[line.Stream], screen.Paint(w, colour, line.Text))
	}
	if view.Redacted {
		screen.PrintLine(w, screen.Paint(w, screen.Yellow, "  Secrets were blanked ([log] redact)."))
	}
	if len(view.Attempts) > 1 {
		option := "--attempt NUMBER"
		if service.Repeated(view.Attempts) {
			option = "--run RUN"
		}
		screen.Printf(w, "Kept are attempts %s; %s shows another.\n", service.Numbers(view.Attempts), option)
	}
}

// nameOfWorker is how a supervisor names a pool's worker: its own name, its process id, the pool, and
// something that nobody else has.
var nameOfWorker = regexp.MustCompile(`^(.+)-(\d+)-([A-Za-z0-9][A-Za-z0-9_-]*)-[^-]+$`)

// lastWorker is who had a job last: the holder of its lock, or whoever last popped it.
func lastWorker(job *ops.Job) string {
	if job.State == "running" && job.Worker != "" {
		return job.Worker
	}
	for i := len(job.History) - 1; i >= 0; i-- {
		if h := &job.History[i]; h.What == "popped" && h.Worker != "" {
			return h.Worker
		}
	}
	return ""
}

// whereItPrinted says which host can tell what a job printed, and how to ask it; "" if it never ran under
// one of our supervisors.
func whereItPrinted(job *ops.Job) string {
	parts := nameOfWorker.FindStringSubmatch(lastWorker(job))
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("on host %s, if pool %s has keep_output: oarlock job output %s", parts[1], parts[3], screen.InShell(job.JID))
}
