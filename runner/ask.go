package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"oarlock/protocol"
	"oarlock/runner/internal/tree"
)

// Question is a command that is run to answer something, and what it is asked.
type Question struct {
	Command []string // argv; no shell is involved
	Dir     string   // in which it runs; empty: ours
	Env     []string // its whole environment
	Input   []byte   // for its standard input, which then ends
	Timeout time.Duration
	Most    int // bytes that it may print; its standard error may have 64 KiB, and what is more is not kept
}

// mostComplaint is how much of its standard error is kept, of the end.
const mostComplaint = 64 << 10

// Ask runs a command, as a tree of processes that ends whole, and returns what it printed. The error is a sentence: it could not be started,
// did not end in time, printed more than it may, or ended otherwise than by code 0; that has the last line of its standard error.
// A ctx that ends kills it. When Ask returns nothing of it is left.
func (h *Host) Ask(ctx context.Context, q Question) ([]byte, error) {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, ErrClosed
	}
	h.alive.Add(1)
	h.mu.Unlock()
	defer h.alive.Done()
	ctx, cancel := context.WithTimeoutCause(ctx, q.Timeout, errTooSlow)
	defer cancel()
	a, err := h.startAsking(q)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, a.proc.Kill)
	var parts sync.WaitGroup
	var complaint []byte
	flooded := false
	parts.Go(func() {
		a.in.Write(q.Input) // one that reads nothing need not
		a.in.Close()
	})
	parts.Go(func() {
		a.answer, _ = io.ReadAll(io.LimitReader(a.out, int64(q.Most)+1))
		if flooded = len(a.answer) > q.Most; flooded {
			a.proc.Kill()
		}
	})
	parts.Go(func() { complaint = tailOf(a.err) })
	exit := a.proc.Wait()
	stop()
	a.proc.Release()
	for _, file := range []*os.File{a.out, a.err, a.in} {
		file.SetDeadline(time.Now().Add(lastWords))
	}
	parts.Wait()
	a.out.Close()
	a.err.Close()
	name := q.Command[0]
	switch {
	case flooded:
		return nil, fmt.Errorf("%s printed more than %d bytes", name, q.Most)
	case errors.Is(context.Cause(ctx), errTooSlow):
		return nil, fmt.Errorf("%s did not answer within %v%s", name, q.Timeout, complained(complaint))
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case exit.Code != 0:
		return nil, fmt.Errorf("%s %s%s", name, tree.How(exit.Code, exit.Signal, exit.CoreDump), complained(complaint))
	}
	return a.answer, nil
}

var errTooSlow = errors.New("too slow")

// asking is a command that runs, and our ends of what it reads and prints.
type asking struct {
	proc         tree.Process
	in, out, err *os.File
	answer       []byte
}

// startAsking starts the command of a question.
func (h *Host) startAsking(q Question) (a *asking, err error) {
	strength, err := h.starter.Resolve(KillAuto)
	if err != nil {
		return nil, err
	}
	a = &asking{}
	var theirs channels
	defer func() {
		theirs.close()
		if err != nil {
			ours := channels{in: a.in, out: a.out, err: a.err}
			ours.close()
		}
	}()
	if theirs.in, a.in, err = tree.Pipe(false); err != nil {
		return a, err
	}
	if a.out, theirs.out, err = tree.Pipe(true); err != nil {
		return a, err
	}
	if a.err, theirs.err, err = tree.Pipe(true); err != nil {
		return a, err
	}
	cmd := tree.Command(q.Command)
	cmd.Dir, cmd.Env = q.Dir, append(q.Env[:len(q.Env):len(q.Env)], supervisorEnv+"="+ownMark())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs.in, theirs.out, theirs.err
	if a.proc, err = h.starter.Start(cmd, strength, tree.Settings{}); err != nil {
		return a, fmt.Errorf("start %s: %w", q.Command[0], err)
	}
	return a, nil
}

// tailOf reads to the end and keeps the last mostComplaint bytes.
func tailOf(from io.Reader) (tail []byte) {
	some := make([]byte, 4096)
	for {
		n, err := from.Read(some)
		tail = append(tail, some[:n]...)
		if more := len(tail) - mostComplaint; more > 0 {
			tail = append(tail[:0], tail[more:]...)
		}
		if err != nil {
			return tail
		}
	}
}

// complained is the last line of what a command complained of, as the end of a sentence.
func complained(complaint []byte) string {
	line := protocol.Why(string(complaint))
	if line == "" {
		return ""
	}
	return ": " + string(protocol.Visible(nil, []byte(line[:min(len(line), 200)])))
}
