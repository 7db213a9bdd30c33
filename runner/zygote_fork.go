package runner

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/runner/internal/proc"
)

// fork is a process that a factory has forked. Until it is given its job it waits on its stdin, so what
// it gets of its own can be set from outside.
type fork struct {
	factory *factory
	number  int      // its pid
	handle  *os.File // the same as a descriptor, which stands for no later process of that number
	born    time.Time
	group   *cgroup // nil unless that is how it is killed
	mark    uint64  // of all its processes; 0: none. See equip
	start   uint64  // when it was started, as its procStat says; 0: it has ended since
	held    *lease
	over    chan struct{}
	exit    Exit // read only after over is closed
}

// forked notes a new fork. It is called before anything more of the factory is read, such as its end.
//
// The program may run under another user than we do and must not make us kill what is not its own: a
// process that is not its child is an error. One that has ended since is none.
func (f *factory) forked(pid int) (*fork, error) {
	p := &fork{factory: f, number: pid, born: time.Now(), over: make(chan struct{})}
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case err == nil:
		p.handle = os.NewFile(uintptr(fd), "fork")
	case err != unix.ESRCH:
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	if s, ok := proc.Read(pid); ok {
		if s.Parent != f.proc.pid() {
			p.close()
			return nil, fmt.Errorf("says that it forked process %d, which is no child of its own", pid)
		}
		p.start = s.Start
	}
	f.host.reaper.know(pid) // if the factory dies, it is ours
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forks[pid] = p
	f.marks++
	p.mark = f.marks % markRange
	return p, nil
}

// forkEnded notes how a fork ended. The first to know is believed.
func (f *factory) forkEnded(pid int, exit Exit) {
	f.mu.Lock()
	p := f.forks[pid]
	delete(f.forks, pid)
	f.mu.Unlock()
	if p == nil {
		return
	}
	f.host.reaper.forget(pid)
	p.exit = exit
	close(p.over)
}

// markRange is how many marks there are. Far fewer forks than that live at a time.
const markRange = 100_000

// equip gives the fork its control group or its mark, and its limits.
//
// A mark tells which fork a process comes from, when its parents are gone and it is just another orphan
// below the guard that all forks of a factory share: a resource limit, for descendants inherit it, any
// other process may read it, and none but root can raise it. The limit is that of message queues, in
// bytes, just below what it was: it is enough for any use.
func (p *fork) equip() error {
	f := p.factory
	set, err := settingsOf("", &Sandbox{Limits: Limits{CPU: f.spec.Sandbox.Limits.CPU, Memory: f.spec.Sandbox.Limits.Memory}})
	if err != nil {
		return err
	}
	switch f.kills {
	case KillCgroup:
		if p.group, err = f.host.trees.cgroups.create(set.Memory); err == nil {
			err = p.group.adopt(p.number)
		}
	case KillGuard:
		var before unix.Rlimit
		err = unix.Prlimit(p.number, unix.RLIMIT_MSGQUEUE, nil, &before)
		if err == nil {
			p.mark = min(before.Max, 1<<30) - 1 - p.mark
			err = unix.Prlimit(p.number, unix.RLIMIT_MSGQUEUE, &unix.Rlimit{Cur: p.mark, Max: p.mark}, nil)
		}
	}
	if err != nil && !errors.Is(err, syscall.ESRCH) { // ended already, which will be heard
		return fmt.Errorf("prepare a fork: %w", err)
	}
	if err := p.beWatched(); err != nil {
		return fmt.Errorf("prepare a fork: %w", err)
	}
	for _, l := range set.Limits {
		pair := l.pair()
		limit := unix.Rlimit{Cur: pair.Cur, Max: pair.Max}
		if err := unix.Prlimit(p.number, l.Resource, &limit, nil); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("limit %s of a fork to %d: %w", limitNames[l.Resource], l.Max, err)
		}
	}
	return nil
}

