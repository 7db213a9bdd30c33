package queue

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/connection"
	"oarlock/queue/internal/wire"
)

var (
	// ErrLockLost says that the job is not ours any more: settled, given to another
	// worker, or cancelled. Stop its child; there is nothing to settle.
	ErrLockLost = errors.New("lock lost")

	// ErrNoJob says that there is no job of that id.
	ErrNoJob = errors.New("no such job")

	// ErrDoubt says that nobody knows whether the call ran: the connection broke, or the
	// time was up, after it had been sent. Never repeat it; ask (Session.Resolve,
	// Session.Held, Client.Get).
	ErrDoubt = wire.ErrDoubt

	// ErrAway says that the call certainly did not run, because Redis is away, busy or
	// refuses. It may be repeated, after a pause.
	ErrAway = errors.New("redis is away")
)

// ScriptError is what a command refused, in its own words.
//
// It matches ErrLockLost, ErrNoJob or ErrChanged by errors.Is when the words say that.
type ScriptError struct {
	Command string // as in the protocol: "complete"
	Message string // the refusal alone: "Complete(): Job j1 does not exist"
}

// Error names the command once: the refusal, which other clients see as it is, begins with the name of it, too, or of the part that refused.
func (e *ScriptError) Error() string {
	if part, refusal, is := strings.Cut(e.Message, "(): "); is && !strings.ContainsAny(part, " :") {
		return e.Command + ": " + refusal
	}
	return e.Command + ": " + e.Message
}

// Is reports the sentinel that the message amounts to.
func (e *ScriptError) Is(target error) bool {
	kind := meaning(e.Command, e.Message)
	return kind != nil && kind == target
}

// ErrorClass says what an error of this package means for whoever made the call.
type ErrorClass int

const (
	Success     ErrorClass = iota // no error
	Refused                       // the command's answer: a ScriptError or one of its sentinels
	Invalid                       // the caller's mistake, found before anything was sent
	Doubt                         // ErrDoubt
	Unreachable                   // ErrAway: no connection
	Busy                          // ErrAway: a long script runs, or all connections are taken
	Loading                       // ErrAway: Redis reads its data, or waits for its master
	ReadOnly                      // ErrAway: a replica; all connections are replaced
	Memory                        // ErrAway: Redis is out of memory; what frees memory still works
	Disk                          // ErrAway: Redis cannot write to its disk
	Denied                        // ErrAway: password or permissions
)

var classNames = [...]string{"success", "refused", "invalid", "doubt", "unreachable", "busy",
	"loading", "read-only", "memory", "disk", "denied"}

func (c ErrorClass) String() string { return classNames[c] }

// redisError is an error of the connection or the server, with what it means.
type redisError struct {
	class ErrorClass
	err   error
}

func (e *redisError) Error() string {
	if e.class == Doubt {
		return fmt.Sprintf("%v: %v", ErrDoubt, e.err)
	}
	return e.err.Error()
}

func (e *redisError) Unwrap() error { return e.err }

func (e *redisError) Is(target error) bool {
	if e.class == Doubt {
		return target == ErrDoubt
	}
	return target == ErrAway
}

// Class sorts an error returned by this package.
func Class(err error) ErrorClass {
	var refusal *ScriptError
	var server *redisError
	switch {
	case err == nil:
		return Success
	case errors.As(err, &server):
		return server.class
	case errors.As(err, &refusal), errors.Is(err, ErrLockLost), errors.Is(err, ErrNoJob):
		return Refused
	case errors.Is(err, ErrDoubt): // a reply that cannot be read
		return Doubt
	}
	return Invalid
}

// serverStates are replies by which a server says that it did not begin.
var serverStates = []struct {
	prefix string
	class  ErrorClass
}{
	{"NOSCRIPT", Busy}, // loaded again and lost again: someone flushes scripts all the time
	{"BUSY", Busy},
	{"LOADING", Loading},
	{"MASTERDOWN", Loading},
	{"CLUSTERDOWN", Loading},
	{"TRYAGAIN", Loading},
	{"READONLY", ReadOnly},
	{"OOM", Memory},
	{"MISCONF", Disk},
	{"NOREPLICAS", Disk},
	{"NOAUTH", Denied},
	{"NOPERM", Denied},
	{"WRONGPASS", Denied},
	{"ERR max number of clients", Busy},
	{"ERR invalid password", Denied},
	{"ERR AUTH", Denied},
}

