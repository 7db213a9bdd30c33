package outcome

import (
	"cmp"
	"fmt"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
)

// ParkTimeout is how long a job waits for its answer where neither its child nor its class says.
const ParkTimeout = 24 * time.Hour

// park lets the job wait for an answer.
func (p *Policy) park(o *Outcome, a *Attempt, v *protocol.Verdict) {
	s := &o.Settlement
	if v.Correlation == "" && a.Job.Correlation == "" {
		o.refuse("no-correlation", "the child parked its job and did not say what the answer will name, and the job was put without a correlation")
		return
	}
	s.Action, s.Correlation, s.AnswerEnds, s.Delay = queue.Park, v.Correlation, v.Completes, cmp.Or(p.of(a.Job.Klass).ParkTimeout, ParkTimeout)
	if v.Timeout != nil {
		s.Delay = max(*v.Timeout, parkLeast)
	}
	s.Data, s.Checkpoint = v.Data, v.Checkpoint
}

// parkLeast is how long a job waits at least: shorter, and its answer could hardly find it.
const parkLeast = time.Millisecond

// InVain is the group of a job that has waited for its answer in vain.
const InVain = "park-timeout"

// Unworked is what becomes of a job that no child is to be given: its answer ended it, or there was none in time.
// It is nil for any other.
func Unworked(p Policy, job *queue.Taken) *queue.Settlement {
	switch answer := job.Answer; {
	case answer != nil && answer.End == queue.EndsComplete && !answer.Failed:
		return &queue.Settlement{Action: queue.Complete}
	case answer != nil && answer.End != queue.GoesOn:
		s := &queue.Settlement{Action: queue.Fail, Group: "answered", Message: "its answer ended it"}
		if answer.Failed {
			s.Message = answer.Error
		}
		return s
	case answer == nil && job.Expired:
		s := &queue.Settlement{}
		p.retry(s, job)
		s.Group, s.Message = InVain, fmt.Sprintf("no answer to %q came in time", job.Correlation)
		return s
	}
	return nil
}
