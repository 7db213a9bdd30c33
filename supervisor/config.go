package supervisor

import (
	"log/slog"
	"time"

	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/outcome"
)

// Config is everything a Supervisor is told. New and Reload take it as validated.
type Config struct {
	// Name begins the names of all workers; "" means the host's name.
	Name string
	// StateDir is where a supervisor leaves what its successor needs to know if it is
	// killed; several supervisors may share one. "" means that nothing is kept, and a
	// killed supervisor's jobs wait until their locks run out.
	StateDir string
	// DrainTimeout is how long a stop waits for running jobs before it interrupts them.
	DrainTimeout time.Duration
	// PollInterval is how often idle pools look for jobs that nobody announced; 0
	// means DefaultPollInterval.
	PollInterval time.Duration
	Pools        []Pool
	// Logger hears of what happens; nil discards it.
	Logger *slog.Logger
	// ChildLog, if not nil, hears every line that a child prints and every log line of
	// its protocol; nil sends them to Logger. It must not block.
	ChildLog func(Line)
	// OnEvent, if not nil, is told of everything countable, from the loop of the pool
	// it happened in. It must not block.
	OnEvent func(Event)
	// Clock returns the time since some fixed moment and runs on while the machine
	// sleeps; nil means CLOCK_BOOTTIME, by which the guards of real children end leases.
	// Tests with children of their own bring their own.
	Clock func() time.Duration
}

// DefaultPollInterval is used where Config.PollInterval is 0.
const DefaultPollInterval = time.Second

// Pool is a set of children that run one command for some queues.
type Pool struct {
	Name   string      // unique in its Config
	Queues []string    // names, or globs with * and ?; served in this order
	Order  queue.Order // "" means Ordered
	Child  runner.Spec // how its children are started and treated

	// Children is how many to keep. With MaxChildren > 0 it is ignored, and the pool
	// grows from MinChildren to MaxChildren as long as jobs have to wait, and shrinks
	// again when children have been idle for IdleTimeout.
	Children, MinChildren, MaxChildren int
	// Exclusive means that what a slot has is for one child at a time: the old one is gone,
	// with all that it started, before the next one is started in its place. Else it is the
	// other way around, and no slot is ever without a child.
	Exclusive bool
	// Prefetch is how many jobs are kept ready for a child of mode reuse that has one. It
	// is told of one at a time, and others have what waits when they have nothing to do.
	Prefetch int

	MaxJob  int64         // size of data in bytes above which a job fails unseen; 0 means no limit
	Timeout time.Duration // of one attempt; a job may name a shorter one. 0 means none

	outcome.Policy // what its endings mean

	// A child is replaced after so many jobs, so long a life, so much memory (bytes), so
	// long without a job; 0 means never. Jitter (0…1) spreads the limits among children.
	MaxJobs     int
	MaxAge      time.Duration
	MaxMemory   int64
	IdleTimeout time.Duration
	Jitter      float64
}

// bounds returns between how many children the pool keeps.
func (p *Pool) bounds() (least, most int) {
	if p.MaxChildren > 0 {
		return max(p.MinChildren, 0), p.MaxChildren
	}
	return p.Children, p.Children
}
