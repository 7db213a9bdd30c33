package cli

import (
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"oarlock/internal/control"
	"oarlock/internal/ops"
	"oarlock/internal/output"
	"oarlock/internal/screen"
	"oarlock/internal/service"
	"oarlock/queue"
)

func jobOutputCommand() *cli.Command {
	return &cli.Command{
		Name:      "output",
		Usage:     "show what a job printed, on the host that ran it",
		ArgsUsage: "JID",
		Description: "Its pool must say keep_output. Lines of stdout are marked with |, those of stderr with !, records\n" +
			"of its log with @. Secrets are blanked as [log] redact and redact_text say.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "attempt", Usage: "the last attempt of that `NUMBER`, not the last of all"},
			pidFlag(), jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1, "JID"); err != nil {
				return err
			}
			if c.IsSet("attempt") && c.Int("attempt") < 1 {
				return misused("attempts are counted from 1")
			}
			s, err := reach(c)
			if errors.Is(err, control.ErrNone) && unheardOf(c, c.Args().First()) {
				return notThere("there is no job %s", c.Args().First())
			}
			if errors.Is(err, control.ErrNone) {
				return fmt.Errorf("%w; what a job printed is told by the supervisor on the host that ran it (`oarlock job show %s` names it)", err, screen.InShell(c.Args().First()))
			}
			if err != nil {
				return err
			}
			var view service.JobOutput
			err = s.Output(c.Context, c.Args().First(), c.Int("attempt"), &view)
			if err != nil && unheardOf(c, c.Args().First()) {
				return notThere("there is no job %s, and nothing of one is kept here", c.Args().First())
			}
			if err != nil {
				return err
			}
			return show(c, view, func(w io.Writer) { printOutput(w, view) })
		},
	}
}

// unheardOf reports whether Redis answers, and knows no such job.
func unheardOf(c *cli.Context, jid string) bool {
	client, err := open(c)
	if err != nil {
		return false
	}
	defer client.Close()
	_, err = client.Get(c.Context, jid)
	return errors.Is(err, queue.ErrNoJob)
}

// outputMarks stand in front of lines, by their streams.
var outputMarks = map[string]string{"stdout": "|", "stderr": "!", "status": "@"}

func printOutput(w io.Writer, view service.JobOutput) {
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
		screen.Printf(w, "Kept are attempts %s; --attempt NUMBER shows another.\n", service.Numbers(view.Attempts))
	}
}

// outputLine says what is wrong with the store of outputs; "" if nothing is.
func outputLine(s output.State) string {
	switch {
	case s.BlockedSince != nil:
		return fmt.Sprintf("what jobs print is not kept since %s: the state directory does not answer, %s lost", s.BlockedSince.Local().Format("15:04:05"), screen.Some(s.Dropped, "attempt"))
	case s.Error != "":
		return fmt.Sprintf("what jobs print is not kept, %s lost: %s", screen.Some(s.Dropped, "attempt"), s.Error)
	case s.Dropped > 0:
		return fmt.Sprintf("what %s printed was not kept: they came too fast, or the state directory was in trouble", screen.Some(s.Dropped, "attempt"))
	}
	return ""
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
