// Package outcome says what the ending of an attempt means for its job: what Redis is told,
// and what that says about the pool. It owns the table of what counts as what, which pools,
// try and replay share; all of it is pure. It knows no pool, no child and no call to Redis.
package outcome

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/internal/clock"
)

// ReleaseDelay is how long a job that was released, by its child or because of it,
// stays away, so that nothing goes round in circles.
const ReleaseDelay = 5 * time.Second

// releaseLeast is how long it stays away at least, where its child says how long: nothing
// counts such a round, so nothing else would end one that costs a core of ours and of Redis.
const releaseLeast = 100 * time.Millisecond

// Attempt is what Decide knows of an attempt beside its ending.
type Attempt struct {
	Job queue.Taken // as it was taken
	// Checkpoint is the newest that Redis may not have; nil if none.
	Checkpoint []byte
	Lost       bool   // the lock is gone: the job is not ours
	Warned     bool   // it was asked to stop because its lease ran out
	Lapse      string // why that was not renewed in time
	Early      bool   // a child left before it could begin with it

	Now        float64       // on Redis' clock
	Where      string        // host and generation of the child
	Slowed     time.Duration // the breaker of its pool is open: a job that ends badly stays away so long at least; 0: it is closed
	Unasked    bool          // a generation of children that works the job's queue and is awake was not asked for its class
	Passed     bool          // the pool takes no jobs of its class for now
	OthersWell bool          // other jobs of the pool ended well since Job.Unstarted.First, before this attempt
}

// Outcome is what becomes of an attempt: it is given to another child at once, or
// dropped without a word to Redis, or settled.
type Outcome struct {
	Redo       bool
	Drop       bool
	Settlement queue.Settlement // of an attempt that is neither redone nor dropped
	Bearing    Bearing
	// Open is whether a retry_command may decide otherwise: see Policy.Ask.
	Open    bool
	Refused []string // wishes of the child that are not granted, a sentence each
}

// Recorded reports whether a record of the attempt is kept with its job: it did not go well,
// and that is for somebody to look into. Of a message of several jobs that came to grief none is kept: the
// one to blame will have its own.
func (o *Outcome) Recorded(e *runner.Ending) bool {
	switch o.Settlement.Action {
	case "", queue.Complete, queue.Cancel, queue.Requeue, queue.Park:
		return false
	}
	return o.Settlement.Counter != queue.CountBatch && (o.Bearing != NoBearing || e.Short)
}

// Bearing is what an ending says about the pool as a whole.
type Bearing uint8

const (
	NoBearing Bearing = iota // nothing: we ended it ourselves
	Good                     // a job was acknowledged
	Neutral                  // the child decided otherwise, on purpose: it works
	Bad                      // nobody decided that it should end so
)

// Decide says what an ending means for its job. It is the table of what an ending
// counts as; nothing else looks at kinds of endings for that. It changes nothing, and
// the settlement shares memory with what it was given.
func Decide(p Policy, a Attempt, e *runner.Ending) Outcome {
	o := decide(p, a, e)
	if s := &o.Settlement; o.Bearing == Bad && s.Delay < a.Slowed && (s.Action == queue.Release || s.Action == queue.Retry) {
		s.Delay, s.Front = a.Slowed, false
	}
	return o
}

// decide is Decide for a pool whose breaker slows down no job that comes back.
func decide(p Policy, a Attempt, e *runner.Ending) Outcome {
	o := Outcome{Settlement: queue.Settlement{
		JID:        a.Job.JID,
		Queue:      a.Job.Queue,
		Popped:     a.Job.Popped,
		Group:      e.Group,
		Message:    e.Message,
		MaxCrashes: p.MaxCrashes,
		Batch:      a.Job.Batch,
	}}
	s := &o.Settlement
	switch {
	case a.Lost, e.Kind == runner.Canceled:
		return Outcome{Drop: true}
	case a.Warned, e.Kind == runner.LockLost, e.Kind == runner.Interrupted, gaveUp(e):
		// Stopped for our own reasons. If the lock is ours after all, the job goes back;
		// what the child may have said meanwhile came too late.
		Release(s, queue.CountInterruption, 0)
		s.Checkpoint = a.latest(e)
		lapsed := a.Warned || e.Kind == runner.LockLost
		if lapsed {
			s.Group, s.Message = LeaseExpired, cmp.Or(a.Lapse, "its lock was not renewed in time: this process stood still")
		}
		if s.Checkpoint == nil || bytes.Equal(s.Checkpoint, a.Job.Checkpoint) {
			if s.Standstill = a.Job.Standstill; !lapsed { // for which no job is to blame
				s.Standstill++
			}
		}
		return o
	case e.Kind == runner.Innocent, Unread(e) && !a.Early:
		return Outcome{Redo: true}
	case Unread(e):
		Release(s, queue.CountNothing, ReleaseDelay)
		o.Bearing = Bad
		return o
	}
	o.Bearing = Bad
	switch {
	case oneOfMany(e):
		a.halve(s, e)
		return o
	case decidedAt(e):
		s.Batch = 0
	}
	switch e.Kind {
	case runner.Said:
		p.said(&o, &a, e)
	case runner.Exited:
		p.exited(&o, &a, e)
	case runner.TimedOut:
		p.onError(s, &a)
	case runner.CouldNotStart:
		if e.Short {
			o.Bearing = NoBearing // the host is to blame
		}
		p.unstarted(s, &a, e)
	case runner.TooLong: // as it will be the next time
		s.Action = queue.Fail
	case runner.BadArguments: // likewise, and nothing was started that it could tell of
		s.Action, o.Bearing = queue.Fail, NoBearing
	default: // Died, BrokeProtocol
		p.onCrash(s, &a.Job)
	}
	if s.Action != queue.Complete && s.Action != queue.Cancel && s.Checkpoint == nil { // an ack clears what is kept
		s.Checkpoint = a.latest(e)
	}
	o.Open = open(e, s)
	return o
}