// beWatched gives the fork its lease, which ends when it has a job that says so.
func (p *fork) beWatched() (err error) {
	trees := p.factory.host.trees
	guarded, _ := p.factory.proc.(*guarded)
	switch {
	case p.group != nil:
		p.held, err = trees.cgroups.guard.leases.lease(p.group.number, 0, 0)
	case guarded != nil:
		p.held, err = guarded.leases.lease(int64(p.number), p.start, p.mark)
	default:
		p.held, err = trees.groupLease(p.number, p.start)
	}
	return err
}

func (p *fork) pid() int { return p.number }

func (p *fork) lease() *lease { return p.held }

// alive tells whether the fork has not ended: its number is then its own.
func (p *fork) alive() bool {
	if p.handle == nil {
		return false
	}
	alive := false
	if conn, err := p.handle.SyscallConn(); err == nil { // unlike Fd, safe against a Close meanwhile
		conn.Control(func(fd uintptr) { alive = unix.PidfdSendSignal(int(fd), 0, nil, 0) == nil })
	}
	return alive
}

func (p *fork) tell(sig syscall.Signal) error {
	if !p.alive() {
		return os.ErrProcessDone
	}
	return syscall.Kill(p.number, sig)
}

func (p *fork) signal(sig syscall.Signal) error {
	if !p.alive() {
		return os.ErrProcessDone
	}
	err := syscall.Kill(-p.number, sig)
	if err == syscall.ESRCH { // not yet the leader of its session
		err = syscall.Kill(p.number, sig)
	}
	return err
}

func (p *fork) kill() {
	p.signal(syscall.SIGKILL)
	p.killRest()
}

// killRest kills what the fork has started, and returns how many it found.
func (p *fork) killRest() int {
	switch guard, _ := p.factory.proc.(*guarded); {
	case p.group != nil:
		p.group.kill()
		return 0
	case guard != nil:
		return killMarked(p.number, p.mark, guard.pid(), guard.leader.pid())
	}
	return 0
}

// killMarked kills what a fork with that mark, of a factory below a guard, has started, and returns how
// many it found.
func killMarked(fork int, mark uint64, factory, guard int) int {
	// Its descendants are below it or, once orphans, below the guard, beside the factory.
	left := proc.Descendants(fork)
	for _, pid := range proc.Children(nil, guard) {
		if pid != factory {
			left = append(append(left, pid), proc.Descendants(pid)...)
		}
	}
	left = slices.DeleteFunc(left, func(pid int) bool { return pid == fork || !marked(pid, mark) })
	killAll(left)
	return len(left)
}

// marked tells whether pid is alive and comes from the fork with that mark.
func marked(pid int, mark uint64) bool {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_MSGQUEUE, nil, &limit); err != nil || limit.Max != mark {
		return false
	}
	return proc.Alive(pid)
}

func (p *fork) wait() Exit {
	<-p.over
	p.held.over()
	// What is left of its process group. The group keeps the number from being anybody else's; if there
	// is none left, numbers are given out in a circle that takes far longer than this.
	syscall.Kill(-p.number, syscall.SIGKILL)
	for end := time.Now().Add(guardPatience); p.killRest() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // until the killed are gone, and their children below the guard
	}
	if p.group != nil {
		awaitEmpty(p.group.path, cgroupPatience)
	}
	exit := p.exit
	if exit.Signal == syscall.SIGKILL {
		if p.group != nil && p.group.oomKills() > 0 {
			exit.OOM = fmt.Sprintf("memory.events of its control group counts oom_kill %d", p.group.oomKills())
		} else {
			exit.OOM = p.factory.host.trees.oom.proof(p.number, p.born)
		}
	}
	return exit
}

func (p *fork) release() {
	p.close()
	p.factory.release()
}

// abandon waits for the end of a fork that was killed before anybody had it.
func (p *fork) abandon() {
	p.wait()
	p.close()
}

// close gives back what the fork held itself.
func (p *fork) close() {
	if p.handle != nil {
		p.handle.Close()
	}
	p.held.close()
	if p.group != nil {
		p.group.remove()
	}
}
