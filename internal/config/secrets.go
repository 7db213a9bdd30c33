package config

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unsafe"
)

// What the environment told us of Redis is a secret: it may hold a password, and an
// environment is handed on to every child and shown to whoever may look into a process. So
// a variable that was read for the table [redis] is taken out of ours, and kept here for the
// next time that the configuration is read.
var kept = struct {
	mu     sync.Mutex
	values map[string]string
}{values: map[string]string{}}

// lookupEnv is os.LookupEnv, for variables too that were taken out of the environment. What
// it returns stays when they are.
func lookupEnv(name string) (string, bool) {
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if value, is := os.LookupEnv(name); is {
		return strings.Clone(value), true
	}
	value, is := kept.values[name]
	return value, is
}

// takeOut takes variables out of the environment.
func takeOut(names []string) {
	kept.mu.Lock()
	defer kept.mu.Unlock()
	for _, name := range names {
		value, is := os.LookupEnv(name)
		if !is {
			continue
		}
		kept.values[name] = strings.Clone(value)
		wipe(name)
		os.Unsetenv(name)
	}
}

// wipe overwrites the value of a variable in the memory that the kernel shows as
// /proc/PID/environ; Go has a copy of its own.
func wipe(name string) {
	for entry := range bytes.SplitSeq(givenMemory(envStart), []byte{0}) {
		if value, is := bytes.CutPrefix(entry, []byte(name+"=")); is {
			clear(value)
		}
	}
}

// password is that of a URL of Redis.
var password = regexp.MustCompile(`^(?:-.*=)?(?:rediss?|unix|redis\+sentinel|redis\+cluster)://[^:]*:(.*)@`)

// HideArguments overwrites the passwords of Redis URLs among the arguments that the kernel
// shows to everybody as /proc/PID/cmdline, and so in os.Args. It returns args, which may be those, as they were.
func HideArguments(args []string) []string {
	kept := make([]string, len(args))
	for i, arg := range args {
		kept[i] = strings.Clone(arg)
	}
	for argument := range bytes.SplitSeq(givenMemory(argStart), []byte{0}) {
		if found := password.FindSubmatchIndex(argument); found != nil {
			for i := found[2]; i < found[3]; i++ {
				argument[i] = '*'
			}
		}
	}
	return kept
}

// Fields of /proc/PID/stat: where the arguments and the environment of a process begin. Each
// is followed by that of their end.
const (
	argStart = 48
	envStart = 50
)

// givenMemory is the memory, from start on, in which the kernel handed something to this
// process; nil where it does not tell.
func givenMemory(start int) []byte {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return nil
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // from the third on
	if len(fields) <= start+1-3 {
		return nil
	}
	from, err := strconv.ParseUint(string(fields[start-3]), 10, 64)
	to, toErr := strconv.ParseUint(string(fields[start-3+1]), 10, 64)
	if err != nil || toErr != nil || from == 0 || to <= from {
		return nil
	}
	at := uintptr(from) // on the stack of the first thread: no memory of Go's, and never moved
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), int(to-from))
}

// IsSecret reports whether a variable was taken out of the environment because it told of
// Redis. Safe for concurrent use.
func IsSecret(name string) bool {
	kept.mu.Lock()
	defer kept.mu.Unlock()
	_, is := kept.values[name]
	return is
}

// Environ is the environment of this process, for children that are named what they get:
// with what was taken out. Safe for concurrent use.
func Environ() []string {
	kept.mu.Lock()
	defer kept.mu.Unlock()
	all := os.Environ()
	for name, value := range kept.values {
		if _, again := os.LookupEnv(name); !again {
			all = append(all, name+"="+value)
		}
	}
	return all
}
