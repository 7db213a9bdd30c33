// Package preload has programs that have loaded themselves fork whenever that is asked for: mode preload. It
// owns these programs, what is said over the socket that we share with each, and who takes notice of the end of
// a fork. It knows no child and no job: a fork is a process with the files it was asked for.
package preload

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"oarlock/runner/internal/tree"
)

// Order says how a program is started. It must not change.
type Order struct {
	Pool         string        // for the log
	Argv         []string      // not empty
	Env          []string      // all of the environment but the descriptor of the socket
	Dir          string        // working directory; empty: ours
	Strength     tree.Strength // how the program and its forks are killed, as Resolve gave it
	Settings     tree.Settings // of the program, which its forks inherit
	Each         tree.Settings // of each fork by itself: Limits and Memory
	StartTimeout time.Duration // to its hello, and from each request to the fork

	// Wrote is given each line of what the program prints, valid during the call, from one goroutine; nil at
	// the end. What is longer than 4 KiB comes in pieces.
	Wrote func(line []byte)
	// Over is called when the program is gone, with all that it printed told.
	Over func()
}

// Request says what a fork gets of its own.
type Request struct {
	Slot  int
	Vars  map[string]string // in its environment, besides those of the program
	Files [4]*os.File       // 0 to 3 in the fork; nil: /dev/null
}

// Programs are the programs of a supervisor, each by the key it was first asked for. Another key, even for the
// same content, may stand for new code and has a program of its own. Its methods may be called by several
// goroutines.
type Programs struct {
	starter *tree.Starter
	log     *slog.Logger
	forked  atomic.Uint64 // forks so far

	mu     sync.Mutex
	closed error // why no new one is started; nil: one may be
	all    map[any]*program
	alive  sync.WaitGroup
}

// New has programs started by starter, which outlives them.
func New(starter *tree.Starter, log *slog.Logger) *Programs {
	return &Programs{starter: starter, log: log, all: make(map[any]*program)}
}

// Fork returns a new fork of the program of that key, which is started, as order says, if there is none. It
// waits for it to be ready, until ctx ends.
func (s *Programs) Fork(ctx context.Context, key any, order func() (*Order, error), r Request) (tree.Process, error) {
	const tries = 2
	err := errGone
	for try := 0; try < tries && errors.Is(err, errGone); try++ {
		var f *program
		if f, err = s.program(key, order); err != nil {
			break
		}
		var p tree.Process
		if p, err = f.fork(ctx, r); err == nil {
			return p, nil
		}
		f.release()
	}
	return nil, err
}

// GiveUp ends, because of why, those that are not ready yet, for whom somebody waits, and lets no new one be
// started.
func (s *Programs) GiveUp(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = why
	for _, f := range s.all {
		select {
		case <-f.hello:
		default:
			f.kill(why)
		}
	}
}

// Close ends the programs that are left and returns when they are gone. All forks were released.
func (s *Programs) Close() {
	s.mu.Lock()
	for _, f := range s.all {
		f.leave()
	}
	s.mu.Unlock()
	s.alive.Wait()
}

// errGone: the program ended as it was to fork. It was able to before, so another one may be.
var errGone = errors.New("ended as it was to fork")

// program returns the program for key, with one user more.
func (s *Programs) program(key any, order func() (*Order, error)) (*program, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.all[key]; f != nil && f.use() {
		return f, nil
	}
	if s.closed != nil {
		return nil, s.closed
	}
	o, err := order()
	if err != nil {
		return nil, err
	}
	f := &program{
		Order: o, of: s, key: key, users: 1, forks: make(map[int]*tree.Fork),
		turn: make(chan struct{}, 1), replies: make(chan reply, 1),
		hello: make(chan struct{}), gone: make(chan struct{}), heard: make(chan struct{}),
	}
	if err := f.start(); err != nil {
		o.Over()
		return nil, err
	}
	s.all[key] = f
	s.alive.Add(1)
	go f.reap() // forget is its last word
	return f, nil
}

// forget is the end of f.
func (s *Programs) forget(f *program) {
	s.mu.Lock()
	if s.all[f.key] == f {
		delete(s.all, f.key)
	}
	s.mu.Unlock()
	s.alive.Done()
}

