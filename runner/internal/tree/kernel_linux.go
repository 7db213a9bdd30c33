package tree

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What is asked of the kernel between fork and exec, and for leases, that only Linux has.

// dieWithParent asks for a death signal. It comes after a change of user, which would take it back.
func dieWithParent(parent int) error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("ask for a death signal: %w", err)
	}
	if os.Getppid() != parent {
		return errors.New("the supervisor has gone")
	}
	return nil
}

// The C library keeps these two for itself, and the Go runtime lets them be. Some parents leave the
// first ignored, and a child would inherit that.
const (
	sigCancel = 32
	sigSetXID = 33
)

// resetSignals gives the signals from first to last their default action, past the runtime, whose
// way to take a signal back from being ignored wakes a thread for each.
func resetSignals(first, last uintptr) {
	var byDefault [4]uint64 // struct sigaction of the kernel: SIG_DFL, no flags, an empty mask
	for sig := first; sig <= last; sig++ {
		unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0) // EINVAL: KILL and STOP
	}
}

// defaultSignals lets the program start with every signal at its default and none blocked, whatever
// the supervisor inherited, such as the ignored HUP of nohup. From here on neither the Go runtime nor the
// C library handles a signal; the change of user would have needed one.
func defaultSignals() error {
	resetSignals(1, 64)
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil); err != nil {
		return fmt.Errorf("unblock signals: %w", err)
	}
	return nil
}

// setAlarm sets a timer to a time on CLOCK_BOOTTIME.
func setAlarm(timer int, at int64) {
	var spec unix.ItimerSpec // all zero: never
	if at != noAlarm {
		spec.Value = unix.NsecToTimespec(at)
	}
	unix.TimerfdSettime(timer, unix.TFD_TIMER_ABSTIME, &spec, nil)
}

// sharedMemory returns a descriptor of new memory that can be shared, of no size yet.
func sharedMemory(name string) (fd int, err error) {
	if fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC); err != nil {
		return -1, os.NewSyscallError("memfd_create", err)
	}
	return fd, nil
}

// newTimer returns the descriptor of a timer on CLOCK_BOOTTIME; see setAlarm.
func newTimer() (fd int, err error) {
	if fd, err = unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		return -1, os.NewSyscallError("timerfd_create", err)
	}
	return fd, nil
}

// bootTime returns the time on CLOCK_BOOTTIME, in nanoseconds.
func bootTime() int64 {
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	return now.Nano()
}

// becomeSubreaper has orphans below this process become its children.
func becomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// gainNoPrivileges keeps this thread, and what it becomes or starts, from gaining privileges by exec.
func gainNoPrivileges() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }

// dieWithUs has a process killed when the thread that starts it ends; or not.
func dieWithUs(attr *syscall.SysProcAttr, die bool) {
	attr.Pdeathsig = 0
	if die {
		attr.Pdeathsig = syscall.SIGKILL
	}
}

// startInGroup has a process started in the control group whose directory is open as dir.
func startInGroup(attr *syscall.SysProcAttr, dir int) {
	attr.UseCgroupFD, attr.CgroupFD = true, dir
}

// becomeIDs changes the user or the group for good: real, effective and saved.
func becomeIDs(uid, gid int) error {
	if err := syscall.Setresgid(gid, gid, gid); err != nil {
		return fmt.Errorf("change to group %d: %w", gid, err)
	}
	if err := syscall.Setresuid(uid, uid, uid); err != nil {
		return fmt.Errorf("change to user %d: %w", uid, err)
	}
	return nil
}

// duplicate makes to another name of the descriptor from, which is inherited.
func duplicate(from, to int) error { return unix.Dup3(from, to, 0) }

// SocketPair returns the two ends of a socket of that kind, such as unix.SOCK_STREAM, neither of which is
// inherited by itself.
func SocketPair(kind int) (ends [2]int, err error) {
	return unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
}
