package supervisor

import "oarlock/supervisor/report"

// What a supervisor says of itself has its place in package report.
type (
	Snapshot     = report.Snapshot
	PoolSnapshot = report.PoolSnapshot
	RollSnapshot = report.RollSnapshot
	GivenUp      = report.GivenUp
	SlotSnapshot = report.SlotSnapshot
	RunSnapshot  = report.RunSnapshot
	Counters     = report.Counters
	EventKind    = report.EventKind
	Event        = report.Event
	Line         = report.Line
)

// The kinds of events, see there.
const (
	ChildStarted   = report.ChildStarted
	ChildExited    = report.ChildExited
	AttemptStarted = report.AttemptStarted
	Progressed     = report.Progressed
	AttemptEnded   = report.AttemptEnded
	SetAside       = report.SetAside
	Settling       = report.Settling
	RoundTrip      = report.RoundTrip
	Settled        = report.Settled
)