// program is one of them. It works no job and sees none.
//
// We share a socket with it, which it finds under OARLOCK_FORK_FD; protocol/README.md has the lines.
// Descriptors travel beside a request, so only one is on its way at a time.
type program struct {
	*Order
	of   *Programs
	key  any
	proc tree.Process

	control *net.UnixConn
	turn    chan struct{} // holds a token: whose turn it is to ask for a fork
	failed  int           // forks in a row that failed; of the holder of the turn, as is the next
	before  uint64        // processes that had been started when the first of them did
	replies chan reply    // to the one whose turn it is
	output  *os.File      // stdout and stderr

	hello     chan struct{}  // closed when it can fork
	gone      chan struct{}  // closed when it has ended, after end is set; its forks may live on
	heard     chan struct{}  // closed when its output was read to the end
	listening sync.WaitGroup // those who listen to control and output

	mu      sync.Mutex
	why     error // why we ended it; nil: we did not
	end     tree.Exit
	ended   bool
	said    string             // the last line that it wrote
	forks   map[int]*tree.Fork // alive as far as we know, by pid
	users   int                // requests and forks that were not released
	leaving *time.Timer        // runs while there are no users
}

const (
	// socketFD is the number of the socket in a program.
	socketFD = 3
	// idle is how long a program without forks is kept. A pool at work has some all the time; one that was
	// given new code has its forks from another program.
	idle = 10 * time.Second
	// grace is how long a program that is to leave may take for it.
	grace = 2 * time.Second
	// lastWords is how long the output and the socket of a program that is gone are read on: something else
	// that it has started may hold them open for ever.
	lastWords = 250 * time.Millisecond
)

// start starts the program.
func (f *program) start() error {
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
	cmd := tree.Command(f.Argv)
	cmd.Dir, cmd.Env = f.Dir, append(slices.Clone(f.Env), "OARLOCK_FORK_FD="+strconv.Itoa(socketFD))
	cmd.Stdout, cmd.Stderr = theirOutput, theirOutput
	cmd.ExtraFiles = []*os.File{theirControl} // becomes socketFD
	f.control, f.output = control, output
	if f.proc, err = f.of.starter.StartForking(cmd, f.Strength, f.Settings, f.orphan); err != nil {
		output.Close()
		control.Close()
		return err
	}
	f.turn <- struct{}{}
	f.listening.Go(f.listen)
	f.listening.Go(f.hear)
	time.AfterFunc(f.StartTimeout, func() {
		select {
		case <-f.hello:
		default:
			f.kill(fmt.Errorf("was not ready within %v", f.StartTimeout))
		}
	})
	return nil
}

// use counts one user more, unless f is to leave.
func (f *program) use() bool {
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
func (f *program) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users--; f.users == 0 && !f.ended {
		f.leaving = time.AfterFunc(idle, f.leave)
	}
}

// leave asks f to end, unless somebody uses it.
func (f *program) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users > 0 || f.ended || f.why != nil {
		return
	}
	f.why = errors.New("is not needed any more")
	f.control.CloseWrite() // the end of its input
	time.AfterFunc(grace, func() { f.proc.Kill() })
}

// kill ends f, and none of its forks, because of why.
func (f *program) kill(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.why == nil && !f.ended {
		f.why = why
		f.proc.Signal(syscall.SIGKILL)
	}
}

// reap is the only one that waits for f.
func (f *program) reap() {
	exit := f.proc.Wait()
	f.hasEnded(exit)
	f.listening.Wait()
	f.adoptForks()
	f.control.Close()
	f.output.Close()
	f.proc.Release()
	f.Over()
	f.of.forget(f)
}

// hasEnded notes the end of f. Below a guard it is heard of while forks live on.
func (f *program) hasEnded(exit tree.Exit) {
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
		f.of.log.Warn("preloaded program ended", "pool", f.Pool, "how", tree.How(exit.Code, exit.Signal, exit.CoreDump))
	}
	// Its forks have let go of these, but not whatever else it has started.
	f.output.SetReadDeadline(time.Now().Add(lastWords))
	f.control.SetReadDeadline(time.Now().Add(lastWords))
	close(f.gone)
}

// orphan is told of all that the guard of f reaps: f itself, and forks that outlived it.
func (f *program) orphan(pid int, exit tree.Exit, own bool) {
	if own {
		f.hasEnded(exit)
		return
	}
	f.forkEnded(pid, exit)
}

// adoptForks waits for the forks that have outlived f and are now our own children, if nobody else told
// how they ended.
func (f *program) adoptForks() {
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
func (f *program) forked(pid int) (*tree.Fork, error) {
	p, err := f.of.starter.Forked(f.proc, pid)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forks[pid] = p
	return p, nil
}

// forkEnded notes how a fork ended. The first to know is believed.
func (f *program) forkEnded(pid int, exit tree.Exit) {
	f.mu.Lock()
	p := f.forks[pid]
	delete(f.forks, pid)
	f.mu.Unlock()
	if p != nil {
		p.Ended(exit)
	}
}

// fork is a fork that uses its program until it is released.
type fork struct {
	*tree.Fork
	of *program
}

func (p fork) Release() {
	p.Fork.Release()
	p.of.release()
}
