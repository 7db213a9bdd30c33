// Package torture tries a worker program: it is started, fed, canceled, killed, flooded
// and fed twice, by the same runner that a supervisor uses, without a Redis. What comes
// out is which rules the program keeps.
package torture

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
)

// Trial is a program and what it is tried with.
type Trial struct {
	Host  *runner.Host
	Spec  runner.Spec
	Job   protocol.Job  // what a job of the program looks like; run and jid are filled in
	Limit time.Duration // for an answer, or to be ready; longer counts as never

	works bool            // it acknowledged a job
	hello *protocol.Hello // what it said of itself, when that was tried
}

// Finding is what became of one rule.
type Finding struct {
	Rule     string  `json:"rule"`
	Must     bool    `json:"must"` // else it is advice
	Kept     bool    `json:"kept"`
	Left     bool    `json:"left"`          // it says nothing about programs of this mode
	Why      string  `json:"why,omitempty"` // of a broken one: what happened
	Duration float64 `json:"seconds"`
}

// errLeft says that a rule does not concern the program.
var errLeft = errors.New("left out")

// ErrNoProgram says that the command cannot be run at all.
var ErrNoProgram = errors.New("the program cannot be run")

// Run tries every rule, each on fresh children, and tells report as it goes. It returns
// whether all obligatory rules are kept; the error is that of ctx, or ErrNoProgram before
// anything was reported.
//
// The first rule is that it works a job. What a program that does not seems to keep of the
// others says nothing: one that ends at once is quick to leave, too.
func (t *Trial) Run(ctx context.Context, report func(Finding)) (good bool, err error) {
	good = true
	for i, r := range rules {
		began := time.Now()
		err := errLeft
		if r.modes == nil || r.modes[t.Spec.Mode] {
			err = r.try(ctx, t)
		}
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case i == 0 && errors.Is(err, ErrNoProgram):
			return false, err
		case i == 0:
			t.works = err == nil
		case err == nil && !t.works:
			err = errLeft
		}
		f := Finding{Rule: r.says, Must: r.must, Kept: err == nil, Left: errors.Is(err, errLeft), Duration: time.Since(began).Seconds()}
		if err != nil && !f.Left {
			f.Why = err.Error()
			good = good && !r.must
		}
		report(f)
	}
	return good, nil
}

// job makes a job with its own names and with data.
func (t *Trial) job(data string) *protocol.Job {
	job := t.Job
	job.Run, job.JID = protocol.NewRun(), queue.NewJID()
	if data != "" {
		job.Data = []byte(data)
	}
	return &job
}

// The exit codes of what could not be run.
const notExecutable, notFound = 126, 127

// subject is one child under trial. Its methods are for one goroutine.
type subject struct {
	*runner.Child
	trial *Trial
	ears  ears
	given int // runs that have not ended
}

// start starts a child that is ready; first is the job of a child that works one.
func (t *Trial) start(ctx context.Context, first *protocol.Job) (*subject, error) {
	s := &subject{trial: t, ears: ears{make(chan *ended, 4096), make(chan runner.Exit, 1)}}
	if t.Spec.Mode != runner.Once {
		first = nil
	}
	child, err := t.Host.Start(ctx, &t.Spec, 0, first, s.ears)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoProgram, err)
	}
	s.Child = child
	select {
	case <-child.Ready():
		return s, nil
	case exit := <-s.ears.gone:
		err := fmt.Errorf("it left before it was ready for a job: %s", exitText(exit))
		if exit.Code == notFound || exit.Code == notExecutable {
			err = fmt.Errorf("%w: %s", ErrNoProgram, exitText(exit))
		}
		return nil, err
	case <-time.After(t.Limit):
		s.end()
		return nil, fmt.Errorf("it was not ready within %v", t.Limit)
	case <-ctx.Done():
		s.end()
		return nil, ctx.Err()
	}
}

// end kills the child if it is still there, and waits until all of it is gone.
func (s *subject) end() {
	s.Kill(runner.CauseShutdown)
	<-s.Exited()
}

// give hands job to the child.
func (s *subject) give(job *protocol.Job) (*runner.Run, error) {
	run, err := s.Run(job, runner.RunLimits{})
	if err != nil {
		return nil, fmt.Errorf("it takes no job: %w", err)
	}
	s.given++
	return run, nil
}

