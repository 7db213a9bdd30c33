// Package config is the configuration file: its tables, their defaults, what may stand
// in them, and how it is found, read and watched.
//
// Reading is strict and complete: every unknown key, wrong type and bad value of all
// files is reported at once, each with file, line and key.
package config

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"oarlock/internal/rules"
)

// Config is a whole configuration: the file, conf.d beside it, the environment and the
// flags, in rising order of strength, over the defaults.
type Config struct {
	Redis      Redis           `toml:"redis"`
	Supervisor Supervisor      `toml:"supervisor"`
	Log        Log             `toml:"log"`
	Web        Web             `toml:"web"`
	Metrics    Metrics         `toml:"metrics"`
	Tracing    Tracing         `toml:"tracing"`
	Pools      map[string]Pool `toml:"pools"` // by name

	Hooks     Hooks                `toml:"hooks"`
	Queues    map[string]Queue     `toml:"queues"`    // by name; of those of which something is said
	Recurring map[string]Recurring `toml:"recurring"` // by name

	Rules     Rules               `toml:"rules"`
	Park      Park                `toml:"park"`
	Throttles map[string]Throttle `toml:"throttles"` // by name
	Windows   map[string]Window   `toml:"windows"`   // by name
	Klass     map[string]Klass    `toml:"klass"`     // by name or glob

	Path  string   `toml:"-"` // the file; "" if there is none
	Files []string `toml:"-"` // what was read: Path and the files of conf.d
	Sum   Sum      `toml:"-"` // of what stood in them; zero if there is none

	Found      bool     `toml:"-"` // Path was looked for, and not named
	RedisNamed bool     `toml:"-"` // redis.url was said somewhere, and is not the default
	Trusted    bool     `toml:"-"` // Options.Trust
	Doubts     []string `toml:"-"` // sentences about files that others may have written, used or left out
}

// Redis is the table [redis]. A change of it needs a restart.
type Redis struct {
	URL          string `toml:"url"`           // redis, rediss, unix, redis+sentinel, redis+cluster; or "embedded"
	Namespace    string `toml:"namespace"`     // what all keys begin with; on a cluster with a hash tag
	PasswordFile string `toml:"password_file"` // read at start; stronger than a password in the URL
	TLSCA        string `toml:"tls_ca"`        // file of certificates that may sign the server's
	TLSCert      string `toml:"tls_cert"`      // client certificate and key, both or none
	TLSKey       string `toml:"tls_key"`
	WaitReplicas int    `toml:"wait_replicas"` // replicas a settlement or a put waits for, for a second at most; 0 for none
}

// Metrics is the table [metrics]. A change of it needs a restart.
type Metrics struct {
	Queues  int      `toml:"queues"`  // so many have a label of their own, those with most jobs; the rest is _other
	Klasses []string `toml:"klasses"` // globs of classes of jobs that have one, the first fifty that come; the rest is _other
}

// Tracing is the table [tracing].
type Tracing struct {
	Begin float64 `toml:"begin"` // for this share of the attempts that have no trace one is begun; 0: for none
}

// Supervisor is the table [supervisor].
type Supervisor struct {
	Name         string   `toml:"name"`          // "" means the host's name
	StateDir     string   `toml:"state_dir"`     // "" means $STATE_DIRECTORY, else the XDG state directory
	DrainTimeout Duration `toml:"drain_timeout"` // how long running jobs may go on after TERM
	PollInterval Duration `toml:"poll_interval"` // how often an idle pool looks by itself
	Fleet        string   `toml:"fleet"`         // who shares this file, for [recurring]; "" means this host alone
}

// HostName is the name by which Redis knows the supervisor.
func (s Supervisor) HostName() string {
	name, _ := os.Hostname()
	return cmp.Or(s.Name, name)
}

// Log is the table [log].
type Log struct {
	Level  string `toml:"level"`  // debug, info, warn or error
	Format string `toml:"format"` // auto, text or json
	// Attempts says of which attempts there is a line: all, bad (those that did not end well) or none.
	Attempts string `toml:"attempts"`
	// Redact names what is blanked in the lines of jobs that we show: "$..NAME", the values of whatever
	// key ends in NAME. RedactText are regular expressions for the rest.
	Redact     []string `toml:"redact"`
	RedactText []string `toml:"redact_text"`
}

