package runner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A factory is a preloaded program that forks itself whenever it is asked to. It works no job and sees
// none: a fork gets descriptors of its own, and is then a child like any other.
//
// We share a socket with it, which it finds under OARLOCK_FORK_FD; protocol/README.md has the lines.
// Descriptors travel beside a request, so only one is on its way at a time.
type factory struct {
	host   *Host
	origin *Spec // by which others find it
	spec   *Spec // origin with its defaults
	dir    string
	proc   process
	kills  KillStrength // how its forks are killed

	control *net.UnixConn
	turn    chan struct{}     // holds a token: whose turn it is to ask for a fork
	replies chan factoryReply // to the one whose turn it is
	output  *os.File          // stdout and stderr

	hello chan struct{}  // closed when it can fork
	gone  chan struct{}  // closed when it has ended, after end is set; its forks may live on
	heard chan struct{}  // closed when its output was read to the end
	ears  sync.WaitGroup // those who listen to control and output

	mu      sync.Mutex
	why     error // why we ended it; nil: we did not
	end     Exit
	ended   bool
	said    tail
	forks   map[int]*fork // alive as far as we know, by pid
	marks   uint64        // given so far; see fork.mark
	users   int           // requests and forks that were not released
	leaving *time.Timer   // runs while there are no users
}

const (
	// factoryFD is the number of the socket in a factory.
	factoryFD = 3
	// factoryIdle is how long a factory without forks is kept. A pool at work has some all the time;
	// one that was given new code has its forks from another factory.
	factoryIdle = 10 * time.Second
	// factoryGrace is how long a factory that is to leave may take for it.
	factoryGrace = 2 * time.Second
)

// factories are those of a host, by the Spec they were started for. A new Spec, even of the same
// content, may stand for new code and has a factory of its own.
type factories struct {
	mu     sync.Mutex
	closed bool
	all    map[*Spec]*factory
	alive  sync.WaitGroup
}

