package preload

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/protocol"
	"oarlock/runner/internal/tree"
)

// What a program and we tell each other, over the socket and by its output.

// reply is a line from a program.
type reply struct {
	Verb     string   `json:"@"`
	Versions []int    `json:"v"`
	Caps     []string `json:"caps"`
	Threads  int      `json:"threads"`
	PID      int      `json:"pid"`
	Message  string   `json:"message"`
	Code     int      `json:"code"`
	Signal   int      `json:"signal"`
	Core     bool     `json:"core"`
	User     float64  `json:"utime"` // seconds
	System   float64  `json:"stime"`

	fork *tree.Fork // of forked
}

// controlSocket returns our end of a new socket and the program's.
func controlSocket() (*net.UnixConn, *os.File, error) {
	ends, err := tree.SocketPair(unix.SOCK_STREAM)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(ends[0]), "preload"), os.NewFile(uintptr(ends[1]), "preload")
	defer ours.Close() // FileConn has its own
	conn, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), theirs, nil
}

// lineLimit is the longest line taken from a preloaded program, in bytes.
const lineLimit = 64 << 10

// listen takes in what f says.
func (f *program) listen() {
	lines := bufio.NewScanner(f.control)
	lines.Buffer(nil, lineLimit)
	for lines.Scan() {
		var r reply
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			f.kill(fmt.Errorf("says what is no JSON: %.100q", lines.Text()))
			return
		}
		switch r.Verb {
		case "hello":
			f.greet(&r)
		case "forked":
			var err error
			if r.fork, err = f.forked(r.PID); err != nil {
				f.kill(err)
				return
			}
			f.answer(r)
		case "forkfail":
			f.answer(r)
		case "exit":
			seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
			exit := tree.Exit{Code: r.Code, UserCPU: seconds(r.User), SystemCPU: seconds(r.System), Started: true}
			if r.Signal != 0 {
				exit.Code, exit.Signal, exit.CoreDump = -1, syscall.Signal(r.Signal), r.Core
			}
			f.forkEnded(r.PID, exit)
		}
	}
	// It has ended, which is about to be heard, or is good for nothing any more.
	select {
	case <-f.gone:
	case <-time.After(lastWords):
		f.kill(errors.New("closed its socket"))
	}
}

func (f *program) greet(r *reply) {
	switch {
	case !slices.Contains(r.Versions, protocol.Version):
		f.kill(fmt.Errorf("speaks version %v of the protocol, we speak %d", r.Versions, protocol.Version))
	case !slices.Contains(r.Caps, "fork"):
		f.kill(errors.New("cannot fork: its helper does not offer it"))
	default:
		if r.Threads > 1 {
			f.of.log.Warn("preloaded program has threads; a lock that one of them holds stays locked in every fork",
				"pool", f.Pool, "threads", r.Threads)
		}
		select {
		case <-f.hello: // said twice
		default:
			close(f.hello)
		}
	}
}

// answer passes r on to the one whose turn it is; nobody waits for a second answer.
func (f *program) answer(r reply) {
	select {
	case f.replies <- r:
	default:
	}
}

// hear passes on what f writes, and keeps the last line.
func (f *program) hear() {
	defer close(f.heard)
	defer f.Wrote(nil)
	reader := bufio.NewReaderSize(f.output, 4<<10)
	for {
		line, _, err := reader.ReadLine() // a long one comes in pieces
		if err != nil {
			return
		}
		if said := bytes.TrimSpace(line); len(said) > 0 {
			f.mu.Lock()
			f.said = string(protocol.Visible(nil, said))
			f.mu.Unlock()
		}
		f.Wrote(line)
	}
}

// fork asks for a fork.
func (f *program) fork(ctx context.Context, r Request) (tree.Process, error) {
	select {
	case <-f.hello:
	case <-f.gone:
		return nil, f.trouble()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case <-f.turn:
		defer func() { f.turn <- struct{}{} }()
	case <-f.gone:
		return nil, errGone
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := f.request(r); err != nil {
		return nil, err
	}
	// From here on ctx does not count: a fork whose pid nobody took would be lost.
	late := time.NewTimer(f.StartTimeout)
	defer late.Stop()
	select {
	case got := <-f.replies:
		if got.fork == nil {
			err := tree.CannotFork(got.Message)
			f.cannotFork(err)
			return nil, err
		}
		f.failed = 0
		f.of.forked.Add(1)
		if err := got.fork.Equip(f.Strength, f.Each); err != nil {
			got.fork.Kill()
			got.fork.Wait()
			got.fork.Release()
			return nil, err
		}
		return fork{got.fork, f}, nil
	case <-f.gone:
		return nil, f.sudden()
	case <-late.C:
		f.kill(fmt.Errorf("did not fork within %v", f.StartTimeout))
		return nil, f.trouble()
	}
}

// failedForks is how many forks of a program fail in a row, while as many other processes are started, before it is replaced.
const failedForks = 10

// cannotFork hears that a fork failed. While nothing else starts either, the host is to blame. Otherwise the program is: it may have
// too many threads, or a limit of its own. Then it ends, and the next fork is of a new one.
func (f *program) cannotFork(err error) {
	others := f.of.starter.Started() + f.of.forked.Load()
	if f.failed == 0 {
		f.before = others
	}
	if f.failed++; f.failed < failedForks || others-f.before < failedForks {
		return
	}
	f.of.log.Warn("preloaded program is replaced: its forks fail, while other processes start", "pool", f.Pool, "forks", f.failed, "err", err)
	f.kill(fmt.Errorf("failed to fork %d times in a row, while other processes started", f.failed))
}

// request sends the line that asks for a fork, with what are to be its descriptors.
func (f *program) request(r Request) error {
	var null *os.File // where a fork has nothing
	fds := make([]int, 0, len(r.Files))
	for _, file := range r.Files {
		if file == nil && null == nil {
			var err error
			if null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
				return err
			}
			defer null.Close()
		}
		fds = append(fds, int(cmp.Or(file, null).Fd()))
	}
	f.control.SetWriteDeadline(time.Now().Add(f.StartTimeout))
	if _, _, err := f.control.WriteMsgUnix(protocol.AppendFork(nil, r.Slot, r.Vars), unix.UnixRights(fds...), nil); err != nil {
		f.kill(errGone)
		return errGone
	}
	return nil
}

// sudden is trouble where the end was not our doing.
func (f *program) sudden() error {
	f.mu.Lock()
	why := f.why
	f.mu.Unlock()
	if why == nil {
		return errGone
	}
	return f.trouble()
}

// trouble says why there is no fork to be had of f, which has ended or was killed. What never
// said hello is most likely a program without the helper.
func (f *program) trouble() error {
	<-f.gone
	<-f.heard
	select {
	case <-f.hello:
		return f.story()
	default:
		return fmt.Errorf("%w (mode preload is for programs with the helper, oarlock.py or oarlock.rb; a plain script runs in mode once)", f.story())
	}
}

// story says how f came to its end.
func (f *program) story() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.why != nil && f.said != "":
		return fmt.Errorf("%w; the last it wrote: %s", f.why, f.said)
	case f.why != nil:
		return f.why
	case f.said != "":
		return fmt.Errorf("%s: %s", f.how(), f.said)
	}
	return errors.New(f.how())
}

// how says how f ended. The caller holds mu.
func (f *program) how() string { return tree.How(f.end.Code, f.end.Signal, f.end.CoreDump) }
