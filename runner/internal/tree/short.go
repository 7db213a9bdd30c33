package tree

import (
	"errors"
	"slices"
	"strings"
	"syscall"
)

// shortages are the errors by which the kernel says that the host has run out of something.
var shortages = []error{
	syscall.EAGAIN, syscall.ENOMEM, // processes, threads, memory
	syscall.EMFILE, syscall.ENFILE, // descriptors
	syscall.ENOSPC, syscall.EDQUOT, // room on a disk
}

// Short reports whether err says that the host, or a limit set for us on it, has run out of
// processes, memory, descriptors or room. Neither a job nor its command is to blame for that.
func Short(err error) bool {
	return slices.ContainsFunc(shortages, func(shortage error) bool { return errors.Is(err, shortage) })
}

// startError is why a program could not be started, in words for its user.
type startError struct {
	words string
	cause error
}

func (e startError) Error() string { return e.words }
func (e startError) Unwrap() error { return e.cause }

// CannotFork is the error of a program that could not fork, as it told. What it runs has the
// words of the C library for an error, and perhaps more.
func CannotFork(told string) error {
	words := strings.ToLower(told)
	err := startError{words: "cannot fork: " + told}
	for _, shortage := range []syscall.Errno{syscall.EAGAIN, syscall.ENOMEM} {
		if strings.Contains(words, shortage.Error()) {
			err.cause = shortage
		}
	}
	return err
}
