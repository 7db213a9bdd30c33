package supervisor

import (
	"context"
	"log/slog"
	"time"

	"oarlock/supervisor/internal/intake"
	"oarlock/supervisor/internal/pool"
	"oarlock/supervisor/internal/statedir"
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
	Intake       []Intake // lists whose entries become jobs, by whoever works those; none is there twice
	// Logger hears of what happens; nil discards it.
	Logger *slog.Logger
	// ChildLog, if not nil, hears every line that a child prints and every log line of
	// its protocol; nil sends them to Logger. It must not block.
	ChildLog func(Line)
	// OnEvent, if not nil, is told of everything countable, from the loop of the pool
	// it happened in, or, of what concerns no pool, from others; several may call it at once. It must not block.
	OnEvent func(Event)
	// OnDeath, if not nil, is told of each supervisor that died and left its state directory to this one, after its children
	// are ended. It may be told again of one for which it returned an error, by the next start.
	OnDeath func(context.Context, Death) error
	// Callback, if not nil, is the address at which somebody outside answers a job, for its child: see protocol.Job.Callback. It is
	// called from the loops of the pools, several at once, and must not block.
	Callback func(klass, jid string) string
	// Ask runs a retry_command for a pool: it is given input and has AskTime, and Ask returns what it printed, or a sentence
	// that says why it did not answer. Several may be asked at once; nil: nobody is.
	Ask func(ctx context.Context, pool string, command []string, input []byte) ([]byte, error)
	// Awake, if not nil, lists the pools of all supervisors of the namespace that answer just now. Pools ask it when their children
	// do not know the class of a job. It waits no longer than ctx; several may ask at once.
	Awake func(ctx context.Context) []WorkingPool
	// Clock returns the time since some fixed moment and runs on while the machine
	// sleeps; nil means CLOCK_BOOTTIME, by which the guards of real children end leases.
	// Tests with children of their own bring their own.
	Clock func() time.Duration
}

// DefaultPollInterval is used where Config.PollInterval is 0.
const DefaultPollInterval = time.Second

// Pool is the configuration of a set of children that run one command for some queues.
type Pool = pool.Config

// AutoPrefetch, as the Prefetch of a Pool, stands for as many jobs as its short jobs make worth while.
const AutoPrefetch = pool.Auto

// EachEnd is by how much a stop lasts longer, at most, for each child and each job that there is, while they still end.
const EachEnd = pool.EachEnd

// WorkingPool is a pool of some supervisor that takes jobs.
type WorkingPool = pool.Working

// AskTime is how long a retry_command has for its answer.
const AskTime = pool.AskTime

// Death is the end of another supervisor.
type Death = statedir.Death

// Intake is a list that any program may push to, whose entries become jobs of a queue, each one of them.
type Intake = intake.Source
