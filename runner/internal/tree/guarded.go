package tree

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/runner/internal/proc"
)

var errGuardGone = errors.New("the guard is gone")

// guarded is a process below a guard.
type guarded struct {
	*leader // the guard
	control *os.File
	leases  *leaseGuard

	marks []string      // in the environment of the child and, mostly, of what it starts
	known chan struct{} // closed when child is set, or never will be
	begun bool          // the guard was about to start the child
	child int
	over  chan struct{} // closed when the guard has said all; then end is set
	end   *guardReport
	ended func(pid int, exit Exit, own bool) // see StartForking; nil: of a program without forks
}

// startGuarded starts the command of l below a guard; that of a program with forks if ended is not nil.
func startGuarded(l *leader, s Settings, ended func(pid int, exit Exit, own bool)) (Process, error) {
	ends, err := SocketPair(unix.SOCK_SEQPACKET)
	if err != nil {
		return nil, fmt.Errorf("socket to a guard: %w", err)
	}
	unix.SetNonblock(ends[0], true)
	p := &guarded{leader: l, control: os.NewFile(uintptr(ends[0]), "guard"), ended: ended,
		known: make(chan struct{}), over: make(chan struct{})}
	theirs := os.NewFile(uintptr(ends[1]), "guard")
	defer theirs.Close()

	cmd := l.cmd
	for _, entry := range cmd.Env {
		if strings.HasPrefix(entry, "OARLOCK_POOL=") || strings.HasPrefix(entry, "OARLOCK_SLOT=") {
			p.marks = append(p.marks, entry)
		}
	}
	s.Dir = cmd.Dir
	order := guardOrder{Settings: s, Control: 3 + len(cmd.ExtraFiles), Forks: ended != nil}
	cmd.ExtraFiles = append(cmd.ExtraFiles[:len(cmd.ExtraFiles):len(cmd.ExtraFiles)], theirs)
	var files []*os.File
	order.Leases, files, err = p.beWatched(s.Until)
	defer closeAll(files)
	// The end of the socket tells a guard that we have died; it must live on to clean up.
	dieWithUs(cmd.SysProcAttr, false)
	if err == nil {
		err = becomeSelf(cmd, guardCommand, guardEnv, order)
	}
	if err == nil {
		err = l.starter.reaper.start(cmd)
	}
	if err != nil {
		p.Release()
		return nil, err
	}
	go p.listen() // ends with the guard; wait waits for it
	return p, nil
}

// listen takes in the reports of the guard.
func (p *guarded) listen() {
	defer close(p.over)
	packet := make([]byte, 512)
	known := false
	for {
		n, err := p.control.Read(packet)
		if err != nil || n == 0 {
			break
		}
		var r guardReport
		switch err := json.Unmarshal(packet[:n], &r); {
		case err != nil:
		case r.PID == 0:
			p.begun = true
		case !known:
			p.child, known = r.PID, true
			close(p.known)
		case r.PID == p.child:
			p.end = &r
			if p.ended != nil {
				p.ended(r.PID, r.exit(), true)
			}
		case p.ended != nil:
			p.ended(r.PID, r.exit(), false)
		}
	}
	if !known {
		close(p.known)
	}
}

// pid waits for the guard to start the child; it is 0 if it could not.
func (p *guarded) PID() int {
	<-p.known
	return p.child
}

func (p *guarded) order(packet byte) error {
	if _, err := p.control.Write([]byte{packet}); err != nil {
		return errGuardGone
	}
	return nil
}

func (p *guarded) Signal(sig syscall.Signal) error { return p.order(byte(sig)) }

func (p *guarded) Tell(sig syscall.Signal) error { return p.order(byte(sig) | tellChild) }

// guardDeadline is how long a guard that was told to kill may take before it is killed itself. It is
// its own patience and then some.
const guardDeadline = guardPatience + 2*time.Second

func (p *guarded) Kill() {
	p.leader.Signal(syscall.SIGCONT) // a stopped guard kills nobody
	if p.order(killTree) != nil {
		return
	}
	time.AfterFunc(guardDeadline, p.leader.Kill)
}

func (p *guarded) Wait() Exit {
	exit := p.leader.waitKilling(p.leader.Kill)
	<-p.over
	switch {
	case p.end != nil:
		exit = p.end.exit()
		exit.Started, exit.Left = !p.end.Unborn, p.end.Behind
		if p.end.Left > 0 {
			exit.Message = strconv.Itoa(p.end.Left) + " of its processes did not die"
		}
	case p.child != 0:
		// Somebody killed the guard, and with it, by its death signal, the child.
		exit.Lost = true
	case p.begun && exit.Code != ExitCannotRun && exit.Code != ExitNotFound && exit.Code != ExitShort && exit.Code != ExitTooBig:
		exit.Lost = true // the same, before the guard could tell that it had started the child
	default:
		exit.Started = false // the guard has said on stderr why it could not, or died before it could try
	}
	if exit.Lost && p.ended == nil {
		p.killAdopted()
	}
	exit.OOM = p.oomProof(p.child, exit)
	return exit
}

// killAdopted kills what a guard that was killed has left to us, its next of kin. What is ours by
// another way, such as what strength group leaves, has other marks; what has taken its marks off, as no
// program does by chance, lives on.
func (p *guarded) killAdopted() {
	if len(p.marks) < 2 {
		return
	}
	for end := time.Now().Add(guardPatience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		adopted := p.starter.reaper.adopted(p.marks)
		if len(adopted) == 0 {
			return
		}
		for _, pid := range adopted {
			killAll(append(proc.Descendants(pid), pid))
		}
	}
}

func (p *guarded) Release() {
	p.control.Close()
	p.leader.Release()
	p.leases.close()
}

// beWatched makes the guard one of leases: of the child's, which ends at until, or of those of the forks
// of a program, which has none itself.
func (p *guarded) beWatched(until time.Duration) (order leaseOrder, files []*os.File, err error) {
	if p.leases, err = p.starter.leases.guard(); err != nil {
		return order, nil, err
	}
	if p.ended == nil {
		if p.held, err = p.leases.lease(0, 0, 0); err != nil {
			return order, nil, err
		}
		p.held.set(until)
	}
	return p.leases.join(p.cmd)
}
