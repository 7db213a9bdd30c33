package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"oarlock/runner/internal/tree"
)

// A preloaded program forks itself whenever it is asked to. It works no job and sees
// none: a fork gets descriptors of its own, and is then a child like any other.
//
// We share a socket with it, which it finds under OARLOCK_FORK_FD; protocol/README.md has the lines.
// Descriptors travel beside a request, so only one is on its way at a time.
type preloaded struct {
	host   *Host
	origin *Spec // by which others find it
	spec   *Spec // origin with its defaults
	dir    string
	proc   tree.Process
	kills  KillStrength // how its forks are killed

	control *net.UnixConn
	turn    chan struct{}  // holds a token: whose turn it is to ask for a fork
	replies chan forkReply // to the one whose turn it is
	output  *os.File       // stdout and stderr

	hello chan struct{}  // closed when it can fork
	gone  chan struct{}  // closed when it has ended, after end is set; its forks may live on
	heard chan struct{}  // closed when its output was read to the end
	ears  sync.WaitGroup // those who listen to control and output

	mu      sync.Mutex
	why     error // why we ended it; nil: we did not
	end     tree.Exit
	ended   bool
	said    tail
	forks   map[int]*tree.Fork // alive as far as we know, by pid
	users   int                // requests and forks that were not released
	leaving *time.Timer        // runs while there are no users
}

const (
	// forkFD is the number of the socket in a preloaded program.
	forkFD = 3
	// preloadIdle is how long a preloaded program without forks is kept. A pool at work has some all the time;
	// one that was given new code has its forks from another program.
	preloadIdle = 10 * time.Second
	// preloadGrace is how long a preloaded program that is to leave may take for it.
	preloadGrace = 2 * time.Second
)

// preloads are the preloaded programs of a host, by the Spec they were started for. A new Spec, even of the same
// content, may stand for new code and has a program of its own.
type preloads struct {
	mu     sync.Mutex
	closed bool
	all    map[*Spec]*preloaded
	alive  sync.WaitGroup
}

// giveUp ends those that are not ready yet, for whom somebody waits, and lets no new one be started.
func (s *preloads) giveUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, f := range s.all {
		select {
		case <-f.hello:
		default:
			f.kill(ErrClosed)
		}
	}
}

// close ends the programs that are left. All forks have ended.
func (s *preloads) close() {
	s.mu.Lock()
	for _, f := range s.all {
		f.leave()
	}
	s.mu.Unlock()
	s.alive.Wait()
}

// errPreloadGone: the program ended as it was to fork. It was able to before, so another one may be.
var errPreloadGone = errors.New("ended as it was to fork")

// fork makes the process of c, of mode Preload, by its program; which it starts if there is none.
func (h *Host) fork(ctx context.Context, origin *Spec, c *Child, files channels) (tree.Process, error) {
	const tries = 2
	err := errPreloadGone
	for try := 0; try < tries && errors.Is(err, errPreloadGone); try++ {
		var f *preloaded
		if f, err = h.preloaded(origin, c.spec); err != nil {
			break
		}
		var p tree.Process
		if p, err = f.fork(ctx, c, files); err == nil {
			return p, nil
		}
		f.release()
	}
	return nil, fmt.Errorf("preload %s: %w", strings.Join(c.spec.Command, " "), err)
}

// preloaded returns the program for origin, with one user more.
func (h *Host) preloaded(origin, spec *Spec) (*preloaded, error) {
	s := &h.preloads
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.all[origin]
	if f != nil && f.use() {
		return f, nil
	}
	if s.closed {
		return nil, ErrClosed
	}
	f = &preloaded{
		host: h, origin: origin, spec: spec, users: 1, forks: make(map[int]*tree.Fork),
		turn: make(chan struct{}, 1), replies: make(chan forkReply, 1),
		hello: make(chan struct{}), gone: make(chan struct{}), heard: make(chan struct{}),
	}
	if err := f.start(); err != nil {
		return nil, err
	}
	if s.all == nil {
		s.all = make(map[*Spec]*preloaded)
	}
	s.all[origin] = f
	s.alive.Add(1)
	go f.reap() // forget is its last word
	return f, nil
}

// forget is the end of f.
func (s *preloads) forget(f *preloaded) {
	s.mu.Lock()
	if s.all[f.origin] == f {
		delete(s.all, f.origin)
	}
	s.mu.Unlock()
	s.alive.Done()
}

