package outcome

import (
	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
)

// oneOfMany reports whether a message of several jobs ended in a way that tells nothing of which of
// them is to blame: nobody decided that this job should end so.
func oneOfMany(e *runner.Ending) bool {
	if e.Batch < 2 {
		return false
	}
	switch e.Kind {
	case runner.Died, runner.BrokeProtocol, runner.TimedOut:
		return true
	case runner.Exited:
		return !decidedAt(e)
	case runner.Said: // when it was stopped, or by an exception that befell them all
		failure := e.Verdict.Kind == protocol.Retry || e.Verdict.Kind == protocol.Fail
		return failure && !decidedAt(e) && (e.Whole || !e.Verdict.Raised)
	}
	return false
}

// decidedAt reports whether an ending is a verdict on the job: what the child said of it, or an exit code
// that has a meaning.
func decidedAt(e *runner.Ending) bool {
	switch e.Kind {
	case runner.Said:
		return decided(e)
	case runner.Exited:
		return e.Action != protocol.ExitOnError && e.Action != protocol.ExitMisconfigured
	}
	return e.Kind == runner.TooLong
}

// halve gives a job back whose message came to grief: it counts for none of those that were in it, and
// they come again in messages of half as many at most, so that the one to blame is alone in the end.
func (a *Attempt) halve(s *queue.Settlement, e *runner.Ending) {
	Release(s, queue.CountBatch, 0)
	s.Batch = (e.Batch + 1) / 2
	s.Checkpoint = a.latest(e)
}
