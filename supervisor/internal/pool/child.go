package pool

import (
	"context"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// Starter starts children; a runner.Host does, and tests have their own.
type Starter interface {
	// Start is runner.Host.StartLeased: first is nil and lease 0 unless spec says Once.
	Start(ctx context.Context, spec *runner.Spec, slot int, first *protocol.Job, lease time.Duration, to Sink) (Child, error)
}

// Child is what a pool needs of a runner.Child.
type Child interface {
	PID() int
	PGID() int
	Memory() int64
	Silence() time.Duration
	Greeted() bool   // it has said hello
	NamesRuns() bool // nothing it says of a run can be taken for a word on the next
	Shutdown(grace time.Duration)
	Kill(cause runner.Cause)
	Give(job *protocol.Job, limits runner.RunLimits) (Run, error)
	Batches() bool // it reads messages of several jobs
	GiveBatch(jobs []*protocol.Job, limits []runner.RunLimits) ([]Run, error)
}

// Run is what a pool needs of a runner.Run.
type Run interface {
	Withdraw() bool
	Cancel(cause runner.Cause, grace time.Duration)
	Renew(lease time.Duration)
	Drain(left time.Duration)
	Told() bool  // no other is, or was, before it at its child
	Begun() bool // the child has read of it
	Wishes() []protocol.Wish
}

// Sink hears what happens to one child, from goroutines of its own; see
// runner.Events. A run is named by the job that was given for it.
type Sink interface {
	Ready()
	Bye(reason string)
	Log(job *protocol.Job, line runner.LogLine)
	Refused(job *protocol.Job, verdict, why string)
	Progress(job *protocol.Job, p protocol.Progress)
	Checkpoint(job *protocol.Job, data []byte)
	Wished(job *protocol.Job)
	Ended(job *protocol.Job, e *runner.Ending)
	Exited(exit runner.Exit)
}