// giveUp ends those that are not ready yet, for whom somebody waits, and lets no new one be started.
func (s *factories) giveUp() {
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

// close ends the factories that are left. All forks have ended.
func (s *factories) close() {
	s.mu.Lock()
	for _, f := range s.all {
		f.leave()
	}
	s.mu.Unlock()
	s.alive.Wait()
}

// errFactoryGone: the factory ended as it was to fork. It was able to before, so another one may be.
var errFactoryGone = errors.New("ended as it was to fork")

// fork makes the process of c, of mode Preload, by its factory; which it starts if there is none.
func (h *Host) fork(ctx context.Context, origin *Spec, c *Child, files channels) (process, error) {
	const tries = 2
	err := errFactoryGone
	for try := 0; try < tries && errors.Is(err, errFactoryGone); try++ {
		var f *factory
		if f, err = h.factory(origin, c.spec); err != nil {
			break
		}
		var p *fork
		if p, err = f.fork(ctx, c, files); err == nil {
			return p, nil
		}
		f.release()
	}
	return nil, fmt.Errorf("preload %s: %w", strings.Join(c.spec.Command, " "), err)
}

// factory returns the factory for origin, with one user more.
func (h *Host) factory(origin, spec *Spec) (*factory, error) {
	s := &h.factories
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.all[origin]
	if f != nil && f.use() {
		return f, nil
	}
	if s.closed {
		return nil, ErrClosed
	}
	f = &factory{
		host: h, origin: origin, spec: spec, users: 1, forks: make(map[int]*fork),
		turn: make(chan struct{}, 1), replies: make(chan factoryReply, 1),
		hello: make(chan struct{}), gone: make(chan struct{}), heard: make(chan struct{}),
	}
	if err := f.start(); err != nil {
		return nil, err
	}
	if s.all == nil {
		s.all = make(map[*Spec]*factory)
	}
	s.all[origin] = f
	s.alive.Add(1)
	go f.reap() // forget is its last word
	return f, nil
}

// forget is the end of f.
func (s *factories) forget(f *factory) {
	s.mu.Lock()
	if s.all[f.origin] == f {
		delete(s.all, f.origin)
	}
	s.mu.Unlock()
	s.alive.Done()
}

// start starts the program.
func (f *factory) start() (err error) {
	box := f.spec.Sandbox
	// What is counted or bounded per process is for each fork; see fork.equip.
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
	if f.kills, err = f.host.trees.resolve(f.spec.Kill); err != nil {
		return err
	}
	output, theirOutput, err := pipe(true)
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
	cmd := exec.Command(f.spec.Command[0], slices.Concat(f.spec.Command[1:], filled.args)...)
	cmd.Dir, cmd.Env = dir, f.environment(filled.vars)
	cmd.Stdout, cmd.Stderr = theirOutput, theirOutput
	cmd.ExtraFiles = []*os.File{theirControl} // becomes factoryFD
	f.control, f.output = control, output
	err = f.host.spawner.do(func() error {
		f.proc, err = f.host.trees.startFactory(cmd, f.kills, set, f.orphan)
		return err
	})
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
func (f *factory) environment(vars []string) []string {
	env := (&Child{spec: f.spec, dir: f.dir}).environment(vars)
	env = slices.DeleteFunc(env, func(entry string) bool {
		return strings.HasPrefix(entry, "OARLOCK_SLOT=") || strings.HasPrefix(entry, "OARLOCK_STATUS_FD=")
	})
	return append(env, "OARLOCK_FORK_FD="+strconv.Itoa(factoryFD))
}

// use counts one user more, unless f is to leave.
func (f *factory) use() bool {
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
func (f *factory) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users--; f.users == 0 && !f.ended {
		f.leaving = time.AfterFunc(factoryIdle, f.leave)
	}
}

// leave asks f to end, unless somebody uses it.
func (f *factory) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users > 0 || f.ended || f.why != nil {
		return
	}
	f.why = errors.New("is not needed any more")
	f.control.CloseWrite() // the end of its input
	time.AfterFunc(factoryGrace, func() { f.proc.kill() })
}

// kill ends f, and none of its forks, because of why.
func (f *factory) kill(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.why == nil && !f.ended {
		f.why = why
		f.proc.signal(syscall.SIGKILL)
	}
}

// reap is the only one that waits for f.
func (f *factory) reap() {
	exit := f.proc.wait()
	f.hasEnded(exit)
	f.ears.Wait()
	f.inherit()
	f.control.Close()
	f.output.Close()
	f.proc.release()
	if f.dir != "" {
		f.host.dirs.Remove(f.dir)
	}
	f.host.factories.forget(f)
}

// hasEnded notes the end of f. Below a guard it is heard of while forks live on.
func (f *factory) hasEnded(exit Exit) {
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
		f.host.log.Warn("preloaded program ended", "pool", f.spec.Pool, "how", describe(&exit))
	}
	// Its forks have let go of these, but not whatever else it has started.
	f.output.SetReadDeadline(time.Now().Add(lastWords))
	f.control.SetReadDeadline(time.Now().Add(lastWords))
	close(f.gone)
}

// orphan is told of all that the guard of f reaps: f itself, and forks that outlived it.
func (f *factory) orphan(r guardReport, own bool) {
	exit := exitOf(syscall.WaitStatus(r.Status), r.User, r.System)
	if own {
		f.hasEnded(exit)
		return
	}
	f.forkEnded(r.PID, exit)
}

// inherit waits for the forks that have outlived f and are now our own children, if nobody else told
// how they ended.
func (f *factory) inherit() {
	f.mu.Lock()
	left := make([]*fork, 0, len(f.forks))
	for _, p := range f.forks {
		left = append(left, p)
	}
	f.mu.Unlock()
	var all sync.WaitGroup
	for _, p := range left {
		all.Go(func() {
			awaitExit(p.number)
			var status syscall.WaitStatus
			var usage syscall.Rusage
			exit := Exit{Code: -1, Started: true, Lost: true}
			if pid, err := syscall.Wait4(p.number, &status, 0, &usage); err == nil && pid == p.number {
				exit = exitOf(status, time.Duration(usage.Utime.Nano()), time.Duration(usage.Stime.Nano()))
			}
			f.forkEnded(p.number, exit)
		})
	}
	all.Wait()
}
