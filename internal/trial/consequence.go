package trial

import (
	"cmp"
	"fmt"
	"strings"

	"oarlock/internal/screen"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// consequence says what a supervisor would make of an attempt of job, and whether that
// is good.
func consequence(e *runner.Ending, o *supervisor.Outcome, job *queue.Taken) (text string, good bool) {
	s := &o.Settlement
	text = howEnded(e) + ": the job " + fate(s, job, o.Redo)
	if s.Group != "" {
		text += fmt.Sprintf(" (%s: %s)", s.Group, screen.Shorten(s.Message, 200))
	}
	return text, s.Action == queue.Complete || s.Action == queue.Park
}

// howEnded names the ending.
func howEnded(e *runner.Ending) string {
	switch e.Kind {
	case runner.Said:
		return "it said " + e.Verdict.Kind.String()
	case runner.Exited:
		return fmt.Sprintf("exit code %d", e.ExitCode)
	case runner.TimedOut:
		return "it took too long"
	case runner.Died, runner.LeftEarly:
		return "the child died"
	case runner.CouldNotStart:
		return "the command cannot be run"
	case runner.BadArguments:
		return "no program was started"
	case runner.BrokeProtocol, runner.TooLong:
		return "the child broke the protocol"
	}
	return "stopped"
}

// fate says what becomes of the job.
func fate(s *queue.Settlement, job *queue.Taken, redo bool) string {
	wait := "at once"
	if s.Delay > 0 {
		wait = "after " + screen.Span(s.Delay)
	}
	switch {
	case redo:
		return "is given to another child"
	case s.Action == queue.Complete && s.Next != "":
		return "moves on to " + s.Next + strings.TrimSuffix(" "+wait, " at once")
	case s.Action == queue.Complete:
		return "is complete"
	case s.Action == queue.Cancel:
		return "is canceled: it is no more, unless another waits for it"
	case s.Action == queue.Requeue:
		return "is put again into " + cmp.Or(s.Next, job.Queue) + strings.TrimSuffix(" "+wait, " at once") + ", with all its retries"
	case s.Action == queue.Park && s.AnswerEnds:
		return fmt.Sprintf("is parked for %s at most: an answer to %q completes it", screen.Span(s.Delay), cmp.Or(s.Correlation, job.Correlation))
	case s.Action == queue.Park:
		return fmt.Sprintf("is parked for %s at most: it waits for an answer to %q", screen.Span(s.Delay), cmp.Or(s.Correlation, job.Correlation))
	case s.Action == queue.Fail:
		return "is failed for good"
	case s.Action == queue.Retry && job.Remaining < 1:
		return "is failed for good, for it has no retry left"
	case s.Action == queue.Retry:
		return fmt.Sprintf("is retried %s, at the cost of one of its %d retries", wait, job.Remaining)
	case s.Counter == queue.CountCrash && job.Crashes >= s.MaxCrashes:
		return fmt.Sprintf("is failed for good, for it has crashed more than %d times", s.MaxCrashes)
	case s.Counter == queue.CountCrash:
		return fmt.Sprintf("is run again %s: a crash costs no retry, but after more than %d of them it fails", wait, s.MaxCrashes)
	}
	if s.Counter == queue.CountInterruption {
		return "goes back to the front of its queue, uncounted"
	}
	if s.Counter == queue.CountBatch {
		return fmt.Sprintf("comes again at once in a message of %d at most, uncounted: nobody knows which job is to blame", s.Batch)
	}
	return "is given back, uncounted, and is due again " + wait
}
