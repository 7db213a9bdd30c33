package runner

import (
	"fmt"
	"os"
	"os/exec"
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
	strength KillStrength
	why      string // why no stronger one; empty for the strongest
	blind    string // why a guard could not find what to kill; empty: it can
}

// openTrees finds out what can be had here.
func openTrees(r *reaper) *trees {
	t := &trees{reaper: r, oom: openOOMCounter(), strength: KillCgroup}
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
	if err := l.start(s); err != nil {
		return nil, err
	}
	return l, nil
}