// LeaseExpired is the group of a job that was given back because its lock was not renewed in time. The message says why.
const LeaseExpired = "lease-expired"

// Unread reports whether a child is gone, or was ended, before it had read any of the job.
func Unread(e *runner.Ending) bool {
	return e.Kind == runner.LeftEarly || e.Kind == runner.BrokeProtocol && !e.Began
}

// Standstill is after how many interruptions without a new checkpoint a job is said to
// come to no end.
const Standstill = 5

// Unstarted reports whether an ending says that the command cannot be run.
func Unstarted(e *runner.Ending) bool {
	return e.Kind == runner.CouldNotStart || e.Kind == runner.Exited && e.Action == protocol.ExitMisconfigured
}

// Worked reports whether a child that ended a run so is fit for others: the job, not
// the child, was at fault if anything.
func Worked(e *runner.Ending) bool {
	switch e.Kind {
	case runner.CouldNotStart, runner.BadArguments, runner.BrokeProtocol, runner.LeftEarly, runner.Innocent:
		return false
	}
	return !Unstarted(e)
}

// Manner is how an attempt ended, in a few words for all that ended alike.
func Manner(e *runner.Ending) string {
	switch {
	case e.Kind == runner.Said && !e.Verdict.Raised:
		return e.Verdict.Kind.String()
	case e.Kind == runner.Exited:
		return fmt.Sprintf("exit %d", e.ExitCode)
	case e.Kind == runner.CouldNotStart:
		return "a start that failed"
	case e.Group != "":
		return strings.Replace(e.Group, "signal-", "signal ", 1)
	}
	return e.Kind.String()
}

// gaveUp reports whether a child gave its job back because we told it to leave, or to
// come to an end. That it does so politely must not cost the job more, or longer, than if
// it had to be killed.
func gaveUp(e *runner.Ending) bool {
	switch {
	case e.Kind == runner.Exited:
		return e.Drained && e.Action == protocol.ExitRelease
	case e.Kind != runner.Said:
		return false
	case e.SentByUs == runner.CauseShutdown:
		return e.Verdict.Kind == protocol.Release || e.Verdict.Kind == protocol.Retry
	}
	return e.Drained && e.Verdict.Kind == protocol.Release && e.Verdict.Delay == nil
}

// latest is the newest checkpoint of the attempt that Redis may not have; nil if none.
func (a *Attempt) latest(e *runner.Ending) []byte {
	if e.Checkpoint != nil {
		return e.Checkpoint
	}
	return a.Checkpoint
}

// decided reports whether a verdict is what the child wanted by itself: an exception is none, nor is
// what it said when it was stopped for its time. That it stops by itself must not tell more for the
// pool, or cost its job more, than if it had to be killed.
func decided(e *runner.Ending) bool {
	return !e.Verdict.Raised && e.SentByUs != runner.CauseTimeout && e.SentByUs != runner.CauseStall
}

