package tree

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/runner/internal/proc"
)

// A guard is our own binary as the parent of one child. It adopts whatever the child's descendants
// leave behind (it is their subreaper), so nothing that the child ever started can get out from
// under it: when the child ends, when it is told to, and when the supervisor dies, it kills everything
// below itself, and tells how the child itself ended. It runs no code of anybody else and knows no job.
//
// Guard and supervisor share a socket of packets. Its end is the guard's sign that the supervisor has
// died, whichever way.
//
//	to the guard     one byte: a signal for the child's process group, or with tellChild for the child
//	                 alone; killTree: end everything
//	from the guard   guardReport in JSON: one without a pid when the child is about to be started, one
//	                 with the child's, then one per ended process
//
// Neither is part of a signal's number.
const (
	killTree  = 0
	tellChild = 128
)

// guardOrder is what a guard is told by its environment.
type guardOrder struct {
	Settings Settings   `json:"settings"`
	Control  int        `json:"control"`         // our end of the socket; the descriptors below it are the child's
	Forks    bool       `json:"forks,omitempty"` // it guards a program whose forks may outlive it
	Leases   leaseOrder `json:"leases,omitzero"`
	Cgroup   string     `json:"cgroup,omitempty"` // guard the control groups below this one, and start nothing
	Groups   bool       `json:"groups,omitempty"` // guard process groups, and start nothing
}

// guardReport is one packet from a guard.
type guardReport struct {
	PID    int           `json:"pid"`
	Ended  bool          `json:"ended,omitempty"`  // false: just started
	Status uint32        `json:"status,omitempty"` // as wait4 gives it
	User   time.Duration `json:"user,omitempty"`   // with all descendants that were waited for
	System time.Duration `json:"system,omitempty"`
	Left   int           `json:"left,omitempty"`   // processes that would not die
	Behind int           `json:"behind,omitempty"` // processes that were still there when the child ended by itself
	Unborn bool          `json:"unborn,omitempty"` // the shim of the child ended before it became its program
}

// exit is the end that was reported.
func (r *guardReport) exit() Exit { return exitOf(syscall.WaitStatus(r.Status), r.User, r.System) }

// guard is the state of a guard process. Everything happens in the goroutine of run.
type guard struct {
	order   guardOrder
	control *os.File
	child   int // 0 until it was started
	proof   *execProof
	watch   *watch
	killing bool
	lapsed  chan *lapsedFork // whose lease has ended; nil: that of the child
	forks   []*lapsedFork    // of which something may be left
	end     *guardReport     // of the child, once it has ended
	user    time.Duration
	system  time.Duration
}

// guardPatience is how long a guard tries to kill what does not die (a process in an uninterruptible
// system call) before it reports the end of the child without it.
const guardPatience = 3 * time.Second

// guardChild is the guard. It returns its exit code: the child's own, or as a shell would give it.
func guardChild(argv []string) int {
	// Its thread is the one whose death would kill the child.
	runtime.LockOSThread()
	g := &guard{}
	if err := takeOrder(guardEnv, &g.order); err != nil {
		return complain(ExitCannotRun, "%v", err)
	}
	switch {
	case g.order.Cgroup != "":
		hide()
		return guardCgroup(&g.order)
	case g.order.Groups:
		hide()
		return serveWarden(&g.order, killRow, func() {}) // the groups die with their leaders, and those with us
	}
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, unix.SIGCHLD, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2)
	if err := g.prepare(); err != nil {
		return complain(startCode(err), "guard: %v", err)
	}
	if err := g.start(argv); err != nil {
		return complain(startCode(err), "%v", err)
	}
	return g.run(signals)
}

// hide keeps others of our user from looking into this process. From then on its /proc/self belongs to
// root, so what lies there must be set before.
func hide() { _ = Conceal() }

// prepare makes this process fit to be a guard.
func (g *guard) prepare() error {
	resetSignals(sigCancel, sigSetXID)
	if err := closeAtExec(3); err != nil {
		return err
	}
	if err := becomeSubreaper(); err != nil {
		return err
	}
	if err := unix.SetNonblock(g.order.Control, true); err != nil {
		return err
	}
	g.control = os.NewFile(uintptr(g.order.Control), "control")
	g.lapsed = make(chan *lapsedFork)
	var err error
	g.watch, err = g.order.Leases.open()
	return err
}

// start starts the child with every descriptor we were given for it, and lets go of them: what the
// child closes shall be closed.
func (g *guard) start(argv []string) error {
	cmd := &exec.Cmd{
		Args:        argv,
		Env:         os.Environ(),
		Dir:         g.order.Settings.Dir,
		Stdin:       os.Stdin,
		Stdout:      os.Stdout,
		Stderr:      os.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	dieWithUs(cmd.SysProcAttr, true)
	for fd := 3; fd < g.order.Control; fd++ {
		cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(fd), "inherited"))
	}
	if err := g.equip(cmd); err != nil {
		return err
	}
	hide()
	g.report(guardReport{})
	err := cmd.Start()
	if err != nil {
		return startError{fmt.Sprintf("cannot run %s: %s", cmd.Path, execTrouble(cmd.Path, err)), err}
	}
	g.child = cmd.Process.Pid
	cmd.Process.Release() // we wait for every child alike
	for _, file := range cmd.ExtraFiles {
		file.Close()
	}
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		for fd := range 3 {
			duplicate(null, fd)
		}
		unix.Close(null)
	}
	g.report(guardReport{PID: g.child})
	return nil
}

