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
	ChildReady     EventKind = "child-ready"     // Slot, PID, Took (since its start began); not in mode once, whose children come with their jobs
	ChildExited    EventKind = "child-exited"    // Slot, PID, Exit, Reason (one of the Left…)
	AttemptStarted EventKind = "attempt-started" // Job, Slot, PID, Waited; once more if another child was given it instead
	Progressed     EventKind = "progress"        // Job, Slot, PID, Progress
	AttemptEnded   EventKind = "attempt-ended"   // Job, Slot, PID, Ending, Action, Redo, Group, Message
	SetAside       EventKind = "set-aside"       // Job, Action, Group, Message; instead of AttemptEnded, of a job that no child can be given, or is to
	Settling       EventKind = "settling"        // Settles, Takes (asked for); before the call is sent
	RoundTrip      EventKind = "round-trip"      // Settles, Takes (got), Took; after it was answered
	Settled        EventKind = "settled"         // Job, Ending, Action, State
	Renewed        EventKind = "renewed"         // Locks (renewed), Margin, Took; of a call that failed Locks is 0 and Reason says why
	LockLost       EventKind = "lock-lost"       // Job, Slot, PID, Cause: the lock of a job is gone
	BreakerOpened  EventKind = "breaker-opened"  // Message: why
	BreakerClosed  EventKind = "breaker-closed"  // Job: that ended as it should
	RollBegan      EventKind = "roll-began"      // From, To (generations)
	RollEnded      EventKind = "roll-ended"      // From, To, Reason (one of the Roll…), Message, Took
	Scaled         EventKind = "scaled"          // From, To (children), Reason (one of the Scaled…)
	PoolBegan      EventKind = "pool-began"      // before any other of that pool
	PoolEnded      EventKind = "pool-ended"      // after all others of it; another of its name may have begun before
	RedisAway      EventKind = "redis-away"      // Message: why; no Pool, and not from a pool's loop
	RedisBack      EventKind = "redis-back"      // Took: how long it was away; likewise
	Reloaded       EventKind = "reloaded"        // Message: which pools came, changed, leave; likewise
)

// Why a child left: Event.Reason of ChildExited.
const (
	LeftJobDone   = "job_done"   // it had the one job that it was for, or asked to be replaced
	LeftMaxJobs   = "max_jobs"   // it had as many as it may have
	LeftMaxAge    = "max_age"    // it was old enough
	LeftMaxMemory = "max_memory" // it needed more than it may, between jobs or in one
	LeftIdle      = "idle"       // it had nothing to do for idle_timeout
	LeftRoll      = "roll"       // another generation has its slot, or it was recycled
	LeftShrink    = "shrink"     // the pool has fewer children now
	LeftCrash     = "crash"      // it died, or left without being asked
	LeftOOM       = "oom"        // the kernel ended it for want of memory
	LeftStart     = "start"      // it did not come up
	LeftProtocol  = "protocol"   // it broke the protocol
	LeftStop      = "stop"       // the pool ends, or the job that it had was to be stopped and it went with it
)

// How a roll ended: Event.Reason of RollEnded, and EndedRoll.Result.
const (
	RollDone      = "done"      // all slots have the new generation
	RollGivenUp   = "given_up"  // at a bad sign of the new one
	RollOvertaken = "overtaken" // by the next one
	RollAbandoned = "abandoned" // somebody said so, or the pool ends
)

// Why a pool has another number of children: Event.Reason of Scaled.
const (
	ScaledUp     = "backlog" // more waits than there is room for
	ScaledDown   = "idle"    // a child had nothing to do
	ScaledAsked  = "asked"   // somebody said so
	ScaledReload = "reload"  // the configuration changed
)

// Event is something countable that happened in a pool, or to the supervisor. It logs what
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
	Waited         time.Duration // from a job's put, or its last pop, to its beginning; 0 if that is not known
	Locks          int
	Margin         time.Duration // the least that was left of one of Locks when it was renewed; negative if it had run out
	From, To       int
	Reason         string       // a word, of few
	Cause          runner.Cause // CauseCanceled: somebody took the job back; CauseLockLost: the lock is another's, or ran out
}

// Line is something that a child printed or logged.
type Line struct {
	Pool           string
	Slot           int
	JID, Queue     string // of the job at work; "" if there is none
	Attempt        int
	runner.LogLine // its Text is valid during the call only
}
