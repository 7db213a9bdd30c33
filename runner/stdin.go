package runner

import (
	"os"
	"sync"
	"syscall"

	"oarlock/internal/nowait"
)

// stdin is our end of the pipe to a child. What the pipe has room for is written
// at once; the rest by a goroutine that ends when all is written or the pipe is
// closed. It is safe for concurrent use.
type stdin struct {
	file *os.File // nil: the child reads nothing
	raw  syscall.RawConn

	mu      sync.Mutex
	line    []byte // the line at hand, its memory reused
	room    int    // how much of it writeNow wrote
	direct  func(fd uintptr)
	pending []byte // accepted, for the goroutine to write
	writer  sync.WaitGroup
	writing bool  // the goroutine lives
	last    bool  // nothing follows: close when all is written
	closed  bool  //
	taken   int64 // bytes ever accepted
	written int64 // bytes that are in the pipe or beyond
	left    int64 // of those, bytes that nobody will read, for the other end is closed
}

// newStdin takes over file, the non-blocking end of a pipe; nil for a child that
// reads nothing.
func newStdin(file *os.File) (*stdin, error) {
	w := &stdin{file: file, closed: file == nil}
	if file == nil {
		return w, nil
	}
	var err error
	w.raw, err = file.SyscallConn()
	w.direct = w.writeNow // made once: a line costs no memory
	return w, err
}

// send writes the line that build appends to an empty buffer behind all earlier
// ones. It never waits. What is sent to an end that was closed is gone. placed, where
// there is one, is told between which positions the line stands, for consumed and
// reached, before a byte of it is written: a child may have read it, and died of it,
// before send returns.
func (w *stdin) send(build func(buf []byte) []byte, placed func(from, end int64)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line = build(w.line[:0])
	from := w.taken
	w.taken += int64(len(w.line))
	if placed != nil {
		placed(from, w.taken)
	}
	if w.closed || w.last {
		return
	}
	w.room = 0
	if !w.writing {
		w.raw.Control(w.direct)
		w.written += int64(w.room)
	}
	if rest := w.line[w.room:]; len(rest) > 0 {
		w.pending = append(w.pending, rest...)
		if !w.writing {
			w.writing = true
			w.writer.Go(w.writePending)
		}
	}
	if cap(w.line) > keptLine {
		w.line = nil
	}
}

// keptLine is the most memory that is kept for the next line.
const keptLine = 64 << 10

// writeNow writes what the pipe has room for. The caller holds mu.
func (w *stdin) writeNow(fd uintptr) {
	for w.room < len(w.line) {
		n, err := nowait.Write(int(fd), w.line[w.room:])
		if err != nil {
			return // full, or nobody reads: that the goroutine will find, too
		}
		w.room += n
	}
}

// writePending writes until nothing is pending, waiting for the child to read.
func (w *stdin) writePending() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.pending) > 0 && !w.closed {
		part := w.pending[:min(len(w.pending), keptLine)]
		w.mu.Unlock()
		n, err := w.file.Write(part)
		w.mu.Lock()
		w.written += int64(n)
		if err != nil {
			// The child has closed its end, or is gone. That is no error of ours: it may
			// well work without its input, and its exit has its own handling.
			w.left = w.unread()
			w.shut()
		} else {
			w.pending = w.pending[n:]
		}
	}
	w.pending = nil
	w.writing = false
	if w.last {
		w.shut()
	}
}

// finish lets the child read an end of file behind everything sent so far.
func (w *stdin) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = true
	if !w.writing {
		w.shut()
	}
}

// close closes the pipe and returns when nobody writes to it any more. It may be
// repeated.
func (w *stdin) close() {
	w.mu.Lock()
	w.shut()
	w.mu.Unlock()
	w.writer.Wait()
}

func (w *stdin) shut() {
	if !w.closed {
		w.closed = true
		w.file.Close() // wakes the goroutine
	}
}

// consumed returns up to which position the child has read; where the end that would
// tell is closed, up to which it can have.
func (w *stdin) consumed() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.written - w.left
	}
	return w.written - w.unread()
}

// unread is how much there is in the pipe. The caller holds mu, and the pipe is open.
func (w *stdin) unread() int64 {
	n := 0
	w.raw.Control(func(fd uintptr) { n = waitingIn(int(fd)) })
	return int64(n)
}

// reached tells whether everything up to position end has been written.
func (w *stdin) reached(end int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.written >= end
}
