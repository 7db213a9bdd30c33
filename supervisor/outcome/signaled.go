package outcome

import (
	"syscall"

	"oarlock/runner"
)

// Unspoken reports whether a child ended by itself, or by somebody else, and said nothing
// about its job.
func Unspoken(e *runner.Ending) bool {
	return e.Verdict == nil && e.SentByUs == runner.CauseNone && e.Kind != runner.Innocent
}

// AsInterrupted returns e as an ending by a signal that was meant for all of us.
func AsInterrupted(e *runner.Ending) *runner.Ending {
	i := *e
	i.Kind, i.Group = runner.Interrupted, ""
	i.Message = "the child ended as its supervisor was told to"
	if e.Message != "" {
		i.Message += ": " + e.Message
	}
	return &i
}

// BySignal reports whether a child ended as one does that was told to by a signal for
// services to end, or for a terminal that closes.
func BySignal(e *runner.Ending) bool {
	switch e.Signal {
	case syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP:
		return true
	}
	switch syscall.Signal(e.ExitCode - 128) { // as shells tell of a signal
	case syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP:
		return true
	}
	return false
}
