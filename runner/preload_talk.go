package runner

import (
	"bufio"
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

// What a preloaded program and we tell each other, over the socket and by its output.

// forkReply is a line from a preloaded program.
type forkReply struct {
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
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
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
func (f *preloaded) listen() {
	lines := bufio.NewScanner(f.control)
	lines.Buffer(nil, lineLimit)
	for lines.Scan() {
		var r forkReply
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

func (f *preloaded) greet(r *forkReply) {
	switch {
	case !slices.Contains(r.Versions, protocol.Version):
		f.kill(fmt.Errorf("speaks version %v of the protocol, we speak %d", r.Versions, protocol.Version))
	case !slices.Contains(r.Caps, "fork"):
		f.kill(errors.New("cannot fork: its helper does not offer it"))
	default:
		if r.Threads > 1 {
			f.host.log.Warn("preloaded program has threads; a lock that one of them holds stays locked in every fork",
				"pool", f.spec.Pool, "threads", r.Threads)
		}
		select {
		case <-f.hello: // said twice
		default:
			close(f.hello)
		}
	}
}

// answer passes r on to the one whose turn it is; nobody waits for a second answer.
func (f *preloaded) answer(r forkReply) {
	select {
	case f.replies <- r:
	default:
	}
}

// hear keeps and logs what f writes.
func (f *preloaded) hear() {
	defer close(f.heard)
	reader := bufio.NewReaderSize(f.output, 4<<10)
	keep := rate{perSecond: f.spec.LogRate}
	tell := func() {
		if n := keep.takeDropped(); n > 0 {
			f.host.log.Warn(TooManyLines(n), "pool", f.spec.Pool, "of", "the preloaded program")
		}
	}
	for {
		line, _, err := reader.ReadLine() // a long one comes in pieces
		if err != nil {
			tell()
			return
		}
		f.mu.Lock()
		f.said.line(line)
		f.mu.Unlock()
		if keep.pass(time.Now()) {
			tell()
			f.host.log.Info("preloaded program wrote", "pool", f.spec.Pool, "line", string(protocol.Visible(nil, line)))
		}
	}
}

// fork asks for a fork with files as its descriptors.
func (f *preloaded) fork(ctx context.Context, c *Child, files channels) (tree.Process, error) {
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
		return nil, errPreloadGone
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := f.request(c, files); err != nil {
		return nil, err
	}
	// From here on ctx does not count: a fork whose pid nobody took would be lost.
	late := time.NewTimer(f.spec.StartTimeout)
	defer late.Stop()
	select {
	case r := <-f.replies:
		if r.fork == nil {
			return nil, tree.CannotFork(r.Message)
		}
		if err := f.equip(r.fork); err != nil {
			r.fork.Kill()
			r.fork.Wait()
			r.fork.Release()
			return nil, err
		}
		return fork{r.fork, f}, nil
	case <-f.gone:
		return nil, f.sudden()
	case <-late.C:
		f.kill(fmt.Errorf("did not fork within %v", f.spec.StartTimeout))
		return nil, f.trouble()
	}
}

// request sends the line that asks for a fork, with what are to be its descriptors.
func (f *preloaded) request(c *Child, files channels) error {
	vars := map[string]string{} // what a preloaded program could not have
	for name, text := range f.spec.Vars {
		if !ofSlot(text) {
			continue
		}
		value, err := c.fill(&words{}, name, text)
		if err != nil {
			return err
		}
		vars[name] = value
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	fds := make([]int, 0, 4)
	for _, file := range []*os.File{files.in, files.out, files.err, files.status} {
		if file == nil {
			file = null
		}
		fds = append(fds, int(file.Fd()))
	}
	f.control.SetWriteDeadline(time.Now().Add(f.spec.StartTimeout))
	if _, _, err := f.control.WriteMsgUnix(protocol.AppendFork(nil, c.slot, vars), unix.UnixRights(fds...), nil); err != nil {
		f.kill(errPreloadGone)
		return errPreloadGone
	}
	return nil
}

// sudden is trouble where the end was not our doing.
func (f *preloaded) sudden() error {
	f.mu.Lock()
	why := f.why
	f.mu.Unlock()
	if why == nil {
		return errPreloadGone
	}
	return f.trouble()
}

// trouble says why there is no fork to be had of f, which has ended or was killed. What never
// said hello is most likely a program without the helper.
func (f *preloaded) trouble() error {
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
func (f *preloaded) story() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	said := lastLine(f.said.text())
	switch {
	case f.why != nil && said != "":
		return fmt.Errorf("%w; the last it wrote: %s", f.why, said)
	case f.why != nil:
		return f.why
	case said != "":
		return fmt.Errorf("%s: %s", tree.How(f.end.Code, f.end.Signal, f.end.CoreDump), said)
	}
	return errors.New(tree.How(f.end.Code, f.end.Signal, f.end.CoreDump))
}
