package supervisor

import (
	"log/slog"
	"time"

	"oarlock/supervisor/internal/pool"
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
	// it happened in, or, of what concerns no pool, from others; several may call it at once. It must not block.
	OnEvent func(Event)
	// Clock returns the time since some fixed moment and runs on while the machine
	// sleeps; nil means CLOCK_BOOTTIME, by which the guards of real children end leases.
	// Tests with children of their own bring their own.
	Clock func() time.Duration
}

// DefaultPollInterval is used where Config.PollInterval is 0.
const DefaultPollInterval = time.Second

// Pool is the configuration of a set of children that run one command for some queues.
type Pool = pool.Config
