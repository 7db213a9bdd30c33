package tree

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Conceal keeps others of our user, such as children, from looking into this process: the kernel shows
// them neither the memory nor the environment nor the open files of one that may not be dumped. Root
// sees all the same, and signals of the same user get through. What this process starts is not concealed.
func Conceal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid dumps: %w", err)
	}
	return nil
}

// harden keeps what is ours from our children, who often run under the same user; and no descriptor that
// we were born with, or a careless library left open, is inherited.
func harden() error {
	if err := Conceal(); err != nil {
		return err
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