// Pool is one table [pools.NAME].
type Pool struct {
	Queues      []string `toml:"queues"`       // names or globs; at least one
	Order       string   `toml:"order"`        // ordered, round-robin, shuffled or oldest
	List        string   `toml:"list"`         // in place of queues: hworker:NAME, or the key of a list
	Command     []string `toml:"command"`      // argv; no shell is involved
	Args        []string `toml:"args"`         // more of argv, with placeholders
	Mode        string   `toml:"mode"`         // once, reuse or preload
	Children    int      `toml:"children"`     // processes to keep, unless min and max say otherwise
	MinChildren int      `toml:"min_children"` // with max_children: the number follows the work
	MaxChildren int      `toml:"max_children"` // 0 means children, always
	Input       string   `toml:"input"`        // job, data or none
	Status      string   `toml:"status"`       // auto, fd, lines or exit
	Strict      bool     `toml:"strict"`       // every status line must name its run
	Hello       bool     `toml:"hello"`        // children that once said hello are to go on; false: the program says none
	PTY         bool     `toml:"pty"`          // stdout is a terminal
	Replace     string   `toml:"replace"`      // before or after the old child is gone, the new one starts
	Prefetch    Prefetch `toml:"prefetch"`     // jobs kept ready for a reused child
	Batch       int      `toml:"batch"`        // jobs of one class in a message, for children that read such
	BatchWait   Duration `toml:"batch_wait"`   // how long a message waits for more jobs
	MaxLine     Size     `toml:"max_line"`
	MaxJob      Size     `toml:"max_job"`
	LogRate     int      `toml:"log_rate"`    // lines a second that are kept of a child; 0 keeps all
	KeepOutput  Size     `toml:"keep_output"` // the last bytes printed by each job that `job output` shows; 0: none
	NextQueues  []string `toml:"next_queues"` // names or globs a child may advance or put jobs to; none: nowhere
	Allow       []string `toml:"allow"`       // what a child may do to other jobs than its own; see Wishes

	Timeout      Duration `toml:"timeout"`
	KillGrace    Duration `toml:"kill_grace"`    // from SIGTERM to SIGKILL
	DrainSignal  string   `toml:"drain_signal"`  // what tells a child at work that we drain; "" tells it nothing
	StartTimeout Duration `toml:"start_timeout"` // until a child that says hello has done so
	StallTimeout Duration `toml:"stall_timeout"` // without a sign of life; 0s means never

	OnError    string            `toml:"on_error"` // retry or fail
	OnCrash    string            `toml:"on_crash"` // retry or fail
	MaxCrashes int               `toml:"max_crashes"`
	ExitCodes  map[string]string `toml:"exit_codes"` // code → ack, retry, fail, release or unknown
	UnknownFor Duration          `toml:"unknown_for"`

	MaxJobs     int      `toml:"max_jobs"` // of these, zero means: no reason to replace a child
	MaxAge      Duration `toml:"max_age"`
	MaxMemory   Size     `toml:"max_memory"`
	IdleTimeout Duration `toml:"idle_timeout"`
	Jitter      float64  `toml:"jitter"` // share by which those vary from child to child

	Socket bool `toml:"socket"` // jobs may use the control socket of their supervisor

	TracePath string `toml:"trace_path"` // where the data of a job that was put without a trace names one; "": nowhere

	Env map[string]string `toml:"env"` // added to the environment, with placeholders
	// EnvFromJob are the variables of Env that may have what a job says, beside JOB and those that begin with JOB_.
	EnvFromJob []string `toml:"env_from_job"`

	ListTimeout   Duration `toml:"list_timeout"` // after which an entry in work without a sign is abandoned
	ListHeartbeat bool     `toml:"list_heartbeat"`
	ListMonitor   bool     `toml:"list_monitor"`
	ListFailed    int      `toml:"list_failed"`  // how many that failed are kept
	ListRetries   int      `toml:"list_retries"` // 0: no limit

	RetryCommand []string `toml:"retry_command"` // decides what becomes of a job whose attempt failed; none: on_error, on_crash and retry do

	Retry   Retry   `toml:"retry"`
	Sandbox Sandbox `toml:"sandbox"`

	Classes map[string]Klass `toml:"-"` // the tables [klass], for those who are given the pool alone
	Home    string           `toml:"-"` // the directory of the file, in which commands that decide are run; likewise
}

