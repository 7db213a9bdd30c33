package runner

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// harden keeps what is ours from our children, who often run under the same user: the kernel lets
// nobody of that user look into the memory, the environment or the open files of a process that may not
// be dumped; and no descriptor that we were born with, or a careless library left open, is inherited.
// Signals of the same user get through all the same.
func harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid dumps: %w", err)
	}
	return closeAtExec(3)
}

// closeAtExec keeps the descriptors from first on from being inherited.
func closeAtExec(first int) error {
	err := unix.CloseRange(uint(first), ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
	if err != nil && !errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("close descriptors at exec: %w", err)
	}
	return nil
}
