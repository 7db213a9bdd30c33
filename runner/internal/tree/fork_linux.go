package tree

import (
	"os"

	"golang.org/x/sys/unix"

	"oarlock/runner/internal/proc"
)

// openProcess opens pid as a descriptor, which stands for no later process of that number; nil if it has
// ended.
func openProcess(pid int) (*os.File, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case err == nil:
		return os.NewFile(uintptr(fd), "process"), nil
	case err == unix.ESRCH:
		return nil, nil
	}
	return nil, os.NewSyscallError("pidfd_open", err)
}

// processLives tells whether what openProcess opened has not been reaped.
func processLives(process *os.File) (alive bool) {
	if conn, err := process.SyscallConn(); err == nil { // unlike Fd, safe against a Close meanwhile
		conn.Control(func(fd uintptr) { alive = unix.PidfdSendSignal(int(fd), 0, nil, 0) == nil })
	}
	return alive
}

// parentOf returns the parent of what openProcess opened, 0 if that is none that we see; known is false if it has
// ended, or where only /proc tells, at ten times the cost (before Linux 6.13).
func parentOf(process *os.File) (pid int, known bool) {
	if process == nil {
		return 0, false
	}
	if conn, err := process.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) {
			var info unix.PidfdInfo
			known = unix.IoctlPidfdInfo(int(fd), &info) == nil
			pid = int(info.Ppid)
		})
	}
	return pid, known
}

// setMark gives pid the mark of that number, and returns it as marked knows it.
func setMark(pid int, number uint64) (mark uint64, err error) {
	var before unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_MSGQUEUE, nil, &before); err != nil {
		return number, err
	}
	mark = min(before.Max, 1<<30) - 1 - number
	return mark, unix.Prlimit(pid, unix.RLIMIT_MSGQUEUE, &unix.Rlimit{Cur: mark, Max: mark}, nil)
}

// marked tells whether pid is alive and has that mark.
func marked(pid int, mark uint64) bool {
	var limit unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_MSGQUEUE, nil, &limit)
	return err == nil && limit.Max == mark && proc.Alive(pid)
}

// limitOther limits another process than ours.
func limitOther(pid int, l Rlimit) error {
	pair := l.pair()
	return unix.Prlimit(pid, l.Resource, &unix.Rlimit{Cur: pair.Cur, Max: pair.Max}, nil)
}
