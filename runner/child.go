package runner

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"oarlock/protocol"
)

// Errors that callers tell apart.
var (
	// ErrLeaving: the child takes no further job; give it to another.
	ErrLeaving = errors.New("the child is leaving")
	// ErrPayload: the payload is not JSON, so that no line can carry it.
	ErrPayload = errors.New("the payload is not JSON")
)

// State is where a child stands in its life.
type State uint8

// States.
const (
	Starting State = iota
	Ready
	Busy
	Draining // it finishes what it has, then leaves
	Killing  // SIGKILL was sent
	Gone
)

// HostOptions are what a host needs to know.
type HostOptions struct {
	Logger *slog.Logger // nil: slog.Default
	// PrivateRoot is the directory that holds the private directories of children;
	// it must belong to us alone. Empty: a new one below os.TempDir.
	PrivateRoot string
}

// Host owns what a process has once. See NewHost.
type Host struct{}

// NewHost makes the process fit to have children and returns their host. One
// host per process is meant; Close ends it.
func NewHost(o HostOptions) (*Host, error) { return &Host{}, nil }

// KillStrength returns how whole trees are killed where a pool does not say.
func (h *Host) KillStrength() KillStrength { return KillGroup }

// Close kills the children that are left and waits until all is gone.
func (h *Host) Close() error { return nil }

// Start starts a child for slot of a pool and returns when it runs. A child of
// mode Once is started for its job first, whose names it finds in its
// environment and which must be given to it by Run; first is nil in other modes.
// Cancelling ctx gives up a start that is under way.
//
// The error tells why the command could not be started; no event is sent then.
func (h *Host) Start(ctx context.Context, spec *Spec, slot int, first *protocol.Job, events Events) (*Child, error) {
	return nil, errors.ErrUnsupported
}

// Child is one process that works jobs. Its methods may be called by several
// goroutines, and none of them waits.
type Child struct{}

// Slot returns the slot it was started for, PID its process id, Spec its Spec.
func (c *Child) Slot() int   { return 0 }
func (c *Child) PID() int    { return 0 }
func (c *Child) PGID() int   { return 0 }
func (c *Child) Spec() *Spec { return nil }

// Ready is closed when the child can take its first job.
func (c *Child) Ready() <-chan struct{} { return nil }

// Exited is closed after Events.ChildExited; Exit then tells how it ended.
func (c *Child) Exited() <-chan struct{} { return nil }
func (c *Child) Exit() Exit              { return Exit{} }

// Hello returns what the child said of itself, nil if nothing yet.
func (c *Child) Hello() *protocol.Hello { return nil }
func (c *Child) State() State           { return Starting }

// Memory returns the memory of the child and what it started, in bytes: its
// fair share of what is shared; 0 if it cannot be told.
func (c *Child) Memory() int64 { return 0 }

// Age returns how long ago the child was started, Jobs how many runs it ended,
// LastOutput how long ago it last wrote anything.
func (c *Child) Age() time.Duration        { return 0 }
func (c *Child) Jobs() int                 { return 0 }
func (c *Child) LastOutput() time.Duration { return 0 }

// Run hands job to the child. It does not wait: where the pipe has room the line
// is written at once, else behind the scenes. Several runs may be outstanding;
// the child works them in order.
//
// A child of mode Once is given the job it was started for, once, also when it
// has ended meanwhile: the ending follows.
//
// It returns ErrLeaving if the child takes no job any more, and ErrPayload if the
// payload is not JSON; nothing was written then and no event follows. Otherwise
// Events.RunEnded follows, possibly before Run returns.
func (c *Child) Run(job *protocol.Job, limits RunLimits) (*Run, error) {
	return nil, ErrLeaving
}

// Shutdown asks the child to finish what it has and to leave, and after grace
// kills it; runs that it did not finish are interrupted. With grace 0 it is the
// same as Kill(CauseShutdown).
func (c *Child) Shutdown(grace time.Duration) {}

// Kill kills the whole tree of the child because of cause.
func (c *Child) Kill(cause Cause) {}

// Run is one job once on one child.
type Run struct {
	Job *protocol.Job
}

// Child returns the child that was given the run.
func (r *Run) Child() *Child { return nil }

// Cancel asks the run to stop because of cause (CauseCanceled, CauseLockLost,
// CauseTimeout or CauseShutdown), and kills the child if it goes on for longer
// than grace. Called again it can only shorten the time left. The ending follows
// as ever.
func (r *Run) Cancel(cause Cause, grace time.Duration) {}

// Stopping returns why the run was asked to stop, CauseNone if it was not.
func (r *Run) Stopping() Cause { return CauseNone }
