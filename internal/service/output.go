package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"oarlock/internal/config"
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

// Output is what an attempt of a job printed here, the last if attempt is 0, without secrets. The error says
// what is kept, or why nothing is.
func (s *Service) Output(ctx context.Context, jid string, attempt int) (*JobOutput, error) {
	all, found, err := s.outputs.Find(ctx, jid, attempt)
	host := s.config().Supervisor.HostName()
	switch {
	case errors.Is(err, output.ErrNone) && len(all) > 0:
		return nil, fmt.Errorf("of job %s the output of attempt %d is not kept on %s, but of %s", shortJID(jid), attempt, host, Numbers(all))
	case errors.Is(err, output.ErrNone):
		return nil, fmt.Errorf("no output of job %s is kept on %s: it ended elsewhere (`oarlock job show` tells where), its pool has no keep_output, "+
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

// Numbers names attempts: "1, 2 and 3".
func Numbers(all []output.Attempt) string {
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
