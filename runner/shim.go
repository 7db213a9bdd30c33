package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The hidden subcommands. Between fork and exec a Go program can do almost nothing, so what has to be
// set for one child alone (limits, umask, user, no_new_privs) is set by our own binary, started in the
// child's place, which then becomes the child by exec.
const (
	execCommand  = "exec-child"  // becomes the program
	guardCommand = "guard-child" // stays, as the parent of everything the program starts
)

// The environment entries that carry the orders of the hidden subcommands. They hold settings, never
// anything of a job, and are gone from the environment of the program.
const (
	execEnv  = "OARLOCK_EXEC"
	guardEnv = "OARLOCK_GUARD"
)

// Exit codes of a start that failed, as every shell uses them.
const (
	exitCannotRun = 126 // the program is there, but we could not become it
	exitNotFound  = 127
)

// hiddenServed says that this program has called Hidden, so that starting its own binary with a hidden
// subcommand ends in ours and not in a second copy of itself.
var hiddenServed atomic.Bool

// Hidden serves the subcommands by which this program starts itself again on behalf of a child. A
// program that uses this package calls it first thing in main (and in TestMain), with os.Args; it
// returns at once for any other arguments, and never for its own.
func Hidden(args []string) {
	hiddenServed.Store(true)
	if len(args) < 2 {
		return
	}
	switch args[1] {
	case execCommand:
		os.Exit(execChild(args[2:]))
	case guardCommand:
		os.Exit(guardChild(args[2:]))
	}
}

// self is the image of this very process, even after the file it came from was replaced.
const self = "/proc/self/exe"

// settings is what a child gets of its own between fork and exec. The zero value asks for nothing.
type settings struct {
	Dir         string   `json:"dir,omitempty"`   // working directory, entered as the child's user; empty: the supervisor's
	Umask       *int     `json:"umask,omitempty"` // nil: the supervisor's
	Nice        int      `json:"nice,omitempty"`
	OOMScoreAdj int      `json:"oom,omitempty"`
	User        *user    `json:"user,omitempty"` // nil: the supervisor's
	NoNewPrivs  bool     `json:"nnp,omitempty"`
	Limits      []rlimit `json:"limits,omitempty"`

	Memory uint64 `json:"-"` // what its control group may hold, in bytes; 0: any. Nothing a process can set itself
}

// user is a user and group by number. A child that gets one has no supplementary groups.
type user struct {
	UID int `json:"uid"`
	GID int `json:"gid"`
}

// rlimit is one resource limit, soft and hard alike, so that the child cannot raise it again.
type rlimit struct {
	Resource int    `json:"r"`
	Max      uint64 `json:"m"`
}

// pair returns the soft and the hard limit. They are the same but for processor time, where the hard
// one kills outright: a second more lets the program, and us, see SIGXCPU first.
func (l rlimit) pair() syscall.Rlimit {
	if l.Resource == unix.RLIMIT_CPU {
		return syscall.Rlimit{Cur: l.Max, Max: l.Max + 1}
	}
	return syscall.Rlimit{Cur: l.Max, Max: l.Max}
}

// nothing says that a child can be started without the shim: what s asks for, os/exec does.
func (s *settings) nothing() bool {
	return s.Umask == nil && s.Nice == 0 && s.OOMScoreAdj == 0 && s.User == nil && !s.NoNewPrivs && len(s.Limits) == 0
}

// settingsOf turns the words of a sandbox into numbers. Names are looked up each time, for an
// administrator may add a user while we run.
func settingsOf(dir string, b *Sandbox) (settings, error) {
	s := settings{Dir: dir, Umask: b.Umask, Nice: b.Nice, OOMScoreAdj: b.OOMScoreAdj, NoNewPrivs: b.NoNewPrivs}
	var err error
	if s.User, err = resolveUser(b.User, b.Group); err != nil {
		return s, err
	}
	l := &b.Limits
	for _, limit := range []struct {
		resource int
		max      *uint64
	}{
		{unix.RLIMIT_NOFILE, l.NoFile},
		{unix.RLIMIT_CORE, l.Core},
		{unix.RLIMIT_FSIZE, l.FSize},
	} {
		if limit.max != nil {
			s.Limits = append(s.Limits, rlimit{limit.resource, *limit.max})
		}
	}
	if l.Memory != nil {
		s.Memory = *l.Memory
	}
	if l.CPU != nil {
		s.Limits = append(s.Limits, rlimit{unix.RLIMIT_CPU, uint64((*l.CPU + time.Second - 1) / time.Second)})
	}
	return s, nil
}

