package supervisor

import (
	"context"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// starter starts children; a runner.Host does, and tests have their own.
type starter interface {
	// Start is runner.Host.StartLeased: first is nil and lease 0 unless spec says Once.
	Start(ctx context.Context, spec *runner.Spec, slot int, first *protocol.Job, lease time.Duration, to sink) (child, error)
}

// child is what a pool needs of a runner.Child.
type child interface {
	PID() int
	PGID() int
	Memory() int64
	Silence() time.Duration
	Greeted() bool // it has said hello
	Shutdown(grace time.Duration)
	Kill(cause runner.Cause)
	Give(job *protocol.Job, limits runner.RunLimits) (run, error)
}

// run is what a pool needs of a runner.Run.
type run interface {
	Withdraw() bool
	Cancel(cause runner.Cause, grace time.Duration)
	Renew(lease time.Duration)
	Drain(left time.Duration)
	Begun() bool // the child has read of it
	Wishes() []protocol.Wish
}

// sink hears what happens to one child, from goroutines of its own; see
// runner.Events. A run is named by the job that was given for it.
type sink interface {
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
