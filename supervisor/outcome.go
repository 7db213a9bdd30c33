package supervisor

import (
	"fmt"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
)

// releaseDelay is how long a job that was released, by its child or because of it,
// stays away, so that nothing goes round in circles.
const releaseDelay = 5 * time.Second

// bearing is what an ending says about the pool as a whole.
type bearing uint8

const (
	neutral bearing = iota // nothing: we ended it ourselves
	good                   // a job was acknowledged
	bad                    // a job was not
	broken                 // the pool cannot run its command at all
)

// outcome is what becomes of an attempt: it is either given to another child at
// once, or dropped without a word to Redis, or settled.
type outcome struct {
	redo       bool
	drop       bool
	settlement queue.Settlement
	bearing    bearing
}

// conclude decides what an ending means for its job. It is the table of what an
// ending counts as; nothing else in this package looks at kinds of endings.
func (p *pool) conclude(a *attempt, e *runner.Ending) outcome {
	s := queue.Settlement{
		JID:        a.job.JID,
		Queue:      a.job.Queue,
		Popped:     a.job.Popped,
		Group:      e.Group,
		Message:    e.Message,
		MaxCrashes: p.cfg.MaxCrashes,
	}
	switch {
	case a.lost, e.Kind == runner.Canceled:
		return outcome{drop: true}
	case a.warned, e.Kind == runner.LockLost, e.Kind == runner.Interrupted, gaveUp(e):
		// Stopped for our own reasons. If the lock is ours after all, the job goes back;
		// what the child may have said meanwhile came too late.
		release(&s, queue.CountInterruption, 0)
		s.Checkpoint = a.latest(e)
		return outcome{settlement: s}
	}
	failures := a.job.Retries - a.job.Remaining
	o := outcome{bearing: bad}
	switch e.Kind {
	case runner.Said:
		o.bearing = p.said(&s, e, failures)
	case runner.Exited:
		o.bearing = p.exited(&s, e, failures)
	case runner.TimedOut:
		p.onError(&s, failures)
	case runner.LeftEarly:
		if !a.early {
			return outcome{redo: true}
		}
		p.onCrash(&s, a.job.Crashes)
	case runner.Died:
		p.onCrash(&s, a.job.Crashes)
	case runner.Innocent:
		return outcome{redo: true}
	case runner.CouldNotStart:
		release(&s, queue.CountRelease, releaseDelay)
		o.bearing = broken
	default: // BrokeProtocol
		release(&s, queue.CountRelease, releaseDelay)
	}
	if s.Action != queue.Complete { // an ack clears what is kept
		s.Checkpoint = a.latest(e)
		s.Record = record(a, e, p.worker, keptBytes-len(s.Checkpoint))
	}
	o.settlement = s
	return o
}

// gaveUp reports whether a child gave its job back because we told it to leave. That
// it says so politely must not cost the job more than if it had to be killed.
func gaveUp(e *runner.Ending) bool {
	return e.Kind == runner.Said && e.SentByUs == runner.CauseShutdown &&
		(e.Verdict.Kind == protocol.Release || e.Verdict.Kind == protocol.Retry)
}

// latest is the newest checkpoint of the attempt that Redis may not have; nil if none.
func (a *attempt) latest(e *runner.Ending) []byte {
	if e.Checkpoint != nil {
		return e.Checkpoint
	}
	return a.checkpoint
}

// said settles as the child asked for.
func (p *pool) said(s *queue.Settlement, e *runner.Ending, failures int) bearing {
	v := e.Verdict
	s.Group, s.Message = v.Group, v.Message
	switch v.Kind {
	case protocol.Ack:
		if !allowed(p.cfg.NextQueues, v.Next) {
			p.refuse(s, "next-queue", fmt.Sprintf("the child asked for queue %q, which is not in next_queues", v.Next))
			return bad
		}
		s.Action, s.Data, s.Next, s.Depends = queue.Complete, v.Data, v.Next, v.Depends
		if v.Delay != nil && v.Next != "" {
			s.Delay = *v.Delay
		}
		s.Puts = p.puts(s, e.Puts)
		return good
	case protocol.Retry:
		p.retry(s, failures)
		s.Data = v.Data
		if v.Delay != nil {
			s.Delay = *v.Delay
		}
	case protocol.Fail:
		s.Action, s.Data = queue.Fail, v.Data
	case protocol.Release, protocol.Unknown:
		release(s, queue.CountRelease, releaseDelay)
		if v.Delay != nil {
			s.Delay = *v.Delay
		}
	}
	return bad
}

