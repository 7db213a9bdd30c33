package tree

import (
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is one started process with all that it may have started, by whatever way it came to be:
// started by us, below a guard, or forked by another. Methods but Wait may be called by several goroutines.
type Process interface {
	// PID is the number of the process itself, not of a guard; 0 if a guard could not start it. It
	// waits for the guard to say so.
	PID() int
	// Signal sends sig to the process group. The error says that it has ended.
	Signal(sig syscall.Signal) error
	// Tell sends sig to the process alone. The error says that it has ended.
	Tell(sig syscall.Signal) error
	// Kill ends everything: the process and what it started. It may be repeated, also when all is over.
	Kill()
	// Wait returns when the process has ended and what it left behind was killed. It is called once.
	Wait() Exit
	// Lease says when the process is to be dead, on CLOCK_BOOTTIME; 0: it may live on. A guard sees to
	// that, whatever happens to us. It changes nothing once a guard has seen the lease end, or where
	// leases cannot be had: see Starter.Unleased.
	Lease(until time.Duration)
	// Lapsed tells whether a guard has killed the process because its lease had ended.
	Lapsed() bool
	// Release gives back what the process held (a control group, descriptors). It is called once, after
	// Wait.
	Release()
}

// Exit is how a process ended.
type Exit struct {
	Code      int            // exit code; -1 if a signal ended it
	Signal    syscall.Signal // 0 if it exited
	CoreDump  bool
	UserCPU   time.Duration // of the process and of those it waited for
	SystemCPU time.Duration
	OOM       string // how the kernel proves that memory ran out; empty if it does not
	Started   bool   // false if the program could not be run at all; then Code is one of those of a failed start
	Message   string // what there is to say besides; mostly nothing
	Left      int    // processes that it had started and left running: they were killed
	Lost      bool   // somebody else reaped it: code and signal are unknown
}

// Exit codes of a start that failed, as every shell uses them.
const (
	ExitCannotRun = 126 // the program is there, but we could not become it
	ExitShort     = 71  // the host had not what that takes; EX_OSERR of sysexits.h
	ExitTooBig    = 72  // its arguments and environment are too long
	ExitNotFound  = 127
)

// How says in words how a process ended that exited with code, or by sig, unless that is 0.
func How(code int, sig syscall.Signal, coreDump bool) string {
	switch {
	case sig == 0:
		return "exited with code " + strconv.Itoa(code)
	case coreDump:
		return "killed by " + unix.SignalName(sig) + ", core dumped"
	}
	return "killed by " + unix.SignalName(sig)
}
