package runner

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"oarlock/protocol"
	"oarlock/runner/internal/preload"
	"oarlock/runner/internal/private"
	"oarlock/runner/internal/tree"
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
	log      *slog.Logger
	clock    *clock
	starter  *tree.Starter
	dirs     *private.Dirs
	preloads *preload.Programs
	tempDir  string // to be removed by Close; empty: none

	mu       sync.Mutex
	closed   bool
	children map[*Child]struct{}
	living   atomic.Int64   // how many these are
	alive    sync.WaitGroup // children, and starts under way
}

// ErrClosed is returned by Start when the host was closed.
var ErrClosed = errors.New("the host of children is closed")

// NewHost makes the process fit to have children and returns their host. There
// should be one in a process; Close ends it.
func NewHost(o HostOptions) (*Host, error) {
	starter, err := tree.Open()
	if err != nil {
		return nil, err
	}
	h := &Host{log: o.Logger, starter: starter, children: make(map[*Child]struct{})}
	if h.log == nil {
		h.log = slog.Default()
	}
	if err := h.openDirs(o.PrivateRoot); err != nil {
		starter.Close()
		return nil, err
	}
	if why := starter.Unleased(); why != nil {
		h.log.Warn("leases are not enforced from outside this process: should it be stopped, its children work on", "why", why)
	}
	h.preloads = preload.New(starter, h.log)
	h.clock = newClock(h.look)
	return h, nil
}

// openDirs makes the private directories below root; below a new directory if that is empty.
func (h *Host) openDirs(root string) (err error) {
	if root == "" {
		if root, err = os.MkdirTemp("", "oarlock-"); err != nil {
			return err
		}
		h.tempDir = root
		// Children of other users must get through to their own directories.
		if err := os.Chmod(root, 0o711); err != nil {
			return errors.Join(err, os.Remove(root))
		}
	}
	h.dirs, err = private.Open(root, h.log)
	return err
}

// KillStrength returns how whole trees are killed where a pool does not say, and,
// if that is not the strongest there is, why no stronger one can be had.
func (h *Host) KillStrength() (strength KillStrength, why string) {
	return h.starter.Strongest()
}

// HoldsMemory reports whether the kernel holds children that are killed so to Limits.Memory. Where it does
// not, a child is looked at every MemoryWatch while it has a job.
func (h *Host) HoldsMemory(kill KillStrength) bool { return h.starter.HoldsMemory(kill) }

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
	h.preloads.GiveUp(ErrClosed)
	h.alive.Wait()
	h.preloads.Close()
	h.clock.stop()
	h.starter.Close()
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
	h.living.Add(1)
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

// Living is how many children are not gone. It waits for nothing.
func (h *Host) Living() int { return int(h.living.Load()) }

// forget is the end of a child.
func (h *Host) forget(c *Child) {
	h.mu.Lock()
	delete(h.children, c)
	h.living.Add(-1)
	h.mu.Unlock()
	h.alive.Done()
}

// ChildOf tells whether a process is proved to be a child of ours, or started by one: it is in a control group that we made for one.
// pool is that of the child, "" where that has ended. Without control groups nothing is proved.
func (h *Host) ChildOf(pid int) (pool string, is bool) {
	groups, is := h.starter.InJobs(pid)
	if !is {
		return "", false
	}
	h.mu.Lock()
	all := slices.Collect(maps.Keys(h.children))
	h.mu.Unlock()
	for _, c := range all {
		if theirs, is := h.starter.InJobs(c.pid); is && theirs == groups {
			return c.spec.Pool, true
		}
	}
	return "", true
}