// exited settles by what the exit code means.
func (p *pool) exited(s *queue.Settlement, e *runner.Ending, failures int) bearing {
	switch e.Action {
	case protocol.ExitAck:
		s.Action, s.Group, s.Message = queue.Complete, "", ""
		s.Puts = p.puts(s, e.Puts)
		return good
	case protocol.ExitRetry:
		p.retry(s, failures)
	case protocol.ExitFail:
		s.Action = queue.Fail
	case protocol.ExitRelease:
		release(s, queue.CountRelease, releaseDelay)
	case protocol.ExitMisconfigured:
		release(s, queue.CountRelease, releaseDelay)
		return broken
	default:
		p.onError(s, failures)
	}
	return bad
}

// onError settles a failure about which the child said nothing itself.
func (p *pool) onError(s *queue.Settlement, failures int) {
	if p.cfg.OnError == FailJob {
		s.Action = queue.Fail
		return
	}
	p.retry(s, failures)
}

// onCrash settles an attempt whose process died under it. The first crash of a job
// may be bad luck, so it goes back at once; later ones wait as failures do.
func (p *pool) onCrash(s *queue.Settlement, crashes int) {
	if p.cfg.OnCrash == FailJob {
		s.Action = queue.Fail
		return
	}
	release(s, queue.CountCrash, 0)
	s.Front = false
	if crashes > 0 {
		s.Delay = p.cfg.Retry.after(crashes - 1)
	}
}

func (p *pool) retry(s *queue.Settlement, failures int) {
	s.Action, s.Delay = queue.Retry, p.cfg.Retry.after(failures)
}

// release gives a job back uncounted: to the front, or after a delay.
func release(s *queue.Settlement, counter queue.Counter, delay time.Duration) {
	s.Action, s.Counter, s.Delay, s.Front = queue.Release, counter, delay, delay == 0
}

// refuse fails a job whose child asked for what it may not have.
func (p *pool) refuse(s *queue.Settlement, group, message string) {
	s.Action, s.Group, s.Message = queue.Fail, group, message
	p.count.Refused++
}

// puts turns the jobs that a child wants put into those of the queue. What it may
// not put is left out and logged.
func (p *pool) puts(s *queue.Settlement, wanted []protocol.Put) []queue.Put {
	var puts []queue.Put
	for _, w := range wanted {
		if !allowed(p.cfg.NextQueues, w.Queue) {
			p.count.Refused++
			p.log.Warn("put refused: its queue is not in next_queues", "jid", s.JID, "queue", w.Queue)
			continue
		}
		klass := w.Klass
		if klass == "" {
			klass = p.flight[s.JID].job.Klass
		}
		puts = append(puts, queue.Put{
			Queue:     w.Queue,
			JID:       w.JID,
			Klass:     klass,
			Data:      w.Data,
			Delay:     w.Delay,
			Priority:  &w.Priority,
			Retries:   w.Retries,
			Tags:      w.Tags,
			Depends:   w.Depends,
			Throttles: w.Throttles,
			Timeout:   w.Timeout,
			OnlyNew:   true,
		})
	}
	return puts
}

// allowed reports whether a child may send jobs to queue, by the names and globs of
// its pool; nil allows all, and "" is no queue.
func allowed(patterns []string, queue string) bool {
	if patterns == nil || queue == "" {
		return true
	}
	return matches(patterns, queue)
}
