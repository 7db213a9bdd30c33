package runner

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// trees starts processes so that each can later be killed with all that it started, in one of three
// strengths:
//
//	cgroup  the child has a control group of its own, which the kernel kills as one
//	guard   the child has a guard as its parent; see guard.go
//	group   the child leads a process group; what leaves the group, by setsid, is out of reach
//
// It is safe for concurrent use.
type trees struct {
	reaper   *reaper
	oom      *oomCounter
	cgroups  *cgroups // nil where we may have none
	leases   *leases  // nil where there are none
	noLeases error    // why
	strength KillStrength
	why      string // why no stronger one; empty for the strongest
	blind    string // why a guard could not find what to kill; empty: it can

	mu     sync.Mutex
	groups *warden // of process groups, started with the first
}

// openTrees finds out what can be had here.
func openTrees(r *reaper) *trees {
	t := &trees{reaper: r, oom: openOOMCounter(), strength: KillCgroup}
	t.leases, t.noLeases = openLeases()
	var err error
	if t.cgroups, err = openCgroups(t); err != nil {
		t.strength, t.why = KillGuard, err.Error()
	}
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		t.blind = "this kernel does not list the children of a process (CONFIG_PROC_CHILDREN)"
		if t.strength == KillGuard {
			t.strength, t.why = KillGroup, t.why+"; "+t.blind
		}
	}
	return t
}

// resolve returns what strength a pool that asks for want gets.
func (t *trees) resolve(want KillStrength) (KillStrength, error) {
	switch {
	case want == KillAuto:
		return t.strength, nil
	case want == KillCgroup && t.cgroups == nil:
		return 0, fmt.Errorf("kill = %q cannot be had here: %s", want, t.why)
	case want == KillGuard && t.blind != "":
		return 0, fmt.Errorf("kill = %q cannot be had here: %s", want, t.blind)
	}
	return want, nil
}

// close gives back what is held. All processes have ended.
func (t *trees) close() {
	if t.cgroups != nil {
		t.cgroups.close()
	}
	if t.groups != nil {
		t.groups.close()
	}
	t.leases.close()
}

// groupLease makes the lease of the process group of a process that was started at start; see leaseRow.
func (t *trees) groupLease(leader int, start uint64) (*lease, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.groups == nil && t.leases != nil {
		var err error
		if t.groups, err = startWarden(t, guardOrder{Groups: true}, ""); err != nil {
			return nil, fmt.Errorf("start the guard of process groups: %w", err)
		}
	}
	if t.groups == nil {
		return nil, nil
	}
	return t.groups.leases.lease(int64(leader), start, 0)
}

// start starts cmd, whose files, environment and directory are set and whose other attributes are
// ours to set, with strength and s applied to it. It must be called on the thread that starts
// children, whose end would be theirs.
func (t *trees) start(cmd *exec.Cmd, strength KillStrength, s settings) (process, error) {
	return t.startFactory(cmd, strength, s, nil)
}

// startFactory is start for a child whose own children may outlive it. Where they go to its guard, that
// one stays until it is told to kill or nothing is left, and orphans is told of every process it reaps,
// the child itself included (own). Otherwise they come to us.
func (t *trees) startFactory(cmd *exec.Cmd, strength KillStrength, s settings, orphans func(r guardReport, own bool)) (process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	l := &leader{cmd: cmd, trees: t, born: time.Now()}
	switch strength {
	case KillGuard:
		return startGuarded(l, s, orphans)
	case KillCgroup:
		return startInCgroup(l, s)
	}
	var err error
	if l.held, err = t.groupLease(0, 0); err != nil {
		return nil, err
	}
	if err := l.start(s); err != nil {
		l.release()
		return nil, err
	}
	l.held.of(l.pid())
	l.held.set(s.until)
	return l, nil
}
