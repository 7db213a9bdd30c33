package supervisor

import (
	"context"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
	"oarlock/supervisor/internal/pool"
)

// hostStarter starts real children.
type hostStarter struct{ host *runner.Host }

func (s hostStarter) Start(ctx context.Context, spec *runner.Spec, slot int, first *protocol.Job, lease time.Duration, to pool.Sink) (pool.Child, error) {
	c, err := s.host.StartLeased(ctx, spec, slot, first, lease, hostEvents{to})
	if err != nil {
		return nil, err
	}
	return hostChild{c}, nil
}

type hostChild struct{ *runner.Child }

func (c hostChild) Greeted() bool { return c.Hello() != nil }

func (c hostChild) Give(job *protocol.Job, limits runner.RunLimits) (pool.Run, error) {
	r, err := c.Run(job, limits)
	if err != nil {
		return nil, err // not r: a nil *Run would be a run that is not nil
	}
	return r, nil
}

func (c hostChild) GiveBatch(jobs []*protocol.Job, limits []runner.RunLimits) ([]pool.Run, error) {
	given, err := c.RunBatch(jobs, limits)
	if err != nil {
		return nil, err
	}
	runs := make([]pool.Run, len(given))
	for i, r := range given {
		runs[i] = r
	}
	return runs, nil
}

// hostEvents passes a host's events on to the sink of their child.
type hostEvents struct{ to pool.Sink }

func (e hostEvents) ChildReady(*runner.Child)                                  { e.to.Ready() }
func (e hostEvents) Bye(_ *runner.Child, reason string)                        { e.to.Bye(reason) }
func (e hostEvents) RunStopping(*runner.Child, *runner.Run, runner.Cause)      {}
func (e hostEvents) RunEnded(_ *runner.Child, r *runner.Run, n *runner.Ending) { e.to.Ended(r.Job, n) }
func (e hostEvents) ChildExited(_ *runner.Child, exit runner.Exit)             { e.to.Exited(exit) }

func (e hostEvents) Log(_ *runner.Child, r *runner.Run, line runner.LogLine) {
	e.to.Log(jobOf(r), line)
}

func (e hostEvents) Refused(_ *runner.Child, r *runner.Run, verdict, why string) {
	e.to.Refused(jobOf(r), verdict, why)
}

// jobOf returns the job of r, nil if there is no run.
func jobOf(r *runner.Run) *protocol.Job {
	if r == nil {
		return nil
	}
	return r.Job
}

func (e hostEvents) Progress(_ *runner.Child, r *runner.Run, p protocol.Progress) {
	e.to.Progress(r.Job, p)
}

func (e hostEvents) Wished(_ *runner.Child, r *runner.Run) { e.to.Wished(r.Job) }

func (e hostEvents) Checkpoint(_ *runner.Child, r *runner.Run, data []byte) {
	e.to.Checkpoint(r.Job, data)
}
