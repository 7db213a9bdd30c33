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
	AttemptStarted EventKind = "attempt-started" // Job, Slot, PID, Waited: the child was told of it; once more, without Waited, if another child was instead
	Progressed     EventKind = "progress"        // Job, Slot, PID, Progress
	AttemptEnded   EventKind = "attempt-ended"   // Job, Slot, PID, Ending, Action, Fails, Redo, Group, Message; of one that parks once Redis has it so
	SetAside       EventKind = "set-aside"       // Job, Action, Group, Message; instead of AttemptEnded, of a job that no child can be given, or is to
	Settling       EventKind = "settling"        // Settles, Takes (asked for); before the call is sent
	RoundTrip      EventKind = "round-trip"      // Settles, Takes (got), Took, Gate; after it was answered
	Settled        EventKind = "settled"         // Job, Ending, Action, State, Puts, Part
	Renewed        EventKind = "renewed"         // Locks (renewed), Margin, Took; of a call that failed Locks is 0 and Reason says why
	Parked         EventKind = "parked"          // Job, Name (the correlation), Took (how long it waits at most), Reason (answered: its answer was there already); Redis has it so
	ParkTimedOut   EventKind = "park-timed-out"  // Job, Name (the correlation), State, Group, Message; it has waited for its answer in vain, and Redis has what becomes of it
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
	Tended         EventKind = "tended"          // Tended, Message; likewise: turns of keys, and places of throttles, that nobody had who lives went on
	AnswersRead    EventKind = "answers-read"    // Count (that were taken), Broken (set aside); likewise: answers that were pushed to a list of Redis
	TurnsEnded     EventKind = "turns-ended"     // Queue, JID, Klass, Name (a key), Count; of whoever sums up Settled: jobs that had the turn of a key have ended, this one last
	ThrottleFull   EventKind = "throttle-full"   // Name, Queue, Count (places that are taken), To (places); of whoever looks at the throttles of the rules
	ThrottleFree   EventKind = "throttle-free"   // Name, Queue, Count, To; likewise: some are free again
	Answered       EventKind = "answered"        // JID, Klass, Name (the correlation), Reason (what became of it); likewise: an answer to a job came over HTTP
	WindowOpened   EventKind = "window-opened"   // Name; likewise, of whoever keeps the rules
	WindowShut     EventKind = "window-shut"     // Name; likewise
	Reloaded       EventKind = "reloaded"        // Message: which pools came, changed, leave; likewise
	RulesChanged   EventKind = "rules-changed"   // From, To: how many were installed before, and so far; of whoever keeps the rules, not of a supervisor
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
	Fails    bool         // the job fails for good by that
	State    string       // where the job is now
	Redo     bool         // the job goes to another child: this attempt of it was none

	Group, Message string // of a bad ending, as Redis is told them

	Name       string // of what the event is about
	JID, Klass string // of a job that is none of ours
	Queue      string // likewise, or of what else the event is about

	Gate   []queue.GateCount // of RoundTrip: what the gate of ruled queues said; nil if nothing
	Puts   []queue.PutResult // of Settled: what became of the jobs that its child wanted put
	Part   string            // likewise: the failed job that has the oldest payload of this one, which goes on with the others
	Tended *queue.Tended

	Settles, Takes int
	Took           time.Duration
	Waited         time.Duration // from a job's put, or its last pop, to its beginning; 0 if that is not known, or was told
	Locks          int
	Count, Broken  int
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
	TraceID        string // of which its attempt is part; "" if none
	runner.LogLine        // its Text is valid during the call only
}