// said settles as the child asked for, unless it did not decide.
func (p *Policy) said(o *Outcome, a *Attempt, e *runner.Ending) {
	v, s := e.Verdict, &o.Settlement
	s.Group, s.Message = v.Group, v.Message
	if decided(e) {
		o.Bearing = Neutral
	}
	switch v.Kind {
	case protocol.Ack:
		if !allowed(p.NextQueues, v.Next) {
			o.refuse("next-queue", fmt.Sprintf("the child asked for queue %q, which is not in next_queues", v.Next))
			return
		}
		s.Data, s.Next, s.Depends = v.Data, v.Next, v.Depends
		if v.Delay != nil && v.Next != "" {
			s.Delay = *v.Delay
		}
		p.acked(o, &a.Job, e)
	case protocol.Retry:
		if !decided(e) && p.spared(s, a) {
			return
		}
		p.retry(s, &a.Job)
		s.Data, s.DropAnswer = o.ownData(&a.Job, v.Data), v.DropResponse
		if v.Delay != nil {
			s.Delay = *v.Delay
		}
	case protocol.Fail:
		if !decided(e) && p.spared(s, a) {
			return
		}
		s.Action, s.Data = queue.Fail, o.ownData(&a.Job, v.Data)
	case protocol.Release:
		Release(s, queue.CountNothing, ReleaseDelay)
		if v.Delay != nil {
			s.Delay = max(*v.Delay, releaseLeast)
		}
	case protocol.Unknown:
		p.unknown(s, a, cmp.Or(v.Klass, a.Job.Klass))
	case protocol.Park:
		p.park(o, a, v)
	case protocol.Cancel:
		s.Action = queue.Cancel
	case protocol.Requeue:
		if v.Next != a.Job.Queue && !allowed(p.NextQueues, v.Next) {
			o.refuse("next-queue", fmt.Sprintf("the child asked for queue %q, which is not in next_queues", v.Next))
			return
		}
		s.Action, s.Next, s.Delay = queue.Requeue, v.Next, *v.Delay
	}
}

// exited settles by what the exit code means.
func (p *Policy) exited(o *Outcome, a *Attempt, e *runner.Ending) {
	s := &o.Settlement
	o.Bearing = Neutral
	switch e.Action {
	case protocol.ExitAck:
		s.Group, s.Message = "", ""
		p.acked(o, &a.Job, e)
	case protocol.ExitRetry:
		p.retry(s, &a.Job)
	case protocol.ExitFail:
		s.Action = queue.Fail
	case protocol.ExitRelease:
		Release(s, queue.CountNothing, ReleaseDelay)
	case protocol.ExitUnknown:
		p.unknown(s, a, a.Job.Klass)
	case protocol.ExitMisconfigured:
		o.Bearing = Bad
		p.unstarted(s, a, e)
	default:
		o.Bearing = Bad
		p.onError(s, a)
	}
}

// acked completes the job, and puts what the child wants put. A job that may not be put
// fails the one that wants it: acknowledged, it would never be put.
func (p *Policy) acked(o *Outcome, job *queue.Taken, e *runner.Ending) {
	for _, wanted := range e.Puts {
		if !allowed(p.NextQueues, wanted.Queue) {
			o.refuse("next-queue", fmt.Sprintf("the child put a job into queue %q, which is not in next_queues", wanted.Queue))
			return
		}
		o.Settlement.Puts = append(o.Settlement.Puts, putOf(wanted, job.Klass))
	}
	o.Settlement.Action, o.Bearing = queue.Complete, Good
}

// onError settles a failure about which the child said nothing itself.
func (p *Policy) onError(s *queue.Settlement, a *Attempt) {
	switch {
	case p.OnError == FailJob:
		s.Action = queue.Fail
	case !p.spared(s, a):
		p.retry(s, &a.Job)
	}
}

// unstarted settles an attempt whose command could not be run. The job is never to blame if the pool's own program
// could not be started: that is the same for all jobs. If the program ran and said so by its exit code, as a shell does of what a
// job has it call, the job is not to blame as long as nothing else of the pool ends well either.
func (p *Policy) unstarted(s *queue.Settlement, a *Attempt, e *runner.Ending) {
	stands, short := a.Job.Unstarted, e.Short
	if stands.Count > 0 && a.OthersWell && e.Kind == runner.Exited {
		s.Unstarted = &stands // and is so the next time, too
		p.onError(s, a)
		return
	}
	delay := ownDelay(stands.Count)
	if short {
		delay = min(delay, shortageDelay) // others give back what there is too little of
	}
	Release(s, queue.CountNothing, delay)
	s.Unstarted = stands.Met(a.Now, "")
}

// shortageDelay is how long a job waits at most for which the host had not what its start takes.
const shortageDelay = 4 * time.Second

// sparings is how often a job is spared the cost of a bad ending in its life.
const sparings = 5

// spared gives a job back whose pool is likely to be to blame for its ending, at the cost
// of nothing but a delay. It reports whether it did.
func (p *Policy) spared(s *queue.Settlement, a *Attempt) bool {
	if a.Slowed == 0 || a.Job.Spared >= sparings || a.Job.Retries <= 0 || p.OnError == FailJob || p.OnCrash == FailJob {
		return false
	}
	Release(s, queue.CountSpared, ownDelay(a.Job.Spared))
	return true
}

