// Package runner starts child processes, hands them jobs, listens to what they
// answer, and ends them. It knows nothing of Redis.
//
// A [Host] owns all that a process has once: the thread that starts children, the
// reaping of orphans, the deadlines. A [Child] is one process that a host started
// for a pool, a [Run] one job once on one child. What happens is told to the
// [Events] of the child, at once and from the goroutine that saw it.
//
// A binary that uses the package must call [Hidden] before anything else: parts of
// it run in processes of their own, under the same binary.
package runner

import (
	"syscall"
	"time"

	"oarlock/protocol"
	"oarlock/runner/internal/tree"
)

// Mode is how children live.
type Mode uint8

// The modes.
const (
	Once    Mode = iota // a fresh process for each job, started with it
	Reuse               // one process, one job after the other
	Preload             // a process that has loaded the program forks itself for each job
)

var modeNames = [...]string{"once", "reuse", "preload"}

// String returns the name of m as children read it in OARLOCK_MODE.
func (m Mode) String() string { return nameOf(m, modeNames[:]) }

// ParseMode returns the mode that String calls name.
func ParseMode(name string) (Mode, error) { return named[Mode]("mode", name, modeNames[:]) }

// Input is what a child reads on stdin.
type Input uint8

// Kinds of input.
const (
	InputJob  Input = iota // job lines
	InputData              // only the payload of each job, as a line
	InputNone              // nothing: stdin is empty
)

var inputNames = [...]string{"job", "data", "none"}

// String returns the name of i as it is written in a configuration.
func (i Input) String() string { return nameOf(i, inputNames[:]) }

// ParseInput returns the kind of input that String calls name.
func ParseInput(name string) (Input, error) { return named[Input]("input", name, inputNames[:]) }

// StatusFrom is where verdicts come from.
type StatusFrom uint8

// Sources of verdicts.
const (
	// StatusAuto: status lines where there are some, else the exit code. On stdout they
	// count if they name their run; of a child without hello, those on its descriptor may
	// leave it out.
	StatusAuto  StatusFrom = iota
	StatusFD               // status lines on the descriptor only, else the exit code
	StatusLines            // as StatusAuto, and a child without hello need not name the run on stdout either: what it prints of others' texts is believed
	StatusExit             // the exit code alone; every line is log
)

var statusNames = [...]string{"auto", "fd", "lines", "exit"}

// String returns the word for s as children read it in OARLOCK_STATUS.
func (s StatusFrom) String() string { return nameOf(s, statusNames[:]) }

// ParseStatusFrom returns the source of verdicts that String calls name.
func ParseStatusFrom(name string) (StatusFrom, error) {
	return named[StatusFrom]("status", name, statusNames[:])
}

// HelloPolicy is what makes a child that takes more than one job ready.
type HelloPolicy uint8

// Policies.
const (
	// HelloAuto: the child is ready with its hello, or when it has lived for a
	// moment, whichever comes first, for a program that fails at once shall not
	// have a job.
	HelloAuto HelloPolicy = iota
	// HelloRequired: only with its hello, within Spec.StartTimeout. For pools whose
	// children are known to say it. Children of mode Preload are always treated so.
	HelloRequired
	// HelloNone: as HelloAuto, and the program is known to be one that says none.
	HelloNone
)

// Spec says how the children of a pool are started and treated. It must not
// change once it was given to Start.
type Spec struct {
	Pool    string
	Worker  string // the name Redis knows us by, told in the answer to hello
	Mode    Mode
	Command []string // argv; no shell is involved
	Dir     string   // working directory; empty: ours, "private": the private one
	Env     []string // all of the environment; the OARLOCK_ variables are added

	// Args and Vars have placeholders for what is known of the child, in mode Once of its job too: see
	// protocol/README.md. Args follow Command, each as one argument; Vars are by name, and stronger than Env. In mode
	// Preload those of Vars that name the slot are set by the fork.
	Args []string
	Vars map[string]string

	PTY    bool // stdout is a raw pseudo-terminal
	Input  Input
	Status StatusFrom
	Strict bool // a status line must name its run, whatever channel it comes on
	Hello  HelloPolicy

	MaxLine int // longest line read, in bytes; 0: protocol.DefaultMaxLine
	LogRate int // log lines kept a second, per child; 0: all
	// KeepOutput is how many bytes of what a run prints its ending brings with it, the last of them,
	// whatever LogRate says; 0: none. At least 1 KiB otherwise.
	KeepOutput int

	KillGrace time.Duration // from the first request to stop to SIGKILL
	// DrainSignal tells a child without the capability draining what Run.Drain says; 0: nothing does. A child that
	// dies of it was interrupted.
	DrainSignal  syscall.Signal
	StartTimeout time.Duration // from start to hello; 0: 30 s
	StallTimeout time.Duration // longest silence of a child at work; 0: any
	WriteTimeout time.Duration // longest time a reused child may take to read a line; 0: 10 s
	ExitTimeout  time.Duration // how long a once child may live on after its verdict; 0: KillGrace

	ExitCodes protocol.ExitTable
	Sandbox   Sandbox
	Kill      KillStrength // how whole trees are killed; KillAuto: the strongest there is
}