// start starts the program.
func (f *preloaded) start() (err error) {
	box := f.spec.Sandbox
	// What is counted or bounded per process is for each fork; see forked.
	box.Limits.CPU, box.Limits.Memory = nil, nil
	dir := f.spec.Dir
	if f.dir, err = f.host.privateDir(f.spec); err != nil {
		return err
	}
	if dir == privateWorkDir {
		dir = f.dir
	}
	defer func() {
		if err != nil && f.dir != "" {
			f.host.dirs.Remove(f.dir)
		}
	}()
	set, err := settingsOf(dir, &box)
	if err != nil {
		return err
	}
	if f.kills, err = f.host.starter.Resolve(f.spec.Kill); err != nil {
		return err
	}
	output, theirOutput, err := tree.Pipe(true)
	if err != nil {
		return err
	}
	defer theirOutput.Close()
	control, theirControl, err := controlSocket()
	if err != nil {
		output.Close()
		return err
	}
	defer theirControl.Close()

	filled, err := (&Child{spec: f.spec, slot: noSlot}).words()
	if err != nil {
		return err
	}
	cmd := tree.Command(slices.Concat(f.spec.Command, filled.args))
	cmd.Dir, cmd.Env = dir, f.environment(filled.vars)
	cmd.Stdout, cmd.Stderr = theirOutput, theirOutput
	cmd.ExtraFiles = []*os.File{theirControl} // becomes forkFD
	f.control, f.output = control, output
	f.proc, err = f.host.starter.StartForking(cmd, f.kills, set, f.orphan)
	if err != nil {
		output.Close()
		control.Close()
		return err
	}
	f.turn <- struct{}{}
	f.ears.Go(f.listen)
	f.ears.Go(f.hear)
	time.AfterFunc(f.spec.StartTimeout, func() {
		select {
		case <-f.hello:
		default:
			f.kill(fmt.Errorf("was not ready within %v", f.spec.StartTimeout))
		}
	})
	return nil
}

// environment returns that of any child of the pool, without what a fork has of its own.
func (f *preloaded) environment(vars []string) []string {
	env := (&Child{spec: f.spec, dir: f.dir}).environment(vars)
	env = slices.DeleteFunc(env, func(entry string) bool {
		return strings.HasPrefix(entry, "OARLOCK_SLOT=") || strings.HasPrefix(entry, "OARLOCK_STATUS_FD=")
	})
	return append(env, "OARLOCK_FORK_FD="+strconv.Itoa(forkFD))
}

// use counts one user more, unless f is to leave.
func (f *preloaded) use() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended || f.why != nil {
		return false
	}
	if f.leaving != nil {
		f.leaving.Stop()
		f.leaving = nil
	}
	f.users++
	return true
}

// release counts one user less.
func (f *preloaded) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users--; f.users == 0 && !f.ended {
		f.leaving = time.AfterFunc(preloadIdle, f.leave)
	}
}

// leave asks f to end, unless somebody uses it.
func (f *preloaded) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users > 0 || f.ended || f.why != nil {
		return
	}
	f.why = errors.New("is not needed any more")
	f.control.CloseWrite() // the end of its input
	time.AfterFunc(preloadGrace, func() { f.proc.Kill() })
}

// kill ends f, and none of its forks, because of why.
func (f *preloaded) kill(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.why == nil && !f.ended {
		f.why = why
		f.proc.Signal(syscall.SIGKILL)
	}
}

// reap is the only one that waits for f.
func (f *preloaded) reap() {
	exit := f.proc.Wait()
	f.hasEnded(exit)
	f.ears.Wait()
	f.adoptForks()
	f.control.Close()
	f.output.Close()
	f.proc.Release()
	if f.dir != "" {
		f.host.dirs.Remove(f.dir)
	}
	f.host.preloads.forget(f)
}

// hasEnded notes the end of f. Below a guard it is heard of while forks live on.
func (f *preloaded) hasEnded(exit tree.Exit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return
	}
	f.ended, f.end = true, exit
	if f.leaving != nil {
		f.leaving.Stop()
	}
	if f.why == nil {
		f.host.log.Warn("preloaded program ended", "pool", f.spec.Pool, "how", tree.How(exit.Code, exit.Signal, exit.CoreDump))
	}
	// Its forks have let go of these, but not whatever else it has started.
	f.output.SetReadDeadline(time.Now().Add(lastWords))
	f.control.SetReadDeadline(time.Now().Add(lastWords))
	close(f.gone)
}

// orphan is told of all that the guard of f reaps: f itself, and forks that outlived it.
func (f *preloaded) orphan(pid int, exit tree.Exit, own bool) {
	if own {
		f.hasEnded(exit)
		return
	}
	f.forkEnded(pid, exit)
}

// adoptForks waits for the forks that have outlived f and are now our own children, if nobody else told
// how they ended.
func (f *preloaded) adoptForks() {
	f.mu.Lock()
	left := slices.Collect(maps.Values(f.forks))
	f.mu.Unlock()
	var all sync.WaitGroup
	for _, p := range left {
		all.Go(func() { f.forkEnded(p.PID(), p.AwaitOrphan()) })
	}
	all.Wait()
}

// forked notes a new fork.
func (f *preloaded) forked(pid int) (*tree.Fork, error) {
	p, err := f.host.starter.Forked(f.proc, pid)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forks[pid] = p
	return p, nil
}

// forkEnded notes how a fork ended. The first to know is believed.
func (f *preloaded) forkEnded(pid int, exit tree.Exit) {
	f.mu.Lock()
	p := f.forks[pid]
	delete(f.forks, pid)
	f.mu.Unlock()
	if p != nil {
		p.Ended(exit)
	}
}

// equip gives a fork what is counted or bounded by process.
func (f *preloaded) equip(p *tree.Fork) error {
	limits := f.spec.Sandbox.Limits
	set, err := settingsOf("", &Sandbox{Limits: Limits{CPU: limits.CPU, Memory: limits.Memory}})
	if err != nil {
		return err
	}
	return p.Equip(f.kills, set)
}

// fork is the process of a child of mode Preload, which uses its program until it is released.
type fork struct {
	*tree.Fork
	of *preloaded
}

func (p fork) Release() {
	p.Fork.Release()
	p.of.release()
}