// resolveUser returns the user and group that name and group stand for; nil if neither is given.
// Either may be a number.
func resolveUser(name, group string) (*user, error) {
	if name == "" && group == "" {
		return nil, nil
	}
	u := user{UID: os.Getuid(), GID: os.Getgid()}
	if name != "" {
		entry, err := osuser.Lookup(name)
		if err != nil {
			entry, err = osuser.LookupId(name)
		}
		number, numberErr := strconv.Atoi(name)
		switch {
		case err == nil:
			u.UID, _ = strconv.Atoi(entry.Uid)
			u.GID, _ = strconv.Atoi(entry.Gid)
		case numberErr == nil && group != "": // a number needs no entry, given a group
			u.UID = number
		default:
			return nil, fmt.Errorf("there is no user %q here", name)
		}
	}
	if group != "" {
		entry, err := osuser.LookupGroup(group)
		if err == nil {
			group = entry.Gid
		}
		if u.GID, err = strconv.Atoi(group); err != nil {
			return nil, fmt.Errorf("there is no group %q here", group)
		}
	}
	return &u, nil
}

// execOrder is what the shim is told by its environment.
type execOrder struct {
	settings
	Parent int `json:"parent"` // the process whose death is to be the child's
	Files  int `json:"files"`  // descriptors the child keeps: 0 up to, not including, this
}

// throughShim changes cmd so that it applies s before it becomes its program. The death of the process
// that calls cmd.Start will kill it. Call it once the command's files and environment are complete.
func throughShim(cmd *exec.Cmd, s settings) error {
	order := execOrder{settings: s, Parent: os.Getpid(), Files: 3 + len(cmd.ExtraFiles)}
	order.Dir = cmd.Dir
	return becomeSelf(cmd, execCommand, execEnv, order)
}

// becomeSelf lets cmd start our own binary with a hidden subcommand in front of its arguments.
func becomeSelf(cmd *exec.Cmd, subcommand, entry string, order any) error {
	text, err := json.Marshal(order)
	if err != nil {
		return err
	}
	cmd.Path = self
	cmd.Err = nil // whether the program exists, the shim finds out: under its own user and PATH
	cmd.Dir = ""
	cmd.Args = append([]string{"oarlock", subcommand}, cmd.Args...)
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], entry+"="+string(text))
	return nil
}

// takeOrder reads our entry out of the environment and removes it.
func takeOrder(entry string, order any) error {
	text := os.Getenv(entry)
	if text == "" {
		return errors.New("this subcommand is for the supervisor's own use")
	}
	os.Unsetenv(entry)
	return json.Unmarshal([]byte(text), order)
}

// execChild is the shim: it applies its order to itself and becomes argv. It returns only when that
// failed, with the exit code that says so.
func execChild(argv []string) int {
	// no_new_privs, niceness, the signal mask and the death signal belong to a thread, and it is the
	// thread which calls exec that becomes the program.
	runtime.LockOSThread()
	var order execOrder
	err := takeOrder(execEnv, &order)
	if err == nil && len(argv) == 0 {
		err = errors.New("no command to run")
	}
	for _, step := range []func() error{
		func() error { return closeAtExec(order.Files) },
		order.apply,
		func() error { return dieWithParent(order.Parent) },
		defaultSignals,
	} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		return complain(exitCannotRun, "%v", err)
	}
	path, err := findProgram(argv[0])
	if err != nil {
		return complain(startCode(err), "%v", err)
	}
	// Last, because the Go runtime itself may not live under the limits of the child.
	if err := setLimits(order.Limits); err != nil {
		return complain(exitCannotRun, "%v", err)
	}
	err = syscall.Exec(path, argv, os.Environ())
	return complain(exitCannotRun, "cannot run %s: %s", path, execTrouble(path, err))
}

// startCode returns the exit code for a program that cannot be run because of err.
func startCode(err error) int {
	if _, missing := errors.AsType[noProgram](err); missing {
		return exitNotFound
	}
	return exitCannotRun
}

// noProgram says that what is to be run is not there.
type noProgram string

func (e noProgram) Error() string { return string(e) }

// complain writes why a child could not be started, as one line.
func complain(code int, format string, args ...any) int {
	fmt.Fprintf(os.Stderr, "oarlock: %s\n", fmt.Sprintf(format, args...))
	return code
}

// apply puts s into force for this thread and what it starts or becomes, in an order in which no step
// takes away the right to do a later one. The limits are left to setLimits.
func (s *settings) apply() error {
	if s.Umask != nil {
		syscall.Umask(*s.Umask)
	}
	if err := setOOMScoreAdj(os.Getpid(), s.OOMScoreAdj); err != nil {
		return err
	}
	if s.Nice != 0 {
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, s.Nice); err != nil {
			return fmt.Errorf("set nice to %d: %w", s.Nice, err)
		}
	}
	if s.User != nil {
		if err := s.User.become(); err != nil {
			return err
		}
	}
	if s.Dir != "" {
		if err := os.Chdir(s.Dir); err != nil {
			return fmt.Errorf("enter the working directory: %w", err)
		}
	}
	if s.NoNewPrivs {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("set no_new_privs: %w", err)
		}
	}
	return nil
}

// dieWithParent asks for a death signal. It comes after a change of user, which would take it back.
func dieWithParent(parent int) error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("ask for a death signal: %w", err)
	}
	if os.Getppid() != parent {
		return errors.New("the supervisor has gone")
	}
	return nil
}