// answer waits for the next of the runs to end.
func (s *subject) answer(ctx context.Context) (*ended, error) {
	select {
	case e := <-s.ears.ended:
		s.given--
		return e, nil
	case <-time.After(s.trial.Limit):
		return nil, fmt.Errorf("it gave no answer within %v", s.trial.Limit)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// work has the child work one job, and wants it acknowledged.
func (s *subject) work(ctx context.Context) error {
	if _, err := s.give(s.trial.job("")); err != nil {
		return err
	}
	return s.acknowledges(ctx)
}

// acknowledges waits for the next of the runs to end, and wants it done.
func (s *subject) acknowledges(ctx context.Context) error {
	e, err := s.answer(ctx)
	if err == nil {
		err = answered(e)
	}
	if err == nil {
		err = acknowledged(e)
	}
	return err
}

// acknowledged wants e, which answered its job, to say that it was done.
func acknowledged(e *ended) error {
	var said string
	switch {
	case e.ending.Kind == runner.Said && e.ending.Verdict.Kind != protocol.Ack:
		said = "it said " + e.ending.Verdict.Kind.String()
		if e.ending.Verdict.Message != "" {
			said += " (" + e.ending.Verdict.Message + ")"
		}
	case e.ending.Kind == runner.Exited && e.ending.Action != protocol.ExitAck:
		said = fmt.Sprintf("it left with exit code %d", e.ending.ExitCode)
	default:
		return nil
	}
	return fmt.Errorf("%s and did not acknowledge the job: name one by --job that it can do", said)
}

// answered wants e to be an answer to its job: a verdict, or the exit of a program that
// works one job.
func answered(e *ended) error {
	switch {
	case e.ending.Kind == runner.Said && e.ending.Verdict.Kind == protocol.Unknown:
		return fmt.Errorf("it has nothing for jobs of the class %s: name one that it has by --klass", e.run.Job.Klass)
	case e.ending.Kind == runner.CouldNotStart:
		return fmt.Errorf("%w: %s", ErrNoProgram, strings.TrimPrefix(e.ending.Message, "oarlock: "))
	case e.ending.Kind == runner.Said:
		return nil
	case e.ending.Kind == runner.Exited && e.run.Child().Spec().Mode != runner.Reuse:
		return nil
	}
	return fmt.Errorf("it gave no verdict: %s", endingText(e.ending))
}

// ended is a run with its ending.
type ended struct {
	run    *runner.Run
	ending *runner.Ending
}

// ears are the events of one child.
type ears struct {
	ended chan *ended
	gone  chan runner.Exit
}

func (e ears) ChildReady(*runner.Child)                                    {}
func (e ears) Bye(*runner.Child, string)                                   {}
func (e ears) Log(*runner.Child, *runner.Run, runner.LogLine)              {}
func (e ears) Refused(_ *runner.Child, _ *runner.Run, _, why string)       {}
func (e ears) Progress(*runner.Child, *runner.Run, protocol.Progress)      {}
func (e ears) Checkpoint(*runner.Child, *runner.Run, []byte)               {}
func (e ears) Wished(*runner.Child, *runner.Run)                           {}
func (e ears) RunStopping(*runner.Child, *runner.Run, runner.Cause)        {}
func (e ears) RunEnded(_ *runner.Child, r *runner.Run, end *runner.Ending) { e.ended <- &ended{r, end} }
func (e ears) ChildExited(_ *runner.Child, exit runner.Exit)               { e.gone <- exit }

// endingText says how a run ended.
func endingText(e *runner.Ending) string {
	text := e.Kind.String()
	if e.Group != "" {
		text += " (" + e.Group
		if e.Message != "" {
			text += ": " + e.Message
		}
		text += ")"
	}
	return text
}

// exitText says how a child left.
func exitText(exit runner.Exit) string {
	text := fmt.Sprintf("exit code %d", exit.Code)
	if exit.Signal != 0 {
		text = exit.Signal.String()
	}
	if exit.Message != "" {
		text += ": " + exit.Message
	}
	return text
}