// passesDown tells whether the child can inherit all its settings from the guard, which spares it the
// shim and half the time of its start: there is none that would hinder the guard, and no other user. The
// likelier victim when memory runs out is still the child, for the guard holds next to none.
func (g *guard) passesDown() bool {
	for _, l := range g.order.Settings.Limits {
		if l.Resource == unix.RLIMIT_CPU || l.Resource == unix.RLIMIT_NOFILE && l.Max < guardFiles {
			return false
		}
	}
	return g.order.Settings.User == nil
}

// guardFiles is more than the number of files that a guard ever has open.
const guardFiles = 64

// equip makes cmd start the program with its settings, or the shim that has them.
func (g *guard) equip(cmd *exec.Cmd) (err error) {
	if !g.passesDown() {
		g.proof, err = throughShim(cmd, g.order.Settings)
		return err
	}
	s := g.order.Settings
	if err := s.apply(); err != nil {
		return err
	}
	if err := setLimits(s.Limits); err != nil {
		return err
	}
	path, err := findProgram(cmd.Args[0])
	cmd.Path, cmd.Dir = path, ""
	return err
}

// run serves until everything below the guard is gone.
func (g *guard) run(signals <-chan os.Signal) int {
	orders := make(chan byte)
	go g.listen(orders) // ends with the process, as does
	if g.watch != nil {
		go g.watch.run(g.outlived)
	}
	var patience <-chan time.Time
	for g.reap() {
		var again <-chan time.Time
		if g.killing {
			if patience == nil {
				patience = time.After(guardPatience)
			}
			killAll(proc.Descendants(os.Getpid()))
			again = time.After(5 * time.Millisecond) // whatever was born meanwhile
		} else if g.killForks(); len(g.forks) > 0 {
			again = time.After(5 * time.Millisecond)
		}
		select {
		case sig := <-signals:
			if sig != unix.SIGCHLD {
				g.signal(sig.(syscall.Signal))
			}
		case order := <-orders:
			switch {
			case order == killTree:
				g.killing = true
			case order&tellChild != 0:
				g.tell(syscall.Signal(order &^ tellChild))
			default:
				g.signal(syscall.Signal(order))
			}
		case fork := <-g.lapsed:
			if fork != nil {
				g.forks = append(g.forks, fork)
			} else {
				g.killing = true
			}
		case <-again:
		case <-patience:
			return g.leave(len(proc.Descendants(os.Getpid())))
		}
	}
	return g.leave(0)
}

// lapsedFork is a fork of the program whose lease has ended.
type lapsedFork struct {
	pid      int
	mark     uint64
	patience time.Time // when to give up on what does not die
}

// outlived hears, in the goroutine that watches the leases, that one has ended.
func (g *guard) outlived(row *leaseRow) {
	var fork *lapsedFork
	if g.order.Forks {
		fork = &lapsedFork{int(row.target.Load()), row.mark.Load(), time.Now().Add(guardPatience)}
		killRow(row)
	}
	g.lapsed <- fork
}

// killForks kills what forks have started whose leases have ended, and forgets those of which nothing is left.
func (g *guard) killForks() {
	g.forks = slices.DeleteFunc(g.forks, func(f *lapsedFork) bool {
		return killMarked(f.pid, f.mark, g.child, os.Getpid()) == 0 || time.Now().After(f.patience)
	})
}

// listen passes on the supervisor's orders; when the supervisor is gone, the order is to end everything.
func (g *guard) listen(orders chan<- byte) {
	var packet [1]byte
	for {
		if n, err := g.control.Read(packet[:]); err != nil || n == 0 {
			orders <- killTree
			return
		}
		orders <- packet[0]
	}
}

// signal signals the child's group, unless the child has been reaped: its number may be another's.
func (g *guard) signal(sig syscall.Signal) {
	if g.end == nil {
		syscall.Kill(-g.child, sig)
	}
}

// tell signals the child alone.
func (g *guard) tell(sig syscall.Signal) {
	if g.end == nil {
		syscall.Kill(g.child, sig)
	}
}

// reap collects every process that has ended, and returns false when none is left below the guard.
func (g *guard) reap() bool {
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, &usage)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil: // ECHILD
			return false
		case pid == 0:
			return true
		}
		ended := guardReport{PID: pid, Ended: true, Status: uint32(status),
			User: time.Duration(usage.Utime.Nano()), System: time.Duration(usage.Stime.Nano())}
		g.user += ended.User
		g.system += ended.System
		if pid == g.child {
			ended.Unborn = !g.proof.given()
			g.end = &ended
			if !g.killing && !g.order.Forks {
				ended.Behind = proc.Living(proc.Descendants(os.Getpid()))
			}
			g.killing = g.killing || !g.order.Forks
		}
		if g.order.Forks {
			g.report(ended)
		}
	}
}

// leave tells how the child ended, and is the last thing a guard does.
func (g *guard) leave(left int) int {
	if g.end == nil {
		return ExitCannotRun // the child itself would not die
	}
	if !g.order.Forks {
		g.end.User, g.end.System, g.end.Left = g.user, g.system, left
		g.report(*g.end)
	}
	status := syscall.WaitStatus(g.end.Status)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// report sends one packet. There is nobody to tell when that fails: the supervisor has gone.
func (g *guard) report(r guardReport) {
	text, err := json.Marshal(r)
	if err == nil {
		g.control.Write(text)
	}
}
