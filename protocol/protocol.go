// Package protocol is the line protocol between Oarlock and the child processes
// that work its jobs: which bytes go to a child, and which come back.
//
// A child reads one JSON object per line and answers with lines of its own. Those
// that are status lines (see [ParseStatus]) mean something; every other line is
// the job's log. README.md beside this file is the protocol's home, testdata holds
// cases that helpers in every language run.
//
// The package does no input or output except through the reader it is given,
// starts no goroutine and keeps no state; values may be used by one goroutine at
// a time.
package protocol

// Version is the version of the protocol that this package speaks.
const Version = 1

// Limits that both sides may rely on.
const (
	// DefaultMaxLine is the longest line, in bytes and without its line feed,
	// that is read from a child unless its pool says otherwise.
	DefaultMaxLine = 1 << 20
	// MaxCheckpoint is the largest checkpoint that is kept, in bytes.
	MaxCheckpoint = 64 << 10
	// MaxKey is the longest key of a job that a child puts, in bytes.
	MaxKey = 512

	// MaxCorrelation is the longest correlation, in bytes.
	MaxCorrelation = 1024
	// MaxPuts and MaxPutBytes bound the jobs that one run may put.
	MaxPuts     = 1000
	MaxPutBytes = 1 << 20
	// MaxBatch and MaxBatchBytes bound the jobs of one batch line, by their number and by what their data has.
	MaxBatch      = 1000
	MaxBatchBytes = 1 << 20
)

// DefaultIfExists is what a put means that does not say if_exists: a job that has the jid
// is put again if it is complete or failed, and left alone while it lives.
const DefaultIfExists = "final"

// Verbs of status lines, from a child.
const (
	VerbHello      = "hello"
	VerbAck        = "ack"
	VerbRetry      = "retry"
	VerbFail       = "fail"
	VerbRelease    = "release"
	VerbUnknown    = "unknown"
	VerbPark       = "park"
	VerbProgress   = "progress"
	VerbHeartbeat  = "heartbeat"
	VerbCheckpoint = "checkpoint"
	VerbLog        = "log"
	VerbPut        = "put"
	VerbTag        = "tag"
	VerbUntag      = "untag"
	VerbTrack      = "track"
	VerbUntrack    = "untrack"
	VerbPriority   = "priority"
	VerbNote       = "note"
	VerbCancel     = "cancel"
	VerbRequeue    = "requeue"
	VerbBye        = "bye"

	// VerbEcho is what ParseStatus says of a line by AppendCancel; it stands in no line.
	VerbEcho = "echo of cancel"
)

// Known tells whether verb is one that a status line may have.
func Known(verb string) bool {
	switch verb {
	case VerbHello, VerbProgress, VerbHeartbeat, VerbCheckpoint, VerbLog, VerbPut, VerbBye,
		VerbTag, VerbUntag, VerbTrack, VerbUntrack, VerbPriority, VerbNote:
		return true
	}
	return IsVerdict(verb)
}

// IsVerdict tells whether verb ends a run; a cancel or requeue does if it is about the
// run's own job.
func IsVerdict(verb string) bool {
	switch verb {
	case VerbAck, VerbRetry, VerbFail, VerbRelease, VerbUnknown, VerbPark, VerbCancel, VerbRequeue:
		return true
	}
	return false
}

// Capabilities that a child may name in its hello.
const (
	CapCancel   = "cancel"   // reads cancel lines while it works
	CapShutdown = "shutdown" // reads shutdown lines
	CapDraining = "draining" // reads draining lines while it works
	CapBatch    = "batch"    // reads batch lines: several jobs in one message
)

// Reasons of a cancel line.
const (
	ReasonCanceled = "canceled"  // somebody canceled the job
	ReasonLockLost = "lock_lost" // the job is no longer ours
	ReasonTimeout  = "timeout"   // the run takes too long
	ReasonShutdown = "shutdown"  // the supervisor leaves or changes
)
