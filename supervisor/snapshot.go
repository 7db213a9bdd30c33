package supervisor

import "oarlock/supervisor/report"

// What a supervisor says of itself has its place in package report.
type (
	Snapshot     = report.Snapshot
	PoolSnapshot = report.PoolSnapshot
	RollSnapshot = report.RollSnapshot
	SlotSnapshot = report.SlotSnapshot
	RunSnapshot  = report.RunSnapshot
	Counters     = report.Counters
)