// leaves reports whether an error says that the server is not the master, or not yet. The address may lead to another server by now,
// so all connections are replaced; see connection.Config.
func leaves(err error) bool {
	var reply redis.Error
	if !errors.As(err, &reply) || errors.Is(err, redis.Nil) {
		return false
	}
	switch class := Class(refusal("", reply.Error())); class {
	case ReadOnly, Loading:
		return true
	case Disk:
		return strings.Contains(reply.Error(), "NOREPLICAS") // a master from which its replicas went away, to follow another
	}
	return false
}

// classify is the one place that reads the text of errors. Everything else branches
// on errors.Is, errors.As and Class.
func classify(command string, err error) error {
	if err == nil || errors.Is(err, redis.Nil) {
		return err
	}
	var reply redis.Error
	if errors.As(err, &reply) {
		return refusal(command, reply.Error())
	}
	class := networkClass(err)
	if command != clockCommand { // nobody asked for the time: other commands need it first
		err = fmt.Errorf("%s: %w", command, err)
	}
	return &redisError{class, err}
}

// clockCommand measures the server's time.
const clockCommand = "time"

// refusal is the error behind a server's error reply, or behind one that a script caught
// and answers for a single job.
func refusal(command, text string) error {
	words := wire.Words(text)
	// Redis 6 wraps what a command inside a script was told, as it does a script's own
	// words. It refuses before a script's first write or not at all, so nothing ran then either.
	inside := strings.TrimPrefix(words, "-")
	for _, state := range serverStates {
		if strings.HasPrefix(text, state.prefix) || strings.HasPrefix(inside, state.prefix) {
			return &redisError{state.class, fmt.Errorf("%s: %s", command, inside)} // without where in which script that was
		}
	}
	if isDenied(strings.TrimPrefix(inside, "ERR "), strings.HasPrefix) {
		return deniedInside(command, inside)
	}
	return &ScriptError{Command: command, Message: words}
}

// deniedWords are how NOPERM is worded for a command within a script: by Redis 7, and by 7.2, which names user and command.
var deniedWords = []string{"The user executing the script can't", "ACL failure in script: "}

// isDenied reports whether a text says so; as is how it must have the words.
func isDenied(text string, as func(text, words string) bool) bool {
	return slices.ContainsFunc(deniedWords, func(words string) bool { return as(text, words) })
}

// deniedInside is the error of a command whose script was denied one of Redis, by the words that said so.
func deniedInside(command, words string) error {
	return &redisError{Denied, fmt.Errorf("%s: our user may not run all commands of Redis that this takes, or not on all keys (%s); queue/ACL.md lists what it needs", command, words)}
}

// withheld is the error behind a reason why something cannot be read, if the server refused the script a command: what lies
// there may be sound. Else it is nil.
func withheld(command, reason string) error {
	if err := refusal(command, reason); Class(err) != Refused {
		return err
	}
	if isDenied(reason, strings.Contains) { // of one of several things
		return deniedInside(command, wire.Words(reason))
	}
	return nil
}

// networkClass tells a call that was never sent from one whose end is unknown.
func networkClass(err error) ErrorClass {
	var dial *connection.DialError
	var op *net.OpError
	switch {
	case errors.As(err, &dial), errors.As(err, &op) && op.Op == "dial": // the latter of sentinels
		return Unreachable
	case errors.Is(err, redis.ErrClosed), errors.Is(err, redis.ErrPoolExhausted):
		return Unreachable
	case errors.Is(err, redis.ErrPoolTimeout):
		return Busy
	}
	return Doubt // a timeout, an end, a reset: it may have been sent
}

// harmless turns doubt about a call that changes nothing, or nothing when repeated, into
// ErrAway: whether it ran does not matter.
func harmless(err error) error {
	var server *redisError
	if errors.As(err, &server) && server.class == Doubt {
		return &redisError{Unreachable, server.err}
	}
	return err
}

// lockCommands are the commands that only the holder of the lock may send.
var lockCommands = map[string]bool{
	"heartbeat": true, "complete": true, "fail": true, "retry": true, "release": true, "renew": true,
}

// meaning maps a refusal to the sentinel that callers branch on, or nil.
func meaning(command, message string) error {
	has := func(phrase string) bool { return strings.Contains(message, phrase) }
	switch {
	case lockCommands[command] && (has("does not exist") || has("not currently running") ||
		has("to another worker") || has("with another worker") || has("another queue")):
		return ErrLockLost
	case has("does not exist"), has("No recurring job"):
		return ErrNoJob
	case command == "put" && has(ErrChanged.Error()):
		return ErrChanged
	}
	return nil
}
