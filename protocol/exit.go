package protocol

import (
	"fmt"
	"strconv"
)

// ExitAction is what the exit code of a child means for its job.
type ExitAction uint8

// What an exit code can mean.
const (
	ExitOnError       ExitAction = iota // as the pool's on_error says: retry or fail
	ExitAck                             // done
	ExitRetry                           // counted, tried again after backoff
	ExitFail                            // failed for good
	ExitRelease                         // given back, uncounted
	ExitMisconfigured                   // the command cannot be run: the pool's fault, or the job's
	ExitUnknown                         // this program has nothing for jobs of this class; another may
)

var exitActionNames = [...]string{"on_error", "ack", "retry", "fail", "release", "misconfigured", "unknown"}

// String returns the name of a as it is written in a configuration.
func (a ExitAction) String() string {
	if int(a) < len(exitActionNames) {
		return exitActionNames[a]
	}
	return "ExitAction(" + strconv.Itoa(int(a)) + ")"
}

// ParseExitAction returns the action of that name, of those a configuration may
// name: ack, retry, fail, release, unknown.
func ParseExitAction(name string) (ExitAction, error) {
	switch name {
	case "ack":
		return ExitAck, nil
	case "retry":
		return ExitRetry, nil
	case "fail":
		return ExitFail, nil
	case "release":
		return ExitRelease, nil
	case "unknown":
		return ExitUnknown, nil
	}
	return 0, fmt.Errorf("exit action %q: use ack, retry, fail, release or unknown", name)
}

// ExitTable holds a pool's own meanings of exit codes; those it does not name
// have their usual one. A nil table names none.
type ExitTable map[int]ExitAction

// Action returns what exit code code means. The codes of sysexits and of qmail
// keep the sense they have there.
func (t ExitTable) Action(code int) ExitAction {
	if action, ok := t[code]; ok {
		return action
	}
	switch code {
	case 0:
		return ExitAck
	case 65, 66, 77, 100: // bad data, no input, no permission; qmail: permanent
		return ExitFail
	case 69, 74, 75, 111: // unavailable, input/output, try again; qmail: temporary
		return ExitRetry
	case 99:
		return ExitRelease
	case 126, 127: // not executable, not found: what shells and our own start say
		return ExitMisconfigured
	}
	return ExitOnError
}

// ExitGroup names the group of failures that ended with exit code code.
func ExitGroup(code int) string { return "exit-" + strconv.Itoa(code) }
