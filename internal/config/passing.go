package config

import (
	"errors"
	"slices"
	"syscall"
)

// passing are the errors by which the kernel says that a disk or the host is in trouble: the
// same call may go well a moment later, with the same configuration.
var passing = []error{
	syscall.ENOSPC, syscall.EDQUOT, // room on a disk
	syscall.EROFS, syscall.EIO, syscall.ESTALE, syscall.ETIMEDOUT, // a disk, or a network's
	syscall.EMFILE, syscall.ENFILE, // descriptors
	syscall.ENOMEM, syscall.EAGAIN, // memory, processes
}

// Passes reports whether err may go by itself, so that it is worth to try again: it is none
// of what a file says, but of the host. Of Problems, all must be such.
func Passes(err error) bool {
	var problems Problems
	if errors.As(err, &problems) {
		return !slices.ContainsFunc(problems, func(p Problem) bool { return !p.Passing })
	}
	return slices.ContainsFunc(passing, func(one error) bool { return errors.Is(err, one) })
}

// Wrong is what err means for what key says.
func Wrong(key string, err error) Problems {
	return Problems{{Key: key, Why: err.Error(), Passing: Passes(err)}}
}

// Exit codes of a program that cannot do with its configuration, after sysexits.h.
const (
	ExitPassing = 75 // what is wrong may pass: the host is short of something, a secret is not there yet
	ExitWrong   = 78 // what the file says
)

// ExitCode is the one of err; 0 if err is not about a configuration.
func ExitCode(err error) int {
	var problems Problems
	var unreadable *UnreadableError
	switch {
	case Passes(err):
		return ExitPassing
	case errors.As(err, &problems), errors.As(err, &unreadable):
		return ExitWrong
	}
	return 0
}
