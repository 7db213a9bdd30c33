package tree

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"oarlock/runner/internal/proc"
)

// Fork is a process that was forked by one of ours, its parent. Until it is given something to do it waits
// on its stdin, so what it gets of its own can be set from outside.
type Fork struct {
	starter *Starter
	parent  Process
	number  int      // its pid
	handle  *os.File // the same as a descriptor, which stands for no later process of that number; nil: it had ended when we were told of it
	born    time.Time
	group   *cgroup // nil unless that is how it is killed
	mark    uint64  // of all its processes; 0: none. See Equip
	start   uint64  // when it was started, as proc.Stat says; 0: it has ended since
	held    *lease
	over    chan struct{}
	exit    Exit // read only after over is closed
}

// Forked takes pid on, which parent says that it forked. It is called before anything more of the parent is
// heard, such as its end; who calls it calls Ended when the fork has, and Release at last.
//
// The parent may run under another user than we do and must not make us kill what is not its own: a
// process that is not its child is an error. One that has ended since is none.
func (s *Starter) Forked(parent Process, pid int) (*Fork, error) {
	if pid <= 1 { // to a signal, everybody
		return nil, notForked(pid)
	}
	p := &Fork{starter: s, parent: parent, number: pid, born: time.Now(), over: make(chan struct{})}
	var err error
	if p.handle, err = openProcess(pid); err != nil {
		return nil, err
	}
	above, known := 0, false
	if _, inGroup := parent.(*inCgroup); inGroup { // its lease needs no start
		above, known = parentOf(p.handle)
	}
	if !known {
		var s proc.Stat
		s, known = proc.Read(pid)
		above, p.start = s.Parent, s.Start
	}
	if known && above != parent.PID() {
		p.Release()
		return nil, notForked(pid)
	}
	s.reaper.know(pid) // if the parent dies, it is ours
	p.mark = s.forks.Add(1) % markRange
	return p, nil
}

func notForked(pid int) error {
	return fmt.Errorf("says that it forked process %d, which is no child of its own", pid)
}

// Ended tells how the fork ended. It is called once.
func (p *Fork) Ended(exit Exit) {
	p.starter.reaper.forget(p.number)
	p.exit = exit
	close(p.over)
}

// AwaitOrphan waits for the fork whose parent has ended before it, which is now our own child if nobody else
// is to tell how it ended.
func (p *Fork) AwaitOrphan() Exit {
	awaitExit(p.number)
	var status syscall.WaitStatus
	var usage syscall.Rusage
	if pid, err := syscall.Wait4(p.number, &status, 0, &usage); err == nil && pid == p.number {
		return exitOf(status, time.Duration(usage.Utime.Nano()), time.Duration(usage.Stime.Nano()))
	}
	return Exit{Code: -1, Started: true, Lost: true}
}

// markRange is how many marks there are. Far fewer forks than that live at a time.
const markRange = 100_000

// Equip gives the fork, of a parent that was started with strength, what is counted or bounded by process:
// a control group or a mark, a lease, and the Limits and Memory of set.
//
// A mark tells which fork a process comes from, when its parents are gone and it is just another orphan
// below the guard that all forks of a program share: a resource limit, for descendants inherit it, any
// other process may read it, and none but root can raise it. The limit is that of message queues, in
// bytes, just below what it was: it is enough for any use.
func (p *Fork) Equip(strength Strength, set Settings) (err error) {
	if p.handle == nil { // nobody knows whose number that is, or was
		return nil
	}
	switch strength {
	case Cgroup:
		if p.group, err = p.starter.cgroups.create(set.Memory); err == nil {
			err = p.group.adopt(p.number)
		}
	case Guard:
		p.mark, err = setMark(p.number, p.mark)
	}
	if err != nil && !errors.Is(err, syscall.ESRCH) { // ended already, which will be heard
		return fmt.Errorf("prepare a fork: %w", err)
	}
	if err := p.beWatched(); err != nil {
		return fmt.Errorf("prepare a fork: %w", err)
	}
	for _, l := range set.Limits {
		if err := limitOther(p.number, l); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("limit %s of a fork to %d: %w", limitNames[l.Resource], l.Max, err)
		}
	}
	return nil
}

// beWatched gives the fork its lease, which ends when it has a job that says so.
func (p *Fork) beWatched() (err error) {
	guarded, _ := p.parent.(*guarded)
	switch {
	case p.group != nil:
		p.held, err = p.starter.cgroups.guard.leases.lease(p.group.number, 0, 0)
	case guarded != nil:
		p.held, err = guarded.leases.lease(int64(p.number), p.start, p.mark)
	default:
		p.held, err = p.starter.groupLease(p.number, p.start)
	}
	return err
}

// The methods of a Process.

func (p *Fork) PID() int { return p.number }

func (p *Fork) Lease(until time.Duration) { p.held.set(until) }

func (p *Fork) Lapsed() bool { return p.held.ended() }

func (p *Fork) watched() *lease { return p.held }

// alive tells whether the fork has not ended: its number is then its own.
func (p *Fork) alive() bool {
	if p.handle == nil {
		return false
	}
	return processLives(p.handle)
}

func (p *Fork) Tell(sig syscall.Signal) error {
	if !p.alive() {
		return os.ErrProcessDone
	}
	return syscall.Kill(p.number, sig)
}

func (p *Fork) Signal(sig syscall.Signal) error {
	if !p.alive() {
		return os.ErrProcessDone
	}
	err := syscall.Kill(-p.number, sig)
	if err == syscall.ESRCH { // not yet the leader of its session
		err = syscall.Kill(p.number, sig)
	}
	return err
}

func (p *Fork) Kill() {
	p.Signal(syscall.SIGKILL)
	p.killRest()
}

// killRest kills what the fork has started, and returns how many it found.
func (p *Fork) killRest() int {
	switch guard, _ := p.parent.(*guarded); {
	case p.group != nil:
		p.group.kill()
		return 0
	case guard != nil:
		return killMarked(p.number, p.mark, guard.PID(), guard.leader.PID())
	}
	return 0
}

// killMarked kills what a fork with that mark, of a program below a guard, has started, and returns how
// many it found.
func killMarked(fork int, mark uint64, program, guard int) int {
	// Its descendants are below it or, once orphans, below the guard, beside the program.
	left := proc.Descendants(fork)
	for _, pid := range proc.Children(nil, guard) {
		if pid != program {
			left = append(append(left, pid), proc.Descendants(pid)...)
		}
	}
	left = slices.DeleteFunc(left, func(pid int) bool { return pid == fork || !marked(pid, mark) })
	killAll(left)
	return len(left)
}

func (p *Fork) Wait() Exit {
	<-p.over
	p.held.over()
	// What is left of its process group. The group keeps the number from being anybody else's; if there
	// is none left, numbers are given out in a circle that takes far longer than this. One that had ended before it had anything to do has left none,
	// and the group may be a stranger's.
	if p.handle != nil {
		syscall.Kill(-p.number, syscall.SIGKILL)
	}
	if p.group != nil && p.exit.Signal != syscall.SIGKILL && p.group.discard() {
		return p.exit
	}
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
			exit.OOM = p.starter.oom.proof(p.number, p.born)
		}
	}
	return exit
}

func (p *Fork) Release() {
	if p.handle != nil {
		p.handle.Close()
	}
	p.held.close()
	if p.group != nil {
		p.group.remove()
	}
}
