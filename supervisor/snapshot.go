package supervisor

import "oarlock/supervisor/report"

// What a supervisor says of itself has its place in package report.
type (
	Snapshot       = report.Snapshot
	PoolSnapshot   = report.PoolSnapshot
	IntakeSnapshot = report.IntakeSnapshot
	ListSnapshot   = report.ListSnapshot
	RollSnapshot   = report.RollSnapshot
	GivenUp        = report.GivenUp
	EndedRoll      = report.EndedRoll
	SlotSnapshot   = report.SlotSnapshot
	RunSnapshot    = report.RunSnapshot
	Counters       = report.Counters
	EventKind      = report.EventKind
	Event          = report.Event
	Line           = report.Line
)

// RedisMeans says what cannot be done while Redis is as the first word of Snapshot.RedisTrouble has it.
func RedisMeans(what string) string { return report.RedisMeans(what) }

// StuckWords says what it means that the loop of a pool does not answer; see Snapshot.Stuck.
func StuckWords(pool string) string { return report.StuckWords(pool) }

// The kinds of events, see there.
const (
	ChildStarted   = report.ChildStarted
	ChildReady     = report.ChildReady
	ChildExited    = report.ChildExited
	AttemptStarted = report.AttemptStarted
	Progressed     = report.Progressed
	AttemptEnded   = report.AttemptEnded
	SetAside       = report.SetAside
	Settling       = report.Settling
	RoundTrip      = report.RoundTrip
	Settled        = report.Settled
	Renewed        = report.Renewed
	Parked         = report.Parked
	ParkTimedOut   = report.ParkTimedOut
	LockLost       = report.LockLost
	BreakerOpened  = report.BreakerOpened
	BreakerClosed  = report.BreakerClosed
	RollBegan      = report.RollBegan
	RollEnded      = report.RollEnded
	Scaled         = report.Scaled
	PoolBegan      = report.PoolBegan
	PoolEnded      = report.PoolEnded
	RedisAway      = report.RedisAway
	RedisBack      = report.RedisBack
	Tended         = report.Tended
	AnswersRead    = report.AnswersRead
	TurnsEnded     = report.TurnsEnded
	ThrottleFull   = report.ThrottleFull
	ThrottleFree   = report.ThrottleFree
	Answered       = report.Answered
	WindowOpened   = report.WindowOpened
	WindowShut     = report.WindowShut
	Reloaded       = report.Reloaded
	RulesChanged   = report.RulesChanged
)

// Why a child left, how a roll ended, why a pool has another number of children; see there.
const (
	LeftJobDone   = report.LeftJobDone
	LeftMaxJobs   = report.LeftMaxJobs
	LeftMaxAge    = report.LeftMaxAge
	LeftMaxMemory = report.LeftMaxMemory
	LeftIdle      = report.LeftIdle
	LeftRoll      = report.LeftRoll
	LeftShrink    = report.LeftShrink
	LeftCrash     = report.LeftCrash
	LeftOOM       = report.LeftOOM
	LeftStart     = report.LeftStart
	LeftProtocol  = report.LeftProtocol
	LeftStop      = report.LeftStop

	RollDone      = report.RollDone
	RollGivenUp   = report.RollGivenUp
	RollOvertaken = report.RollOvertaken
	RollAbandoned = report.RollAbandoned

	ScaledUp     = report.ScaledUp
	ScaledDown   = report.ScaledDown
	ScaledAsked  = report.ScaledAsked
	ScaledReload = report.ScaledReload
)
