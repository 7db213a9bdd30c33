package runner

import (
	"errors"
	"fmt"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// terminalSize is wide, for programs cut their lines to it.
var terminalSize = pty.Winsize{Rows: 24, Cols: 200}

// errTerminal is what an error about one is, too.
var errTerminal = errors.New("pseudo-terminal")

// openTerminal returns both ends of a pseudo-terminal that passes on bytes as they
// are: no echo, no CR before LF, no control characters that act.
func openTerminal() (ours, theirs *os.File, err error) {
	master, slave, err := pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errTerminal, err)
	}
	defer master.Close()
	if ours, err = nonblocking(master); err == nil {
		if _, err = term.MakeRaw(int(slave.Fd())); err == nil {
			err = pty.Setsize(slave, &terminalSize)
		}
	}
	if err != nil {
		slave.Close()
		if ours != nil {
			ours.Close()
		}
		return nil, nil, fmt.Errorf("%w: %w", errTerminal, err)
	}
	return ours, slave, nil
}

// nonblocking returns file again as one that works with read deadlines, which the
// master of a pseudo-terminal as pty.Open leaves it does not.
func nonblocking(file *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), file.Name()), nil
}
