package outcome

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/internal/asked"
	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
)

// question is what a retry_command reads: one line of JSON. It is asked where neither the child nor the exit code that it chose decides
// what becomes of a job whose attempt failed, and the rules of the pool and the class would.
type question struct {
	Tag    string      `json:"@"` // ask
	About  string      `json:"about"`
	Job    askedJob    `json:"job"`
	Ending askedEnding `json:"ending"`
	Do     string      `json:"do"`    // what becomes of the job unless it says otherwise: DoRetry or DoFail
	Delay  float64     `json:"delay"` // seconds until the next attempt, unless it says otherwise
}

type askedJob struct {
	JID        string          `json:"jid"`
	Klass      string          `json:"klass"`
	Queue      string          `json:"queue"`
	Data       json.RawMessage `json:"data"`
	Tags       []string        `json:"tags"`
	Priority   float64         `json:"priority"`
	Attempt    int             `json:"attempt"` // the one that failed, from 1
	Retries    int             `json:"retries"`
	Remaining  int             `json:"remaining"`
	Crashes    int             `json:"crashes"` // before this one
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"`
}

type askedEnding struct {
	Kind    string `json:"kind"` // of a runner.EndingKind, or park-timeout
	Group   string `json:"group"`
	Message string `json:"message"`
	Exit    *int   `json:"exit,omitempty"`
	Signal  string `json:"signal,omitempty"` // "SIGSEGV"
}

// What a command may say of a job.
const (
	DoRetry   = "retry"   // as the rules do: at the cost of a retry, or of a crash; where none is left the job fails
	DoFail    = "fail"    // it fails for good
	DoAck     = "ack"     // it is complete
	DoRelease = "release" // it is given back, and that counts for nothing
)

// Question is what a command is asked about a job, as its child was told of it; taken is as it came from Redis, e how its attempt
// ended, nil if it had none, and s what the rules say.
func Question(job *protocol.Job, taken *queue.Taken, e *runner.Ending, s *queue.Settlement) []byte {
	data := job.Data
	if s.Data != nil {
		data = s.Data
	}
	q := question{Tag: "ask", About: "retry", Do: DoRetry, Delay: s.Delay.Seconds(), Job: askedJob{
		JID: job.JID, Klass: job.Klass, Queue: job.Queue, Data: asked.JSON(data), Tags: append([]string{}, job.Tags...), Priority: job.Priority,
		Attempt: job.Attempt, Retries: taken.Retries, Remaining: taken.Remaining, Crashes: taken.Crashes,
	}}
	if s.Checkpoint != nil {
		q.Job.Checkpoint = asked.JSON(s.Checkpoint)
	} else if taken.Checkpoint != nil {
		q.Job.Checkpoint = asked.JSON(taken.Checkpoint)
	}
	if s.Fails(taken) {
		q.Do, q.Delay = DoFail, 0
	}
	q.Ending = askedEnding{Kind: "park-timeout", Group: s.Group, Message: s.Message}
	if e != nil {
		q.Ending.Kind = e.Kind.String()
		switch {
		case e.Signal != 0:
			q.Ending.Signal = unix.SignalName(e.Signal)
		case e.ExitCode >= 0 && e.Kind == runner.Exited:
			q.Ending.Exit = &e.ExitCode
		}
	}
	text, _ := json.Marshal(q) // strings, numbers and what is valid: nothing can fail
	return append(text, '\n')
}

// answer is what a command prints; see asked.Answer.
type answer struct {
	Do      string          `json:"do"`
	Delay   *float64        `json:"delay"` // seconds; nil: as it was asked
	Data    json.RawMessage `json:"data"`  // nil: as it is
	Group   *string         `json:"group"`
	Message *string         `json:"message"`
}

// longestAnswered is the longest delay that a command may name, in seconds: ten years.
const longestAnswered = 10 * 365 * 24 * 3600

// Answered makes of the outcome what a command printed about it. Where it repeats what it was asked, the rules decide, and the ending
// counts as it would without the command. The error is a sentence; then nothing has changed.
func (o *Outcome) Answered(printed []byte, job *queue.Taken) error {
	a, err := readAnswer(printed)
	if err != nil {
		return err
	}
	s := &o.Settlement
	rules := DoRetry
	if s.Fails(job) {
		rules = DoFail
	}
	if a.Do == rules && a.Delay == nil && a.Data == nil && a.Group == nil && a.Message == nil {
		return nil // it leaves the job to the rules
	}
	o.Bearing = Neutral
	delay := s.Delay
	if a.Delay != nil {
		delay = time.Duration(*a.Delay * float64(time.Second))
	}
	switch a.Do {
	case DoRetry:
		if s.Counter != queue.CountCrash || a.Data != nil { // else it counts as a crash
			s.Action, s.Counter, s.Front = queue.Retry, queue.CountNothing, false
		}
		s.Delay = delay
	case DoFail:
		s.Action, s.Counter, s.Delay, s.Front = queue.Fail, queue.CountNothing, 0, false
	case DoAck:
		o.Bearing = Good
		s.Action, s.Counter, s.Delay, s.Front = queue.Complete, queue.CountNothing, 0, false
		s.Group, s.Message, s.Checkpoint, s.Record, s.Unstarted = "", "", nil, nil, nil
	case DoRelease:
		Release(s, queue.CountNothing, max(delay, releaseLeast))
	}
	if a.Data != nil {
		s.Data = o.ownData(job, a.Data)
	}
	if a.Do != DoAck {
		if a.Group != nil {
			s.Group = protocol.GroupOf(*a.Group)
		}
		if a.Message != nil {
			s.Message = Fit(*a.Message, recordTail)
		}
	}
	return nil
}

// readAnswer reads what a command printed.
func readAnswer(printed []byte) (a answer, err error) {
	if err := asked.Answer(printed, "do, delay, data, group and message", &a); err != nil {
		return a, err
	}
	if string(a.Data) == "null" {
		a.Data = nil
	}
	switch {
	case !slices.Contains([]string{DoRetry, DoFail, DoAck, DoRelease}, a.Do):
		return a, fmt.Errorf("its answer says do %s; that may be %s, %s, %s or %s", asked.Excerpt(a.Do), DoRetry, DoFail, DoAck, DoRelease)
	case a.Delay != nil && (!(*a.Delay >= 0) || math.IsInf(*a.Delay, 0) || *a.Delay > longestAnswered):
		return a, fmt.Errorf("delay is %v; it goes from 0 to %d seconds", *a.Delay, longestAnswered)
	case a.Data != nil && a.Do == DoRelease:
		return a, errors.New("it says release with data; what is released keeps its data: say retry")
	}
	return a, nil
}

// open reports whether nobody has decided what becomes of the job but the rules of its pool and class: its child said neither that
// it fails nor when it is to run again, and nothing else keeps it from running again than what failures cost.
func open(e *runner.Ending, s *queue.Settlement) bool {
	switch {
	case s.Action == queue.Retry:
		return e.Kind != runner.Said || e.Verdict.Delay == nil
	case s.Counter == queue.CountSpared: // else it would have been a retry, or have failed
		return e.Kind != runner.Said || e.Verdict.Kind == protocol.Retry && e.Verdict.Delay == nil
	case s.Counter == queue.CountCrash:
		return true
	case s.Action != queue.Fail:
		return false
	}
	switch e.Kind {
	case runner.Exited:
		return e.Action == protocol.ExitOnError || e.Action == protocol.ExitMisconfigured
	case runner.TimedOut, runner.CouldNotStart, runner.Died, runner.BrokeProtocol:
		return true
	}
	return false
}
