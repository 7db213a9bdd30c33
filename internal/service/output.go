package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"oarlock/internal/config"
	"oarlock/internal/control"
	"oarlock/internal/hub"
	"oarlock/internal/output"
	"oarlock/internal/redact"
	"oarlock/internal/screen"
	"oarlock/supervisor"
)

// JobOutput is what a job printed here, in one attempt.
type JobOutput struct {
	output.Printed
	Host     string           `json:"host"`     // by the name of its supervisor
	Redacted bool             `json:"redacted"` // something was blanked
	Attempts []output.Attempt `json:"attempts"` // all that are kept, oldest first
}

// LogRedactor blanks what [log] says in what jobs and children said; l was validated.
func LogRedactor(l config.Log) *redact.Redactor {
	r, _ := redact.New(l.Redact, l.RedactText) // validated
	return r
}

// keepOutput hands over what an attempt printed that has ended. It never waits.
func (s *Service) keepOutput(e *supervisor.Event, outcome string) {
	if e.Ending == nil || e.Ending.Output == nil || outcome == hub.HandedOn {
		return
	}
	s.outputs.Keep(output.Entry{
		Attempt: output.Attempt{
			JID: e.Job.JID, Klass: e.Job.Klass, Queue: e.Job.Queue, Pool: e.Pool, Attempt: e.Job.Attempt, Run: e.Job.Run,
			Outcome: outcome, Kind: e.Ending.Kind.String(), Ended: float64(time.Now().UnixMilli()) / 1e3, Duration: e.Ending.Wall.Seconds(),
		},
		Well:   outcome == hub.Done,
		Output: e.Ending.Output,
	})
}

// nothing is the error of what is not kept.
func nothing(format string, args ...any) error {
	return &control.Nothing{Text: fmt.Sprintf(format, args...)}
}

// Output is what an attempt of a job printed here, without secrets: the last with that number, unless it is 0, and that run, unless it is empty. The error says
// what is kept, or why nothing is.
func (s *Service) Output(ctx context.Context, jid string, attempt int, run string) (*JobOutput, error) {
	all, found, err := s.outputs.Find(ctx, jid, attempt, run)
	host := s.config().Supervisor.HostName()
	switch {
	case errors.Is(err, output.ErrNone) && len(all) > 0:
		return nil, nothing("of job %s the output of %s is not kept on %s, but of %s", shortJID(jid), attemptWords(attempt, run), host, Numbers(all))
	case errors.Is(err, output.ErrNone):
		return nil, nothing("no output of job %s is kept on %s: it ended elsewhere (`oarlock job show` tells where), its pool has no keep_output, "+
			"or it was pushed out (a pool keeps %s jobs and %s; of those that end well, %d a second)", shortJID(jid), host,
			screen.Count(output.MaxJobs), humanize.IBytes(output.MaxBytes), output.MaxWell)
	case err != nil:
		return nil, err
	}
	view := &JobOutput{Printed: *found, Host: host, Attempts: all}
	redactor := s.redactor.Load()
	for i := range view.Lines {
		line, did := redactor.Line(view.Lines[i].Text)
		view.Lines[i].Text = line
		view.Redacted = view.Redacted || did
	}
	return view, nil
}

func shortJID(jid string) string { return screen.Visible(word(jid)) }

// attemptWords name the attempt that somebody asked for.
func attemptWords(attempt int, run string) string {
	switch {
	case run == "":
		return fmt.Sprintf("attempt %d", attempt)
	case attempt == 0:
		return "run " + screen.Visible(word(run))
	}
	return fmt.Sprintf("attempt %d, run %s,", attempt, screen.Visible(word(run)))
}

// Repeated reports whether some have the same number, as have the runs before and after a park, or an interruption.
func Repeated(all []output.Attempt) bool {
	seen := map[int]bool{}
	for _, a := range all {
		if seen[a.Attempt] {
			return true
		}
		seen[a.Attempt] = true
	}
	return false
}

// Numbers names attempts: "1, 2 and 3"; where some have the same number, with what became of them and their runs.
func Numbers(all []output.Attempt) string {
	repeated := Repeated(all)
	var numbers string
	for i, a := range all {
		switch {
		case i > 0 && i == len(all)-1:
			numbers += " and "
		case i > 0:
			numbers += ", "
		}
		numbers += fmt.Sprint(a.Attempt)
		if repeated {
			numbers += fmt.Sprintf(" (%s, run %s)", a.Outcome, a.Run)
		}
	}
	return numbers
}
