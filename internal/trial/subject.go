package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// The exit codes of what could not be run.
const notExecutable, notFound = 126, 127

// subject is one child under trial. Its methods are for one goroutine.
type subject struct {
	*runner.Child
	trial *Trial
	ears  ears
}

// start starts a child, which may not be ready yet, and tells events what happens to it. first is the job of a child
// that works one. The error is the runner's.
func (t *Trial) start(ctx context.Context, first *protocol.Job, heard ears, events runner.Events) (*subject, error) {
	if t.Spec.Mode != runner.Once {
		first = nil
	}
	child, err := t.Host.Start(ctx, &t.Spec, 0, first, events)
	if err != nil {
		return nil, err
	}
	return &subject{Child: child, trial: t, ears: heard}, nil
}

// fresh starts a child that nobody listens to, and waits until it is ready.
func (t *Trial) fresh(ctx context.Context, first *protocol.Job) (*subject, error) {
	heard := newEars()
	s, err := t.start(ctx, first, heard, heard)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoProgram, err)
	}
	err = s.ready(ctx)
	if left, is := errors.AsType[*leftError](err); is && (left.exit.Code == notFound || left.exit.Code == notExecutable) {
		err = fmt.Errorf("%w: %s", ErrNoProgram, exitText(left.exit))
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// leftError says that a child left before it was ready for a job.
type leftError struct{ exit runner.Exit }

func (e *leftError) Error() string {
	return "it left before it was ready for a job: " + exitText(e.exit)
}

// ready waits until the child can take a job. After an error it is gone.
func (s *subject) ready(ctx context.Context) error {
	select {
	case <-s.Ready(): // though it may have left since: then the job tells
		return nil
	default:
	}
	select {
	case <-s.Ready():
		return nil
	case exit := <-s.ears.gone:
		return &leftError{exit}
	case <-s.trial.limit():
		s.end()
		return fmt.Errorf("it was not ready within %v", s.trial.Limit)
	case <-ctx.Done():
		s.end()
		return ctx.Err()
	}
}

// limit is ready after the limit of the trial; never, if there is none.
func (t *Trial) limit() <-chan time.Time {
	if t.Limit == 0 {
		return nil
	}
	return time.After(t.Limit)
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
	return run, nil
}

// answer waits for the next of the runs to end.
func (s *subject) answer(ctx context.Context) (*ended, error) {
	select {
	case e := <-s.ears.ended:
		return e, nil
	case <-s.trial.limit():
		return nil, fmt.Errorf("it gave no answer within %v", s.trial.Limit)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// work has the child work one job, and wants it acknowledged.
func (s *subject) work(ctx context.Context) error {
	if _, err := s.give(s.trial.likeIt("")); err != nil {
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

// acknowledged wants e, which answered its job, to say that it was done, or that it waits for an answer: the program has done
// all that it can for now.
func acknowledged(e *ended) error {
	var said string
	switch {
	case e.ending.Kind == runner.Said && e.ending.Verdict.Kind == protocol.Park:
		return nil
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

// ears hear of one child what happens to its runs and how it leaves, and nothing else.
type ears struct {
	ended chan *ended
	gone  chan runner.Exit
}

func newEars() ears { return ears{make(chan *ended, 4096), make(chan runner.Exit, 1)} }

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
