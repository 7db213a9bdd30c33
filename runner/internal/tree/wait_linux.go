package tree

import (
	"os"

	"golang.org/x/sys/unix"
)

// awaitExit returns when our child pid has ended, and leaves it to be reaped. It waits as for any other
// descriptor where the kernel has one for processes (Linux 5.10): in a system call it would keep a
// thread for each child, and a Go program that may have no more threads dies.
func awaitExit(pid int) {
	if fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK); err == nil {
		file := os.NewFile(uintptr(fd), "process")
		defer file.Close()
		conn, err := file.SyscallConn()
		if err == nil && conn.Read(func(uintptr) bool { return hasExited(pid) }) == nil {
			return
		}
	}
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// hasExited tells whether our child pid has ended, and leaves it to be reaped.
func hasExited(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err != nil || info.Signo != 0
}
