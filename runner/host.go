package runner

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"oarlock/protocol"
	"oarlock/runner/internal/private"
)

// HostOptions are what a host needs to know.
type HostOptions struct {
	Logger *slog.Logger // nil: slog.Default
	// PrivateRoot is the directory that holds the private directories of children;
	// it must belong to us alone. Empty: a new one below os.TempDir.
	PrivateRoot string
}

// Host owns what a process has once: the thread that starts children, the reaping
// of orphans, the clock that all deadlines are read from, the private directories.
// Its methods may be called by several goroutines.
type Host struct {
	log       *slog.Logger
	clock     *clock
	spawner   *spawner
	reaper    *reaper
	trees     *trees
	dirs      *private.Dirs
	factories factories
	tempDir   string // to be removed by Close; empty: none

	mu       sync.Mutex
	closed   bool
	children map[*Child]struct{}
	alive    sync.WaitGroup // children, and starts under way
}

// ErrClosed is returned by Start when the host was closed.
var ErrClosed = errors.New("the host of children is closed")

// NewHost makes the process fit to have children and returns their host. There
// should be one in a process; Close ends it.
func NewHost(o HostOptions) (*Host, error) {
	if !hiddenServed.Load() {
		return nil, errors.New("runner: this program must call runner.Hidden(os.Args) first thing in main")
	}
	if err := harden(); err != nil {
		return nil, err
	}
	h := &Host{log: o.Logger, children: make(map[*Child]struct{})}
	if h.log == nil {
		h.log = slog.Default()
	}
	root := o.PrivateRoot
	var err error
	if root == "" {
		if root, err = os.MkdirTemp("", "oarlock-"); err != nil {
			return nil, err
		}
		h.tempDir = root
		// Children of other users must get through to their own directories.
		if err := os.Chmod(root, 0o711); err != nil {
			return nil, errors.Join(err, os.Remove(root))
		}
	}
	if h.dirs, err = private.Open(root, h.log); err != nil {
		return nil, err
	}
	if h.reaper, err = openReaper(); err != nil {
		h.dirs.Close()
		return nil, err
	}
	h.spawner = newSpawner()
	h.spawner.do(func() error {
		h.trees = openTrees(h.reaper)
		return nil
	})
	if h.trees.noLeases != nil {
		h.log.Warn("leases are not enforced from outside this process: should it be stopped, its children work on", "why", h.trees.noLeases)
	}
	h.clock = newClock(h.look)
	return h, nil
}

// KillStrength returns how whole trees are killed where a pool does not say, and,
// if that is not the strongest there is, why no stronger one can be had.
func (h *Host) KillStrength() (strength KillStrength, why string) {
	return h.trees.strength, h.trees.why
}

// HoldsMemory reports whether the kernel holds children that are killed so to Limits.Memory. Where it does
// not, a child is looked at every MemoryWatch while it has a job.
func (h *Host) HoldsMemory(kill KillStrength) bool {
	if kill == KillAuto {
		kill = h.trees.strength
	}
	if kill != KillCgroup || h.trees.cgroups == nil {
		return false
	}
	handed, _ := os.ReadFile(filepath.Join(h.trees.cgroups.jobs(), "cgroup.subtree_control"))
	return slices.Contains(strings.Fields(string(handed)), "memory")
}

// MemoryWatch is the time between two looks at the memory of a child at work; see HoldsMemory.
const MemoryWatch = sampling

// Close kills the children that are left and returns when everything is gone.
// Their events are still sent.
func (h *Host) Close() error {
	h.mu.Lock()
	h.closed = true
	var left []*Child
	for c := range h.children {
		left = append(left, c)
	}
	h.mu.Unlock()
	for _, c := range left {
		c.Kill(CauseShutdown)
	}
	h.factories.giveUp()
	h.alive.Wait()
	h.factories.close()
	h.clock.stop()
	h.trees.close()
	h.reaper.close()
	h.spawner.close()
	h.dirs.Close()
	if h.tempDir != "" {
		return os.RemoveAll(h.tempDir)
	}
	return nil
}

// look lets every child do what is due, and returns when to look again.
func (h *Host) look(now time.Time) (next time.Time) {
	h.mu.Lock()
	all := make([]*Child, 0, len(h.children))
	for c := range h.children {
		all = append(all, c)
	}
	h.mu.Unlock()
	a := agenda{now: now}
	for _, c := range all {
		if at := c.look(now); !at.IsZero() && a.due(at) {
			a.next = now // it has come meanwhile
		}
	}
	return a.next
}

// Start starts a child for slot of a pool and returns when its process runs. A
// child of mode Once is started for its job first, whose names it finds in its
// environment and which must be given to it by Run; first is nil in other modes.
// Cancelling ctx gives up a start that has not begun.
//
// The error tells why the command could not be started; no event is sent then.
func (h *Host) Start(ctx context.Context, spec *Spec, slot int, first *protocol.Job, events Events) (*Child, error) {
	return h.StartLeased(ctx, spec, slot, first, 0, events)
}

// StartLeased is Start for a child of mode Once that has a lease from its birth on, as RunLimits.Lease says. It
// can be at work on its job before Run is called.
func (h *Host) StartLeased(ctx context.Context, spec *Spec, slot int, first *protocol.Job, lease time.Duration, events Events) (*Child, error) {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, ErrClosed
	}
	h.alive.Add(1)
	h.mu.Unlock()
	c, err := h.start(ctx, spec, slot, first, lease, events)
	if err != nil {
		h.alive.Done()
		return nil, err
	}
	h.mu.Lock()
	h.children[c] = struct{}{}
	late := h.closed
	h.mu.Unlock()
	go c.reap() // forget is its last word
	if spec.Mode == Once {
		c.mu.Lock()
		c.becomeReady()
		c.mu.Unlock()
	} else {
		c.claim()
	}
	if late {
		c.Kill(CauseShutdown)
	}
	c.attend()
	return c, nil
}

// forget is the end of a child.
func (h *Host) forget(c *Child) {
	h.mu.Lock()
	delete(h.children, c)
	h.mu.Unlock()
	h.alive.Done()
}

// spawner starts processes from a thread of its own that never ends before it:
// the death signal of a child is sent when the thread that started it ends.
type spawner struct {
	work chan func()
	done chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{work: make(chan func()), done: make(chan struct{})}
	go func() { // until close
		runtime.LockOSThread() // and not unlocked: the thread ends with the goroutine
		defer close(s.done)
		for f := range s.work {
			f()
		}
	}()
	return s
}

// do runs f on the thread and returns its error.
func (s *spawner) do(f func() error) error {
	result := make(chan error, 1)
	s.work <- func() { result <- f() }
	return <-result
}

func (s *spawner) close() {
	close(s.work)
	<-s.done
}