// Hooks is the table [hooks]: which events become jobs.
type Hooks struct {
	Queue  string   `toml:"queue"`  // where they go
	Events []string `toml:"events"` // of Events; none: nothing becomes a job
	Queues []string `toml:"queues"` // names or globs: whose jobs are meant
}

// Queue is one table [queues.NAME].
type Queue struct {
	Limit        int      `toml:"limit"`         // jobs that run at a time; below 1: any number
	Throttles    []string `toml:"throttles"`     // names of [throttles] that each of its jobs needs
	Windows      []string `toml:"windows"`       // names of [windows] in which its jobs start
	Priority     string   `toml:"priority"`      // high-first or low-first
	First        string   `toml:"first"`         // priority or time: what counts more
	Slice        Duration `toml:"slice"`         // what counts as one time, where that is first
	Ageing       Duration `toml:"ageing"`        // so much waiting is one point of priority; 0s: none is
	FairBy       string   `toml:"fair_by"`       // values that take turns: a JSON pointer, $klass, $queue or $tag:PREFIX
	Intake       []string `toml:"intake"`        // lists whose entries become jobs of the queue: hworker:NAME, or keys
	IntakeAs     string   `toml:"intake_as"`     // what an entry is: data, job or hworker
	IntakeWindow int      `toml:"intake_window"` // so many jobs wait in the queue at most before it goes on

	Order     string `toml:"order"`      // key: of the jobs of one key one runs at a time, in order; "" where nothing is said of that
	Turns     string `toml:"turns"`      // oldest or fair: which key is next, of those with a priority
	AfterFail string `toml:"after_fail"` // next or hold: who has the turn of a key whose job failed
	KeyFrom   string `toml:"key_from"`   // a JSON pointer to the key in the data of jobs that are put without one; "" for none

	Merge       string `toml:"merge"`        // none, all, last, first or set: what becomes of a put while a job of its key waits
	Score       string `toml:"score"`        // keep, min or max: of equal payloads
	RunPayloads int    `toml:"run_payloads"` // how many a job has at most
	RunBytes    Size   `toml:"run_bytes"`    // of data, by merging

	FairWeights map[string]int `toml:"fair_weights"` // value of FairBy → starts while a value of weight 1 has one
}

// TraceMembers is TracePath as the members that it names, one within the other; nil if it is "".
func (p Pool) TraceMembers() []string {
	if p.TracePath == "" {
		return nil
	}
	return strings.Split(strings.TrimPrefix(p.TracePath, "$."), ".")
}

// Recurring is one table [recurring.NAME]: a job that is put again and again.
type Recurring struct {
	Cron     string   `toml:"cron"`  // five fields, or a word such as @daily; or else every
	Every    Duration `toml:"every"` // whole seconds, counted from the epoch
	Zone     string   `toml:"zone"`  // of cron; "" means UTC
	Queue    string   `toml:"queue"`
	Klass    string   `toml:"klass"`
	Data     string   `toml:"data"` // JSON
	Priority float64  `toml:"priority"`
	Retries  int      `toml:"retries"`
	Tags     []string `toml:"tags"`
	Missed   string   `toml:"missed"`  // run-once, run-all or skip
	Overlap  string   `toml:"overlap"` // allow, skip or queue-one
}

// Schedule is the expression of the times at which it recurs, for package schedule.
func (r Recurring) Schedule() string {
	if r.Every > 0 {
		return "@every " + r.Every.String()
	}
	return r.Cron
}

// Retry is the table [pools.NAME.retry]: how long a job waits before it runs again.
type Retry struct {
	Backoff  Backoff  `toml:"backoff"`
	Delay    Duration `toml:"delay"`     // the first wait
	MaxDelay Duration `toml:"max_delay"` // no wait is longer; 0s: none is cut, which is quartic's default
	Jitter   float64  `toml:"jitter"`    // share by which a wait varies
}

// Sandbox is the table [pools.NAME.sandbox]: what surrounds a child.
type Sandbox struct {
	Dir         string            `toml:"dir"`         // working directory; "private" is the private one
	PrivateDir  bool              `toml:"private_dir"` // a fresh directory for each child
	KeepFailed  int               `toml:"keep_failed"` // private directories of failed attempts that stay
	User        string            `toml:"user"`
	Group       string            `toml:"group"`
	Umask       string            `toml:"umask"` // octal; "" means ours
	Nice        int               `toml:"nice"`
	OOMScoreAdj int               `toml:"oom_score_adj"`
	NoNewPrivs  bool              `toml:"no_new_privs"`
	Env         map[string]string `toml:"env"`      // added
	EnvFile     string            `toml:"env_file"` // added, NAME=value lines
	EnvOnly     []string          `toml:"env_only"` // if named, nothing else of our environment is passed
	Limits      Limits            `toml:"limits"`
	Kill        string            `toml:"kill"` // auto, cgroup, guard or group
}

