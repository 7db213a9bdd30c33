package runner

import "oarlock/protocol"

// Stream is where a line came from.
type Stream uint8

// The streams.
const (
	Stdout Stream = iota
	Stderr
	StatusStream // a log record of the descriptor for status lines
)

// String returns the name of s as it stands in logs.
func (s Stream) String() string {
	switch s {
	case Stdout:
		return "stdout"
	case Stderr:
		return "stderr"
	}
	return "status"
}

// LogLine is something a child printed, or a log record it sent.
type LogLine struct {
	Stream  Stream
	Text    []byte              // as it was printed: protocol.Visible makes it fit to be shown. Valid during the call
	Record  *protocol.LogRecord // of a log status; nil for plain lines
	Cut     int64               // bytes of the line that were too many and are gone
	Dropped int                 // if not 0, no line at all: so many were dropped, for there were too many a second
	// Overwritten: one state of a progress bar, ended by a carriage return. At most ten a second come;
	// the last one, where nothing is printed over it, comes again as a line.
	Overwritten bool
	Refused     string // of a status line that does not count: why; empty for all others
}

// Events is told what happens to the children it was given to Start for.
//
// The calls come from the goroutines that listen to a child and from the one that
// watches the time; they may overlap. They must not block, and must not wait for
// anything of the child; they may call its methods, and those of its runs. A run
// is nil in Log if the line came while no job was at work.
type Events interface {
	// ChildReady: the child can be given its first job. Not called for mode Once.
	ChildReady(c *Child)
	// Bye: the child wants to be replaced when it has finished what it has, or has
	// to be, for reason. It takes no further job.
	Bye(c *Child, reason string)
	Log(c *Child, r *Run, line LogLine)
	// Refused: a status line of the verb verdict does not count, for the reason why; each
	// one, also where the log drops lines. The run is the one at work, nil if there is none.
	Refused(c *Child, r *Run, verdict, why string)
	// Progress and Checkpoint come at most once a second and run, with the latest.
	Progress(c *Child, r *Run, p protocol.Progress)
	Checkpoint(c *Child, r *Run, data []byte)
	// Wished: the run wants something done to a job, after it wanted nothing: ask Run.Wishes.
	Wished(c *Child, r *Run)
	// RunStopping: the run was asked to stop because of its limits.
	RunStopping(c *Child, r *Run, cause Cause)
	// RunEnded: exactly once for each run. The ending belongs to the callee.
	RunEnded(c *Child, r *Run, e *Ending)
	// ChildExited: the process and what it left behind are gone, its runs have
	// ended. The last call about this child.
	ChildExited(c *Child, exit Exit)
}
