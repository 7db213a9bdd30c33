package hub

import (
	"strings"
	"time"
	"unicode/utf8"

	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// Event is something that happened here, as the supervisor's event of that kind tells it, without the job's data.
// It is fit for JSON, and changes no more.
type Event struct {
	ID   uint64               `json:"id"` // greater than that of all before, those of an earlier process included
	At   float64              `json:"at"` // seconds since the epoch, on this host's clock
	Kind supervisor.EventKind `json:"kind"`
	Pool string               `json:"pool,omitempty"`

	Slot    *int   `json:"slot,omitempty"`
	PID     int    `json:"pid,omitempty"`
	JID     string `json:"jid,omitempty"`
	Klass   string `json:"klass,omitempty"`
	Queue   string `json:"queue,omitempty"`
	Key     string `json:"key,omitempty"` // of a job: it has the turn of that in its queue
	Attempt int    `json:"attempt,omitempty"`
	Run     string `json:"run,omitempty"`

	// Of which trace an attempt is part, as W3C trace context has it: hexadecimal digits.
	TraceID    string `json:"trace_id,omitempty"`
	SpanID     string `json:"span_id,omitempty"`
	ProducerID string `json:"producer_span_id,omitempty"` // of the span that put the job; "" if the attempt began the trace
	Sampled    bool   `json:"sampled,omitempty"`          // somebody wants to see it

	Outcome  string   `json:"outcome,omitempty"`  // of an attempt that ended: one of the outcomes below
	Ending   string   `json:"ending,omitempty"`   // runner.EndingKind in words
	Waited   float64  `json:"waited,omitempty"`   // seconds until it began
	Duration float64  `json:"duration,omitempty"` // seconds that it, or what the event tells of, took
	Percent  *float64 `json:"percent,omitempty"`
	Progress string   `json:"progress,omitempty"`
	Group    string   `json:"group,omitempty"`
	Message  string   `json:"message,omitempty"` // a few lines at most
	From     int      `json:"from,omitempty"`
	To       int      `json:"to,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	Name     string   `json:"name,omitempty"` // of a window, a throttle or a value of one, a correlation, a key
	Count    int      `json:"count,omitempty"`
	Broken   int      `json:"broken,omitempty"`
	State    string   `json:"state,omitempty"` // of a job, after the event

	kept time.Duration // when, since the hub began; At follows steps of the wall clock
}

// What became of an attempt.
const (
	Done     = "done"
	Retried  = "retried"
	Failed   = "failed"
	Released = "released" // given back, uncounted
	Requeued = "requeued" // put again, by its child's word
	Parked   = "parked"   // waits for an answer
	Canceled = "canceled"
	Lost     = "lost"      // the job was not ours any more
	HandedOn = "handed-on" // its child could not begin it: another has it
)

// OutcomeOf is what became of the attempt that e tells of the end of; "" if it tells of something else.
func OutcomeOf(e *supervisor.Event) string {
	if e.Kind != supervisor.AttemptEnded && e.Kind != supervisor.SetAside || e.Job == nil {
		return ""
	}
	if e.Fails {
		return Failed // as Redis will have it, whatever the action is
	}
	switch e.Action {
	case queue.Complete:
		return Done
	case queue.Retry:
		return Retried
	case queue.Fail:
		return Failed
	case queue.Release:
		return Released
	case queue.Requeue:
		return Requeued
	case queue.Park:
		return Parked
	case queue.Cancel:
		return Canceled
	}
	switch {
	case e.Redo:
		return HandedOn
	case e.Ending != nil && e.Ending.Kind == runner.Canceled:
		return Canceled
	}
	return Lost
}

// mostText is how many bytes of a text are kept that others wrote.
const mostText = 512

// keep returns a text to be kept: a long one cut, in memory of its own, so that it holds on to nothing larger.
func keep(text string) string {
	if len(text) <= mostText {
		return text
	}
	end := mostText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.Clone(text[:end]) + "…"
}

// slots are the numbers of slots, to point to.
var slots = func() (numbers [256]int) {
	for n := range numbers {
		numbers[n] = n
	}
	return numbers
}()

// slotOf is a slot's number to point to; nil of none.
func slotOf(n int) *int {
	switch {
	case n < 0:
		return nil
	case n < len(slots):
		return &slots[n]
	}
	far := n // memory of its own, which the others do not need
	return &far
}

// set makes of e what is told of a supervisor's event.
func (e *Event) set(of *supervisor.Event, id uint64, now time.Time) {
	*e = Event{
		ID: id, At: float64(now.UnixMilli()) / 1e3, Kind: of.Kind, Pool: of.Pool, PID: of.PID,
		Outcome: OutcomeOf(of), Waited: of.Waited.Seconds(), Duration: of.Took.Seconds(),
		Group: keep(of.Group), Message: keep(of.Message), From: of.From, To: of.To, Reason: of.Reason,
		Name: keep(of.Name), JID: keep(of.JID), Klass: keep(of.Klass), Queue: keep(of.Queue), Count: of.Count, Broken: of.Broken, State: of.State,
	}
	if j := of.Job; j != nil {
		e.JID, e.Klass, e.Queue, e.Attempt, e.Run = keep(j.JID), keep(j.Klass), keep(j.Queue), j.Attempt, j.Run
		e.Key = keep(j.Key)
		if t := j.Trace; t != nil {
			e.TraceID, e.SpanID, e.ProducerID, e.Sampled = t.ID(), t.Span(), t.Producer, t.Sampled()
		}
	}
	switch of.Kind {
	case supervisor.ChildStarted, supervisor.ChildReady, supervisor.ChildExited, supervisor.AttemptStarted,
		supervisor.Progressed, supervisor.AttemptEnded, supervisor.LockLost:
		e.Slot = slotOf(of.Slot)
	}
	if of.Kind == supervisor.LockLost {
		e.Reason = of.Cause.String()
	}
	if n := of.Ending; n != nil {
		e.Ending, e.Duration = n.Kind.String(), n.Wall.Seconds()
	}
	if p := of.Progress; p != nil {
		e.Percent, e.Progress = p.Percent, keep(p.Message)
	}
	if x := of.Exit; x != nil && of.Kind == supervisor.ChildExited {
		e.Message = keep(x.Message)
	}
}
