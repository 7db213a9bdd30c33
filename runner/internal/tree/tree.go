// Package tree starts processes so that each can be killed with all that it ever started, tells how they
// ended, and reaps what they leave behind; a child is the root of a tree of processes, hence the name. It
// owns the thread that starts them, the control groups, the guards (processes of our own that outlive us to
// kill) and the leases by which a process is dead in time whatever happens to us. It knows no child of a
// pool, no job and no word of the protocol.
//
// What only Linux has stands in files named for it, behind functions with names of their own.
package tree

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Strength is how a process is killed with all that it started.
type Strength uint8

// The strengths, from the strongest on.
const (
	Auto   Strength = iota // the strongest there is
	Cgroup                 // a control group of its own, which the kernel kills as one: nothing escapes
	Guard                  // a guard process as parent, see guard.go: what leaves the process group is found again
	Group                  // the process group: what leaves it, by setsid, is out of reach
)

var strengthNames = [...]string{"auto", "cgroup", "guard", "group"}

// String returns the strength as it is written in a configuration.
func (s Strength) String() string {
	if int(s) < len(strengthNames) {
		return strengthNames[s]
	}
	return "unknown"
}

// ParseStrength returns the strength that String calls name.
func ParseStrength(name string) (Strength, error) {
	i := slices.Index(strengthNames[:], name)
	if i < 0 {
		return Auto, fmt.Errorf("kill %q: use one of %s", name, strings.Join(strengthNames[:], ", "))
	}
	return Strength(i), nil
}

// Starter starts processes so that each can later be killed with all that it started, and reaps what they
// leave behind. There should be one in a process. It is safe for concurrent use.
type Starter struct {
	thread   *thread
	reaper   *reaper
	oom      *oomCounter
	cgroups  *cgroups // nil where we may have none
	leases   *leases  // nil where there are none
	noLeases error    // why
	strength Strength
	why      string        // why no stronger one; empty for the strongest
	blind    string        // why a guard could not find what to kill; empty: it can
	forks    atomic.Uint64 // so far; see fork.mark
	started  atomic.Uint64 // processes so far, without forks

	mu     sync.Mutex
	groups *warden // of process groups, started with the first
}

// Open makes this process fit to have children, ends what dead supervisors left in their control groups, and
// finds out what can be had here. The program must have called Hidden.
func Open() (*Starter, error) {
	if !hiddenServed.Load() {
		return nil, errors.New("runner: this program must call runner.Hidden(os.Args) first thing in main")
	}
	if err := harden(); err != nil {
		return nil, err
	}
	r, err := openReaper()
	if err != nil {
		return nil, err
	}
	s := &Starter{thread: newThread(), reaper: r, oom: openOOMCounter(), strength: Cgroup}
	s.leases, s.noLeases = openLeases()
	err = s.thread.do(func() error { // which starts a guard
		s.cgroups, err = openCgroups(s)
		return err
	})
	if err != nil {
		s.strength, s.why = Guard, err.Error()
	}
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		s.blind = "this kernel does not list the children of a process (CONFIG_PROC_CHILDREN)"
		if s.strength == Guard {
			s.strength, s.why = Group, s.why+"; "+s.blind
		}
	}
	return s, nil
}

// Strongest returns the strength that Auto stands for, and, if that is not the strongest there is, why no
// stronger one can be had.
func (s *Starter) Strongest() (strength Strength, why string) { return s.strength, s.why }

// Unleased says why leases are not enforced from outside this process; nil: they are.
func (s *Starter) Unleased() error { return s.noLeases }

// HoldsMemory tells whether the kernel holds processes that are killed so to Settings.Memory.
func (s *Starter) HoldsMemory(strength Strength) bool {
	if strength == Auto {
		strength = s.strength
	}
	if strength != Cgroup || s.cgroups == nil {
		return false
	}
	handed, _ := os.ReadFile(filepath.Join(s.cgroups.jobs(), "cgroup.subtree_control"))
	return slices.Contains(strings.Fields(string(handed)), "memory")
}

// Resolve returns the strength that who asks for want gets; the error says why it cannot be had.
func (s *Starter) Resolve(want Strength) (Strength, error) {
	switch {
	case want == Auto:
		return s.strength, nil
	case want == Cgroup && s.cgroups == nil:
		return 0, fmt.Errorf("kill = %q cannot be had here: %s", want, s.why)
	case want == Guard && s.blind != "":
		return 0, fmt.Errorf("kill = %q cannot be had here: %s", want, s.blind)
	}
	return want, nil
}

// Close gives back what is held. All processes have ended.
func (s *Starter) Close() {
	if s.cgroups != nil {
		s.cgroups.close()
	}
	if s.groups != nil {
		s.groups.close()
	}
	s.leases.close()
	s.reaper.close()
	s.thread.close()
}

// groupLease makes the lease of the process group of a process that was started at start; see leaseRow.
func (s *Starter) groupLease(leader int, start uint64) (*lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.groups == nil && s.leases != nil {
		var err error
		if s.groups, err = startWarden(s, guardOrder{Groups: true}, ""); err != nil {
			return nil, fmt.Errorf("start the guard of process groups: %w", err)
		}
	}
	if s.groups == nil {
		return nil, nil
	}
	return s.groups.leases.lease(int64(leader), start, 0)
}

// Command returns what is to be given to Start for argv, which is not empty: a program, that its own user is
// to find, and its arguments.
func Command(argv []string) *exec.Cmd { return exec.Command(argv[0], argv[1:]...) }

// Start starts cmd, whose files, environment and directory are set and whose other attributes are ours to
// set, with strength, which is none but what Resolve gave, and set applied to it.
func (s *Starter) Start(cmd *exec.Cmd, strength Strength, set Settings) (Process, error) {
	return s.StartForking(cmd, strength, set, nil)
}

// StartForking is Start for a program whose forks may outlive it; see Forked. Where they go to its guard, that
// one stays until it is told to kill or nothing is left, and ended is told of every process it reaps, the
// program itself included (own). Otherwise they come to us. A nil ended is that of a program without forks.
func (s *Starter) StartForking(cmd *exec.Cmd, strength Strength, set Settings, ended func(pid int, exit Exit, own bool)) (p Process, err error) {
	err = s.thread.do(func() error {
		p, err = s.start(cmd, strength, set, ended)
		return err
	})
	if err == nil {
		s.started.Add(1)
	}
	return p, err
}

// Started is how many processes were started so far, without forks of programs.
func (s *Starter) Started() uint64 { return s.started.Load() }

// start is StartForking on the thread that starts processes, whose end would be theirs.
func (s *Starter) start(cmd *exec.Cmd, strength Strength, set Settings, ended func(pid int, exit Exit, own bool)) (Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithUs(cmd.SysProcAttr, true)
	l := &leader{cmd: cmd, starter: s, born: time.Now()}
	switch strength {
	case Guard:
		return startGuarded(l, set, ended)
	case Cgroup:
		return startInCgroup(l, set)
	}
	var err error
	if l.held, err = s.groupLease(0, 0); err != nil {
		return nil, err
	}
	if err := l.start(set); err != nil {
		l.Release()
		return nil, err
	}
	l.held.of(l.PID())
	l.held.set(set.Until)
	return l, nil
}
