package tree

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/runner/internal/proc"
)

// reaper reaps the processes that we have not started but adopted, as the subreaper of all that our
// children leave behind. It never takes the status of a child that somebody in this process waits for:
// a plain wait for any process would.
type reaper struct {
	mu    sync.Mutex
	known map[int]struct{} // started by us and waited for by whoever started it

	stop    chan struct{}
	stopped chan struct{}
}

// openReaper makes this process a subreaper and starts to reap.
func openReaper() (*reaper, error) {
	if err := becomeSubreaper(); err != nil {
		return nil, os.NewSyscallError("become a subreaper", err)
	}
	r := &reaper{known: make(map[int]struct{}), stop: make(chan struct{}), stopped: make(chan struct{})}
	go r.run() // until close
	return r, nil
}

// close stops reaping.
func (r *reaper) close() {
	close(r.stop)
	<-r.stopped
}

// start starts cmd as a child whose status the caller will take; it calls forget afterwards.
func (r *reaper) start(cmd *exec.Cmd) error {
	r.mu.Lock() // or we might reap a child that ends before its number is known
	defer r.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	r.known[cmd.Process.Pid] = struct{}{}
	return nil
}

// know leaves pid, which may become our child by adoption, to the caller; see forget.
func (r *reaper) know(pid int) {
	r.mu.Lock()
	r.known[pid] = struct{}{}
	r.mu.Unlock()
}

// forget says that pid has been reaped, or that nobody will.
func (r *reaper) forget(pid int) {
	r.mu.Lock()
	delete(r.known, pid)
	r.mu.Unlock()
}

// adopted returns the living processes that we have adopted and whose environment has these entries.
func (r *reaper) adopted(marks []string) (pids []int) {
	r.mu.Lock() // or one that is just being started would look adopted
	defer r.mu.Unlock()
	for _, pid := range proc.Children(nil, os.Getpid()) {
		if _, known := r.known[pid]; known {
			continue
		}
		env := proc.Environment(pid) // empty of a zombie
		if !slices.ContainsFunc(marks, func(mark string) bool { return !bytes.Contains(env, []byte("\x00"+mark+"\x00")) }) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// orphans counts the living processes that we have adopted and that are in the group which leader, a
// child of ours that has ended, led.
func (r *reaper) orphans(leader int) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pid := range proc.Children(nil, os.Getpid()) {
		if _, known := r.known[pid]; known {
			continue
		}
		if s, there := proc.Read(pid); there && s.Group == leader && s.State != 'Z' {
			n++
		}
	}
	return n
}

// reapGroup reaps at once what we have adopted of the group which leader, a child of ours that is gone,
// led: that can be nobody's whom somebody else waits for.
func (r *reaper) reapGroup(leader int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pid := range proc.Children(nil, os.Getpid()) {
		if _, known := r.known[pid]; known {
			continue
		}
		if s, there := proc.Read(pid); there && s.Group == leader && s.State == 'Z' {
			syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// reapPause is the time between two looks, of which there are two before a zombie is reaped: other
// parts of this program may have children of their own, which they wait for themselves, at once.
const reapPause = 300 * time.Millisecond

// run looks for zombies some time after any process of ours has ended, and sleeps otherwise.
func (r *reaper) run() {
	defer close(r.stopped)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	defer signal.Stop(ended)
	var look <-chan time.Time
	seen := map[int]uint64{} // zombies of the last look, by pid, with the time of their start
	for {
		select {
		case <-r.stop:
			return
		case <-ended:
			if look == nil {
				look = time.After(reapPause)
			}
		case <-look:
			look = nil
			if seen = r.reap(seen); len(seen) > 0 {
				look = time.After(reapPause)
			}
		}
	}
}

// reap reaps the adopted zombies which are in seen, and returns those that are not.
func (r *reaper) reap(seen map[int]uint64) map[int]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	fresh := map[int]uint64{}
	for _, pid := range proc.Children(nil, os.Getpid()) {
		if _, known := r.known[pid]; known {
			continue
		}
		s, ok := proc.Read(pid)
		if !ok || s.State != 'Z' {
			continue
		}
		if start, twice := seen[pid]; twice && start == s.Start {
			syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		} else {
			fresh[pid] = s.Start
		}
	}
	return fresh
}
