package report

import (
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
)

// EventKind says what an Event is about.
type EventKind string

const (
	ChildStarted   EventKind = "child-started"   // Slot, PID
	ChildExited    EventKind = "child-exited"    // Slot, PID, Exit
	AttemptStarted EventKind = "attempt-started" // Job, Slot, PID; once more if another child was given it instead
	Progressed     EventKind = "progress"        // Job, Slot, PID, Progress
	AttemptEnded   EventKind = "attempt-ended"   // Job, Slot, PID, Ending, Action, Redo, Group, Message
	SetAside       EventKind = "set-aside"       // Job, Action, Group, Message; instead of AttemptEnded, of a job that no child can be given
	Settling       EventKind = "settling"        // Settles, Takes (asked for); before the call is sent
	RoundTrip      EventKind = "round-trip"      // Settles, Takes (got), Took; after it was answered
	Settled        EventKind = "settled"         // Job, Ending, Action, State
)

// Event is something countable that happened in a pool. The supervisor logs what
// concerns itself; what becomes of jobs it tells by events alone. Which fields are set depends
// on Kind. What it points to must not be changed.
type Event struct {
	Kind EventKind
	Pool string

	Slot     int
	PID      int
	Job      *protocol.Job
	Progress *protocol.Progress
	Ending   *runner.Ending // nil for a job that failed without an attempt
	Exit     *runner.Exit
	Action   queue.Action // what Redis is told; "" if nothing
	State    string       // where the job is now
	Redo     bool         // the job goes to another child: this attempt of it was none

	Group, Message string // of a bad ending, as Redis is told them

	Settles, Takes int
	Took           time.Duration
}

// Line is something that a child printed or logged.
type Line struct {
	Pool           string
	Slot           int
	JID, Queue     string // of the job at work; "" if there is none
	Attempt        int
	runner.LogLine // its Text is valid during the call only
}