// defaultSignals lets the program start with every signal at its default and none blocked, whatever
// the supervisor inherited, such as the ignored HUP of nohup. From here on neither the Go runtime nor the
// C library handles a signal; the change of user would have needed one.
func defaultSignals() error {
	// Past the runtime, whose way to take a signal back from being ignored wakes a thread for each.
	var byDefault [4]uint64 // struct sigaction of the kernel: SIG_DFL, no flags, an empty mask
	for sig := uintptr(1); sig <= 64; sig++ {
		unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0) // EINVAL: KILL and STOP
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil); err != nil {
		return fmt.Errorf("unblock signals: %w", err)
	}
	return nil
}

// become changes user and group for good and drops all supplementary groups.
func (u *user) become() error {
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("drop supplementary groups: %w (only root may change users)", err)
	}
	if err := syscall.Setresgid(u.GID, u.GID, u.GID); err != nil {
		return fmt.Errorf("change to group %d: %w", u.GID, err)
	}
	if err := syscall.Setresuid(u.UID, u.UID, u.UID); err != nil {
		return fmt.Errorf("change to user %d: %w", u.UID, err)
	}
	return nil
}

// setOOMScoreAdj makes pid a likelier (or, with the right to, an unlikelier) victim when memory runs
// out. Where pid is a likelier victim already and we may not change that, it stays so: what adj >= 0
// asks for, that children go before their supervisor, holds anyway.
func setOOMScoreAdj(pid, adj int) error {
	if adj == 0 {
		return nil
	}
	file := "/proc/" + strconv.Itoa(pid) + "/oom_score_adj"
	err := os.WriteFile(file, []byte(strconv.Itoa(adj)), 0)
	if errors.Is(err, fs.ErrPermission) && adj > 0 {
		if text, readErr := os.ReadFile(file); readErr == nil {
			if now, _ := strconv.Atoi(string(bytes.TrimSpace(text))); now >= adj {
				return nil
			}
		}
	}
	if err != nil {
		return fmt.Errorf("set oom_score_adj to %d: %w", adj, err)
	}
	return nil
}

// setLimits limits this process. A limit above a hard one that we may not raise becomes that one.
func setLimits(limits []rlimit) error {
	for _, l := range limits {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(l.Resource, &now); err != nil {
			return fmt.Errorf("read limit %d: %w", l.Resource, err)
		}
		// By package syscall: Setrlimit of x/sys would leave the runtime to restore, at exec, the
		// number of files it found at start.
		want := l.pair()
		err := syscall.Setrlimit(l.Resource, &want)
		if errors.Is(err, syscall.EPERM) && want.Max > now.Max {
			err = syscall.Setrlimit(l.Resource, &syscall.Rlimit{Cur: min(want.Cur, now.Max), Max: now.Max})
		}
		if err != nil {
			return fmt.Errorf("limit %s to %d: %w", limitNames[l.Resource], l.Max, err)
		}
	}
	return nil
}

// limitNames are the resources a pool may limit, under the names of its configuration.
var limitNames = map[int]string{
	unix.RLIMIT_NOFILE: "nofile",
	unix.RLIMIT_CORE:   "core",
	unix.RLIMIT_CPU:    "cpu",
	unix.RLIMIT_FSIZE:  "fsize",
}

// findProgram returns the file that name stands for, as the child's own user, directory and PATH see
// it. The error is a sentence; it is a noProgram if there is none.
func findProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		err = nil // the user named "." in PATH, and may
	}
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, exec.ErrNotFound):
		return "", noProgram(fmt.Sprintf("there is no program %q in PATH (%s)", name, os.Getenv("PATH")))
	case errors.Is(err, fs.ErrNotExist):
		wd, _ := os.Getwd()
		return "", noProgram(fmt.Sprintf("there is no file %s (seen from %s)", name, wd))
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("%s is not executable for user %d; is its x bit set, and may that user enter its directory?", name, os.Getuid())
	}
	return "", fmt.Errorf("cannot run %s: %w", name, err)
}

// execTrouble explains why the kernel would not run a file that is there.
func execTrouble(path string, err error) string {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return "it is neither a program for this machine nor a script whose first line names its interpreter (#!/bin/sh)"
	case errors.Is(err, syscall.ENOENT):
		if line := interpreter(path); line != "" {
			return "its first line names an interpreter that is not there: " + line
		}
		return "the loader that it asks for is not there"
	case errors.Is(err, syscall.E2BIG):
		return "its arguments and environment are too long"
	}
	return err.Error()
}

// interpreter returns what the first line of a script names, as far as it is worth showing.
func interpreter(path string) string {
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return ""
	}
	defer file.Close()
	head := make([]byte, 128)
	n, _ := file.Read(head)
	line, found := bytes.CutPrefix(head[:n], []byte("#!"))
	if !found {
		return ""
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	return strconv.QuoteToGraphic(strings.TrimSpace(string(line)))
}
