package tree

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// leader is a process that we started and that leads a process group: strength "group", and the base
// of the others.
type leader struct {
	cmd     *exec.Cmd
	starter *Starter
	born    time.Time
	proof   *execProof
	held    *lease

	mu     sync.Mutex
	reaped bool // from then on its number may be another's
}

func (p *leader) start(s Settings) error {
	if !s.Nothing() {
		var err error
		if p.proof, err = throughShim(p.cmd, s); err != nil {
			return err
		}
	}
	err := p.starter.reaper.start(p.cmd)
	p.proof.started()
	if err != nil {
		p.proof.close()
	}
	return err
}

func (p *leader) PID() int { return p.cmd.Process.Pid }

func (p *leader) Signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return os.ErrProcessDone
	}
	return syscall.Kill(-p.PID(), sig)
}

func (p *leader) Tell(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return os.ErrProcessDone
	}
	return syscall.Kill(p.PID(), sig)
}

func (p *leader) Kill() { p.Signal(syscall.SIGKILL) }

func (p *leader) Wait() Exit {
	left := 0
	exit := p.waitKilling(func() {
		left = p.starter.reaper.orphans(p.PID())
		p.Kill()
	})
	exit.Left = left
	p.awaitGroup()
	exit.OOM = p.oomProof(p.PID(), exit)
	return exit
}

// groupPatience is how long the end of a child waits for the rest of its process group to be gone.
const groupPatience = 3 * time.Second

// awaitGroup returns when the process group of the leader, which is gone, is empty. What is in it was
// killed. Until then its number is nobody else's; and when it is, we wait in vain, once in many years.
func (p *leader) awaitGroup() {
	for end := time.Now().Add(groupPatience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if syscall.Kill(-p.PID(), 0) != nil {
			return
		}
		p.starter.reaper.reapGroup(p.PID())
	}
}

// waitKilling waits for the leader to end, calls kill for what it has left, and only then reaps the
// leader: until then its number, which is that of its group, cannot become another's.
func (p *leader) waitKilling(kill func()) Exit {
	awaitExit(p.PID())
	kill()
	p.held.over()
	p.mu.Lock()
	err := p.cmd.Wait()
	p.reaped = true
	p.mu.Unlock()
	p.starter.reaper.forget(p.PID())
	state := p.cmd.ProcessState
	if state == nil {
		return Exit{Code: -1, Started: p.proof.given(), Lost: true, Message: "its end was not seen: " + err.Error()}
	}
	exit := exitOf(state.Sys().(syscall.WaitStatus), state.UserTime(), state.SystemTime())
	exit.Started = p.proof.given()
	return exit
}

func (p *leader) Lease(until time.Duration) { p.held.set(until) }

func (p *leader) Lapsed() bool { return p.held.ended() }

func (p *leader) watched() *lease { return p.held }

func (p *leader) Release() { p.held.close() }

// oomProof returns how the kernel proves that the process, which nobody we know has killed, died for
// want of memory.
func (p *leader) oomProof(pid int, exit Exit) string {
	if exit.Signal != syscall.SIGKILL {
		return ""
	}
	return p.starter.oom.proof(pid, p.born)
}

// killAll sends each of pids SIGKILL.
func killAll(pids []int) {
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// exitOf puts what the kernel says of an ended process into our words.
func exitOf(status syscall.WaitStatus, user, system time.Duration) Exit {
	e := Exit{Code: status.ExitStatus(), UserCPU: user, SystemCPU: system, Started: true}
	if status.Signaled() {
		e.Signal, e.CoreDump = status.Signal(), status.CoreDump()
	}
	return e
}
