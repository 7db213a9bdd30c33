package runner

import (
	"syscall"
	"time"

	"oarlock/protocol"
	"oarlock/runner/internal/tree"
)

// EndingKind is how a run ended.
type EndingKind uint8

// Kinds of endings.
const (
	Said          EndingKind = iota + 1 // the child gave a verdict
	Exited                              // it exited, and its code decides: see Ending.Action
	TimedOut                            // we stopped it: it took too long, or stalled
	Died                                // a signal that was not ours, or it left without a word
	Canceled                            // we stopped it: the job was canceled
	LockLost                            // we stopped it: the job is no longer ours
	Interrupted                         // we stopped it, or its process, for reasons that are not the job's
	BrokeProtocol                       // the child broke the protocol
	CouldNotStart                       // the command cannot be run; the job was not begun
	LeftEarly                           // the child was about to leave when the job came
	Innocent                            // the child ended before it came to this job
	TooLong                             // its verdict, or a job it put, was longer than a line may be
	BadArguments                        // nothing was started: the job has not what the program's arguments are made of
)

var endingNames = [...]string{"none", "said", "exited", "timed-out", "died", "canceled", "lock-lost", "interrupted", "broke-protocol", "could-not-start", "left-early", "innocent", "too-long", "bad-arguments"}

// String returns the kind as it stands in logs, metrics and records.
func (k EndingKind) String() string { return nameOf(k, endingNames[:]) }

// Ending is how a run ended, and what was seen on the way. Each run has exactly one.
type Ending struct {
	Kind    EndingKind
	Verdict *protocol.Verdict   // what the child said; may be set for Canceled and LockLost too
	Action  protocol.ExitAction // of Exited: ExitAck, ExitRetry, ExitFail, ExitRelease or ExitOnError

	ExitCode int            // of a process that exited; -1 otherwise
	Signal   syscall.Signal // that ended the process; 0 otherwise
	SentByUs Cause          // why we stopped it; CauseNone if we did not
	Began    bool           // the child may have begun with the job
	Drained  bool           // it had been told by Run.Drain to come to an end
	Batch    int            // how many jobs were in the message that brought it; 0: it came by itself
	Whole    bool           // of Said: it was said of the whole message
	Short    bool           // of CouldNotStart: neither the job nor the command is to blame, but the host, as in func Short

	Group   string // kind of failure: exit-1, signal-SEGV, timeout, oom, …; empty if it went well
	Message string // one or a few lines of visible text
	OOM     string // how the kernel proves that memory ran out; empty if it does not

	Wall       time.Duration // from the moment the child could begin to the ending
	CPU        time.Duration // of the process during the run, user and system; 0 if it is not known
	PeakMemory int64         // highest resident memory seen, in bytes; 0 if nobody looked

	StdoutTail   []byte  // the last 8 KiB that were printed during the run, valid UTF-8;
	StderrTail   []byte  // both nil if the child said ack
	Output       *Output // what was printed during the run; nil unless Spec.KeepOutput asks for it
	LastProgress *protocol.Progress
	Puts         []protocol.Put  // jobs to be put along with an ack
	Wishes       []protocol.Wish // what Run.Wishes did not hand over, to be done before what the ending means
	Checkpoint   []byte          // the latest; nil if none came during the run
	Dir          string          // the private directory if it was kept
}

// Exit is how a process ended.
type Exit struct {
	Code      int            // exit code; -1 if a signal ended it
	Signal    syscall.Signal // 0 if it exited
	CoreDump  bool
	UserCPU   time.Duration // of the process and of those it waited for
	SystemCPU time.Duration
	Cause     Cause  // why we ended it; CauseNone if we did not
	OOM       string // how the kernel proves that memory ran out; empty if it does not
	Started   bool   // false if the command could not be run at all
	Message   string // what there is to say of a child that served no job: the last of stderr, or our reason
	Left      int    // processes that it had started and left running: they were killed
	Lost      bool   // somebody else reaped it: code and signal are unknown
}

// exitOf is what is known of a process that ended so, and not yet why.
func exitOf(e tree.Exit) Exit {
	return Exit{Code: e.Code, Signal: e.Signal, CoreDump: e.CoreDump, UserCPU: e.UserCPU, SystemCPU: e.SystemCPU,
		OOM: e.OOM, Started: e.Started, Message: e.Message, Left: e.Left, Lost: e.Lost}
}

// Short reports whether what was to become the program ended before because the host, or a
// limit on us, had not what that takes, as in func Short.
func (e Exit) Short() bool { return !e.Started && e.Code == tree.ExitShort }