// Limits is the table limits of a sandbox. Zero means no limit, except for core.
type Limits struct {
	NoFile int      `toml:"nofile"` // open files
	Core   int      `toml:"core"`   // bytes of a core dump
	Memory Size     `toml:"memory"` // address space
	CPU    Duration `toml:"cpu"`    // processor time of a process
	FSize  Size     `toml:"fsize"`  // bytes of a file it writes
}

// DefaultRedact is what Log.Redact says unless the file does.
var DefaultRedact = []string{"$..password", "$..passwd", "$..secret", "$..token", "$..authorization", "$..api_key"}

// Defaults is the configuration without any file.
func Defaults() Config {
	return Config{
		Redis:      Redis{URL: "redis://127.0.0.1:6379/0", Namespace: "ql:"},
		Supervisor: Supervisor{DrainTimeout: 30 * second, PollInterval: 1 * second},
		Web:        DefaultWeb(),
		Metrics:    Metrics{Queues: 200, Klasses: []string{"*"}},
		Log:        Log{Level: "info", Format: "auto", Attempts: "all", Redact: slices.Clone(DefaultRedact), RedactText: []string{}},
		Pools:      map[string]Pool{},
		Hooks:      Hooks{Queue: "oarlock-hooks", Events: []string{}, Queues: []string{"*"}},
		Queues:     map[string]Queue{},
		Recurring:  map[string]Recurring{},
		Throttles:  map[string]Throttle{},
		Windows:    map[string]Window{},
		Klass:      map[string]Klass{},
		Park:       DefaultPark(),
	}
}

// DefaultQueue is a queue of which nothing is said.
func DefaultQueue() Queue {
	usual := rules.DefaultQueue()
	return Queue{
		Throttles: []string{}, Windows: []string{}, Priority: usual.Priority, First: usual.First, Slice: ofSeconds(usual.Slice),
		Intake: []string{}, IntakeAs: "data", IntakeWindow: 1000,
		Turns: "oldest", AfterFail: "next", Merge: "none", Score: "keep", RunPayloads: 100, RunBytes: 256 << 10,
	}
}

// DefaultRecurring is a recurring job of which nothing is said.
func DefaultRecurring() Recurring {
	return Recurring{Klass: "job", Data: "{}", Retries: 5, Tags: []string{}, Missed: "run-once", Overlap: "allow"}
}

// DefaultPool is a pool of which nothing is said.
func DefaultPool() Pool {
	return Pool{
		Order:        "ordered",
		Args:         []string{},
		Mode:         "once",
		Env:          map[string]string{},
		Children:     4,
		Input:        "job",
		Status:       "auto",
		Replace:      "before",
		Hello:        true,
		Prefetch:     AutoPrefetch,
		Batch:        1,
		MaxLine:      1 << 20,
		MaxJob:       16 << 20,
		LogRate:      1000,
		NextQueues:   []string{},
		Allow:        []string{},
		EnvFromJob:   []string{},
		Timeout:      24 * hour,
		KillGrace:    10 * second,
		StartTimeout: 30 * second,
		OnError:      "retry",
		OnCrash:      "retry",
		MaxCrashes:   3,
		ExitCodes:    map[string]string{},
		RetryCommand: []string{},
		UnknownFor:   15 * 60 * second,
		Jitter:       0.1,

		ListTimeout:   120 * second,
		ListHeartbeat: true,
		ListMonitor:   true,
		ListFailed:    1000,

		Retry: Retry{
			Backoff:  Backoff{Curve: "exponential"},
			Delay:    15 * second,
			MaxDelay: 6 * hour,
			Jitter:   0.2,
		},
		Sandbox: Sandbox{
			Dir:         ".",
			PrivateDir:  true,
			OOMScoreAdj: 300,
			NoNewPrivs:  true,
			Env:         map[string]string{},
			Limits:      Limits{NoFile: 1024},
			Kill:        "auto",
		},
	}
}
