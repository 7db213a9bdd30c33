package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/control"
	"oarlock/internal/ops"
	"oarlock/internal/output"
	"oarlock/internal/redact"
	"oarlock/internal/screen"
	"oarlock/queue"
	"oarlock/supervisor"
)

// outputView is what a supervisor answers when it is asked what a job printed.
type outputView struct {
	output.Printed
	Host     string           `json:"host"`     // by the name of its supervisor
	Redacted bool             `json:"redacted"` // something was blanked
	Attempts []output.Attempt `json:"attempts"` // all that are kept, oldest first
}

func redactorOf(l config.Log) *redact.Redactor {
	r, _ := redact.New(l.Redact, l.RedactText) // validated
	return r
}

// keepOutput hands over what an attempt printed that has ended. It never waits.
func (s *service) keepOutput(e *supervisor.Event, outcome string) {
	if e.Ending == nil || e.Ending.Output == nil || outcome == outcomeHandedOn {
		return
	}
	s.outputs.Keep(output.Entry{
		Attempt: output.Attempt{
			JID: e.Job.JID, Klass: e.Job.Klass, Queue: e.Job.Queue, Pool: e.Pool, Attempt: e.Job.Attempt, Run: e.Job.Run,
			Outcome: outcome, Kind: e.Ending.Kind.String(), Ended: float64(time.Now().UnixMilli()) / 1e3, Duration: e.Ending.Wall.Seconds(),
		},
		Well:   outcome == outcomeDone,
		Output: e.Ending.Output,
	})
}

// Output is what an attempt of a job printed here.
func (s *service) Output(ctx context.Context, jid string, attempt int) (any, error) {
	all, found, err := s.outputs.Find(ctx, jid, attempt)
	host := hostName(s.config())
	switch {
	case errors.Is(err, output.ErrNone) && len(all) > 0:
		return nil, fmt.Errorf("of job %s the output of attempt %d is not kept on %s, but of %s", shortJID(jid), attempt, host, attemptNumbers(all))
	case errors.Is(err, output.ErrNone):
		return nil, fmt.Errorf("no output of job %s is kept on %s: it ended elsewhere (`oarlock job show` tells where), its pool has no keep_output, "+
			"or it was pushed out (a pool keeps %s jobs and %s; of those that end well, %d a second)", shortJID(jid), host,
			screen.Count(output.MaxJobs), humanize.IBytes(output.MaxBytes), output.MaxWell)
	case err != nil:
		return nil, err
	}
	view := outputView{Printed: *found, Host: host, Attempts: all}
	redactor := s.redactor.Load()
	for i := range view.Lines {
		line, did := redactor.Line(view.Lines[i].Text)
		view.Lines[i].Text = line
		view.Redacted = view.Redacted || did
	}
	return view, nil
}

// hostName is the name by which Redis knows the supervisor of cfg.
func hostName(cfg config.Config) string {
	name, _ := os.Hostname()
	return cmp.Or(cfg.Supervisor.Name, name)
}

func shortJID(jid string) string { return screen.Visible(word(jid)) }

// attemptNumbers names attempts: "1, 2 and 3".
func attemptNumbers(all []output.Attempt) string {
	var numbers string
	for i, a := range all {
		switch {
		case i > 0 && i == len(all)-1:
			numbers += " and "
		case i > 0:
			numbers += ", "
		}
		numbers += fmt.Sprint(a.Attempt)
	}
	return numbers
}

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
			var view outputView
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

func printOutput(w io.Writer, view outputView) {
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
		screen.Printf(w, "Kept are attempts %s; --attempt NUMBER shows another.\n", attemptNumbers(view.Attempts))
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