// ownDelay is how long a job waits that was not to blame for how it ended, and not for the
// n times before: from a second to five minutes.
func ownDelay(n int) time.Duration {
	return min(time.Second<<(2*min(max(n, 0), 5)), 5*time.Minute)
}

// unknown releases a job whose class the child does not know, or fails it when no program has known it for too long. As long as a
// program that is awake was not asked, the job waits for that one: in front of its queue if this pool passes it over.
func (p *Policy) unknown(s *queue.Settlement, a *Attempt, klass string) {
	stands, limit := a.Job.Unknown.Met(a.Now, a.Where), p.UnknownFor.Seconds()
	if a.Unasked {
		limit *= unaskedShare
	}
	if waited := a.Now - stands.First; waited >= limit {
		s.Action, s.Group = queue.Fail, UnknownClass
		s.Message = fmt.Sprintf("no program knew %s for %v, asked %d times, last of %s", klass,
			time.Duration(waited*float64(time.Second)).Round(time.Second), stands.Count, strings.Join(stands.Names[max(len(stands.Names)-8, 0):], ", "))
		return
	}
	delay := min(time.Second<<min(stands.Count-1, 10), unknownLimit)
	switch {
	case a.Unasked && a.Passed:
		delay = 0
	case a.Unasked:
		delay = unaskedDelay
	}
	Release(s, queue.CountNothing, time.Duration(clock.Spread(float64(delay), 0.5)))
	s.Unknown = stands
}

// UnknownClass is the group of a job that failed because no program knew its class.
const UnknownClass = "unknown-klass"

const (
	// unknownLimit is the longest wait until a job that was not known is offered again, give or take a quarter.
	unknownLimit = 30 * time.Second
	// unaskedDelay is that wait while children of the same pool were not asked.
	unaskedDelay = 250 * time.Millisecond
	// unaskedShare is how many times UnknownFor a job waits for a program that was not asked.
	unaskedShare = 4
)

// Unknown reports whether a child said that it does not know the class of its job.
func Unknown(e *runner.Ending) bool {
	return e.Kind == runner.Said && e.Verdict.Kind == protocol.Unknown || e.Kind == runner.Exited && e.Action == protocol.ExitUnknown
}

// onCrash settles an attempt whose process died under it. The first crash of a job
// may be bad luck, so it goes back at once; later ones wait as failures do.
func (p *Policy) onCrash(s *queue.Settlement, job *queue.Taken) {
	if p.OnCrash == FailJob {
		s.Action = queue.Fail
		return
	}
	Release(s, queue.CountCrash, 0)
	s.Front = false
	if job.Crashes > 0 {
		s.Delay = p.RetryOf(job.Klass).after(job.Crashes - 1)
	}
}

func (p *Policy) retry(s *queue.Settlement, job *queue.Taken) {
	s.Action, s.Delay = queue.Retry, p.RetryOf(job.Klass).after(job.Retries-job.Remaining)
}

// Release makes of s that a job is given back and counts as counter says, if as anything: to the
// front of its queue, or after a delay.
func Release(s *queue.Settlement, counter queue.Counter, delay time.Duration) {
	s.Action, s.Counter, s.Delay, s.Front = queue.Release, counter, delay, delay == 0
}

// refuse fails a job whose child asked for what it may not have.
func (o *Outcome) refuse(group, message string) {
	s := &o.Settlement
	s.Action, s.Group, s.Message = queue.Fail, group, message
	s.Data, s.Next, s.Depends, s.Delay, s.Puts = nil, "", nil, 0, nil
	o.Refused = append(o.Refused, message)
}

// ownData is what a child wants to be its job's data from here on; nil where that is a list of payloads, to which only puts add.
func (o *Outcome) ownData(job *queue.Taken, data []byte) []byte {
	if data == nil || !job.Merge.Lists() {
		return data
	}
	o.Refused = append(o.Refused, "the child sent data for a job whose payloads merge: put what is left with its key, and ack")
	return nil
}

// putOf turns a job that a child wants put into one of the queue's; klass is that of
// the job which puts it.
func putOf(w protocol.Put, klass string) queue.Put {
	if w.Klass != "" {
		klass = w.Klass
	}
	return queue.Put{
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
		Wants:     queue.Wants{Weight: w.Weight, Bypass: w.Bypass, Windows: w.Windows, Zone: w.Zone},
		Key:       w.Key,
		Merge:     queue.Merge(w.Merge),
		Score:     w.Score,
		Timeout:   w.Timeout,
		IfExists:  queue.IfExists(cmp.Or(w.IfExists, protocol.DefaultIfExists)),
	}
}

// allowed reports whether a child may send jobs to the queue name, by the names and globs
// of its pool; "" is no queue.
func allowed(patterns []string, name string) bool {
	return name == "" || queue.MatchAny(patterns, name)
}
