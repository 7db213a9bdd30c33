package tree

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"

	"oarlock/runner/internal/early"
)

// The hidden subcommands. Between fork and exec a Go program can do almost nothing, so what has to be
// set for one child alone (limits, umask, user, no_new_privs) is set by our own binary, started in the
// child's place, which then becomes the child by exec.
const (
	execCommand  = early.Subcommand // becomes the program; see package early for how most do
	guardCommand = "guard-child"    // stays, as the parent of everything the program starts
)

// The environment entries that carry the orders of the hidden subcommands. They hold settings, never
// anything of a job, and are gone from the environment of the program.
const (
	execEnv  = early.Full
	guardEnv = "OARLOCK_GUARD"
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

// execOrder is what the shim is told by its environment.
type execOrder struct {
	Settings
	Parent int `json:"parent"` // the process whose death is to be the child's
	Files  int `json:"files"`  // descriptors the child keeps: 0 up to, not including, this
	Proof  int `json:"proof"`  // the descriptor to prove by that the program was begun
}

// throughShim changes cmd so that it applies s before it becomes its program. The death of the process
// that calls cmd.Start will kill it. Call it once the command's files and environment are complete.
func throughShim(cmd *exec.Cmd, s Settings) (*execProof, error) {
	order := execOrder{Settings: s, Parent: os.Getpid(), Files: 3 + len(cmd.ExtraFiles)}
	order.Dir = cmd.Dir
	proof, fd, err := newExecProof(cmd)
	if err != nil {
		return nil, err
	}
	order.Proof = fd
	if quick, simple := order.early(); simple {
		cmd.Env = slices.Concat(cmd.Env, []string{early.Env + "=" + quick.Text()})
	}
	if err := becomeSelf(cmd, execCommand, execEnv, order); err != nil {
		proof.started()
		proof.close()
		return nil, err
	}
	return proof, nil
}

// early returns the order as package early takes it, if there is nothing in it that it does not know.
func (o *execOrder) early() (quick early.Order, simple bool) {
	quick = early.Order{Parent: o.Parent, Files: o.Files, Proof: o.Proof, Dir: o.Dir, OOMScoreAdj: o.OOMScoreAdj, NoNewPrivs: o.NoNewPrivs}
	for _, l := range o.Limits {
		quick.Limits = append(quick.Limits, early.Limit{Resource: l.Resource, Rlimit: l.pair()})
	}
	return quick, o.Umask == nil && o.Nice == 0 && o.User == nil && !holdsAmbient()
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
	cmd.Env = slices.Concat(cmd.Env, prompt, []string{entry + "=" + string(text)})
	return nil
}

// takeOrder reads our entry out of the environment and removes it.
func takeOrder(entry string, order any) error {
	ownEnvironment()
	text := os.Getenv(entry)
	if text == "" {
		return errors.New("this subcommand is for the supervisor's own use")
	}
	os.Unsetenv(entry)
	os.Unsetenv(early.Env)
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
		return complain(startCode(err), "%v", err)
	}
	path, err := findProgram(argv[0])
	if err != nil {
		return complain(startCode(err), "%v", err)
	}
	// Last, because the Go runtime itself may not live under the limits of the child.
	if err := setLimits(order.Limits); err != nil {
		return complain(ExitCannotRun, "%v", err)
	}
	execPoint(order.Proof)
	err = syscall.Exec(path, argv, os.Environ())
	execPoint(order.Proof)
	return complain(startCode(err), "cannot run %s: %s", path, execTrouble(path, err))
}

// complain writes why a child could not be started, as one line.
func complain(code int, format string, args ...any) int {
	fmt.Fprintf(os.Stderr, "oarlock: %s\n", fmt.Sprintf(format, args...))
	return code
}