// Sandbox is what a child gets of its own. The zero value asks for nothing.
type Sandbox struct {
	PrivateDir  bool   // a fresh directory, named in OARLOCK_DIR and TMPDIR: per job in modes Once and Preload, else per child
	KeepFailed  int    // how many private directories of failed runs to keep, per pool
	User        string // name or number; empty: ours
	Group       string // name or number; empty: that of User
	Umask       *int   // nil: ours
	Nice        int
	OOMScoreAdj int
	NoNewPrivs  bool
	Limits      Limits
}

// Limits are resource limits, of one process each but for Memory; nil leaves one as it is.
type Limits struct {
	NoFile *uint64        // open descriptors
	Core   *uint64        // bytes of a core file
	Memory *uint64        // bytes, of the child and what it started; above that it is killed within a second or so
	FSize  *uint64        // bytes of a file it writes
	CPU    *time.Duration // processor time, in whole seconds
}

// KillStrength is how a child is killed with all that it started. Its method String returns it as it is
// written in a configuration.
type KillStrength = tree.Strength

// The strengths.
const (
	KillAuto   = tree.Auto   // the strongest there is
	KillCgroup = tree.Cgroup // a control group of its own: nothing escapes
	KillGuard  = tree.Guard  // a guard process as parent: what leaves the process group is found again
	KillGroup  = tree.Group  // the process group: what leaves it stays
)

// ParseKillStrength returns the strength that String calls name.
func ParseKillStrength(name string) (KillStrength, error) { return tree.ParseStrength(name) }

// Hidden serves the subcommands by which this program starts itself again on behalf of a child. A
// program that uses this package calls it first thing in main (and in TestMain), with os.Args; it
// returns at once for any other arguments, and never for its own.
func Hidden(args []string) { tree.Hidden(args) }

// Conceal keeps others of our user, such as children, from looking into this process: the kernel shows
// them neither the memory nor the environment nor the open files of one that may not be dumped. Root
// sees all the same, and signals of the same user get through. What this process starts is not concealed.
func Conceal() error { return tree.Conceal() }

// Short reports whether err says that the host, or a limit set for us on it, has run out of
// processes, memory, descriptors or room. Neither a job nor its command is to blame for that.
func Short(err error) bool { return tree.Short(err) }

// RunLimits bound one run.
type RunLimits struct {
	Timeout time.Duration // the run is asked to stop after so long, and killed Spec.KillGrace later; 0: no limit
	// Lease is when the child is to be dead unless the run has ended or Run.Renew was called, on CLOCK_BOOTTIME;
	// 0: never. It is enforced from outside this process, whatever happens to that. The run ends as LockLost.
	Lease time.Duration
}

// Cause is why we stopped a run or a child.
type Cause uint8

// Causes. CauseNone means that we did not.
const (
	CauseNone     Cause = iota
	CauseCanceled       // somebody canceled the job
	CauseLockLost       // the job is no longer ours
	CauseTimeout        // it took longer than its limits say
	CauseStall          // it was silent for longer than Spec.StallTimeout
	CauseShutdown       // the supervisor leaves, or replaces the child
	CauseMemory         // it outgrew its limit
	CauseStart          // it did not become ready in time
	CauseProtocol       // it broke the protocol
	CauseLinger         // it lived on for too long after its verdict
)

var causeNames = [...]string{"none", "canceled", "lock_lost", "timeout", "stall", "shutdown", "memory", "start", "protocol", "linger"}

// String returns the cause as it stands in logs.
func (c Cause) String() string { return nameOf(c, causeNames[:]) }
