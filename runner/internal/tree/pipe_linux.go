package tree

import (
	"os"

	"golang.org/x/sys/unix"
)

// Pipe returns a pipe of which our end, reading or writing, never makes a thread wait, while a child finds
// an ordinary one. Neither end is inherited by itself.
func Pipe(weRead bool) (read, write *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	ours, mode := fds[1], unix.O_WRONLY
	if weRead {
		ours, mode = fds[0], unix.O_RDONLY
	}
	if _, err := unix.FcntlInt(uintptr(ours), unix.F_SETFL, mode|unix.O_NONBLOCK); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, os.NewSyscallError("set pipe non-blocking", err)
	}
	return os.NewFile(uintptr(fds[0]), "|0"), os.NewFile(uintptr(fds[1]), "|1"), nil
}
