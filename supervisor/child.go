package supervisor

import (
	"context"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// starter starts children; a runner.Host does, and tests have their own.
type starter interface {
	// start is runner.Host.StartLeased: first is nil and lease 0 unless spec says Once.
	start(ctx context.Context, spec *runner.Spec, slot int, first *protocol.Job, lease time.Duration, to sink) (child, error)
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
	give(job *protocol.Job, limits runner.RunLimits) (run, error)
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
	ready()
	bye(reason string)
	log(job *protocol.Job, line runner.LogLine)
	refused(job *protocol.Job, verdict, why string)
	progress(job *protocol.Job, p protocol.Progress)
	checkpoint(job *protocol.Job, data []byte)
	wished(job *protocol.Job)
	ended(job *protocol.Job, e *runner.Ending)
	exited(exit runner.Exit)
}

// hostStarter starts real children.
type hostStarter struct{ host *runner.Host }

func (s hostStarter) start(ctx context.Context, spec *runner.Spec, slot int, first *protocol.Job, lease time.Duration, to sink) (child, error) {
	c, err := s.host.StartLeased(ctx, spec, slot, first, lease, hostEvents{to})
	if err != nil {
		return nil, err
	}
	return hostChild{c}, nil
}

type hostChild struct{ *runner.Child }

func (c hostChild) Greeted() bool { return c.Hello() != nil }

func (c hostChild) give(job *protocol.Job, limits runner.RunLimits) (run, error) {
	r, err := c.Run(job, limits)
	if err != nil {
		return nil, err // not r: a nil *Run would be a run that is not nil
	}
	return r, nil
}

// hostEvents passes a host's events on to the sink of their child.
type hostEvents struct{ to sink }

func (e hostEvents) ChildReady(*runner.Child)                                  { e.to.ready() }
func (e hostEvents) Bye(_ *runner.Child, reason string)                        { e.to.bye(reason) }
func (e hostEvents) RunStopping(*runner.Child, *runner.Run, runner.Cause)      {}
func (e hostEvents) RunEnded(_ *runner.Child, r *runner.Run, n *runner.Ending) { e.to.ended(r.Job, n) }
func (e hostEvents) ChildExited(_ *runner.Child, exit runner.Exit)             { e.to.exited(exit) }

func (e hostEvents) Log(_ *runner.Child, r *runner.Run, line runner.LogLine) {
	e.to.log(jobOf(r), line)
}

func (e hostEvents) Refused(_ *runner.Child, r *runner.Run, verdict, why string) {
	e.to.refused(jobOf(r), verdict, why)
}

// jobOf returns the job of r, nil if there is no run.
func jobOf(r *runner.Run) *protocol.Job {
	if r == nil {
		return nil
	}
	return r.Job
}

func (e hostEvents) Progress(_ *runner.Child, r *runner.Run, p protocol.Progress) {
	e.to.progress(r.Job, p)
}

func (e hostEvents) Wished(_ *runner.Child, r *runner.Run) { e.to.wished(r.Job) }

func (e hostEvents) Checkpoint(_ *runner.Child, r *runner.Run, data []byte) {
	e.to.checkpoint(r.Job, data)
}
