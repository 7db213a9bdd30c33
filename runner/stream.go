package runner

import (
	"bytes"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"oarlock/internal/nowait"
	"oarlock/protocol"
)

// stream is one channel from a child: stdout, stderr or the descriptor for
// status lines.
//
// A goroutine sleeps until there is something to read. Whoever is about to end a
// run empties the other streams first, so that what was printed during the run is
// logged as its words.
//
// While a stream's lines are handled it is locked. A handler may lock the streams
// behind it in the order status, stdout, stderr, never one before it.
type stream struct {
	child *Child
	kind  Stream
	file  *os.File
	raw   syscall.RawConn
	empty func(fd uintptr) // takes what is there; made once

	mu    sync.Mutex
	in    descriptor
	lines *protocol.Reader
	tail  tail
	log   rate
	ended bool

	bar   []byte    // the last state of a progress bar, if nothing was printed after it
	barAt time.Time // when the last one was passed on

	droppedOf *Run                      // whose lines log has dropped; nil: no run's
	tellAt    atomic.Pointer[time.Time] // when the clock is to tell of them; nil: there are none
}

// share is how many bytes are handled before others get a chance at the stream.
// It is what a pipe holds.
const share = 64 << 10

// newStream takes over file, a non-blocking end of a pipe or pseudo-terminal.
func newStream(c *Child, kind Stream, file *os.File, terminal bool) (*stream, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &stream{child: c, kind: kind, file: file, raw: raw}
	s.in.terminal = terminal
	if err := raw.Control(func(fd uintptr) { s.in.fd = int(fd) }); err != nil {
		return nil, err
	}
	s.empty = func(uintptr) {
		s.mu.Lock()
		s.in.drained = false
		s.mu.Unlock()
		s.take(share)
	}
	s.log.perSecond = c.spec.LogRate
	s.lines = protocol.NewReader(&s.in, c.spec.MaxLine)
	if kind == Stderr || c.spec.Status == StatusExit {
		s.lines.LogOnly()
	}
	if kind != StatusStream {
		s.lines.Bars()
	}
	return s, nil
}

// listen handles all there is until the end of the stream or its read deadline.
func (s *stream) listen() {
	s.raw.Read(func(uintptr) (done bool) {
		for {
			began := time.Now()
			ended, more := s.take(share)
			if !more {
				return ended
			}
			if s.flooded() {
				time.Sleep(2 * time.Since(began))
			}
		}
	})
	// After a deadline, what there is of the last line is a line as well.
	s.mu.Lock()
	s.in.over = true
	s.mu.Unlock()
	s.take(share)
	s.mu.Lock()
	s.tellDropped()
	s.mu.Unlock()
	s.file.Close()
}

// flooded tells whether what comes is more than is kept. Who prints so much is read from
// for a third of the time only, and so waits for us: the machine is for the others.
func (s *stream) flooded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.dropped > 0
}

// catchUp handles what the child has written so far.
func (s *stream) catchUp() { s.raw.Control(s.empty) }

// hurry gives listen that much time for what is still written to the stream of a child
// that is gone, and none if that was all.
func (s *stream) hurry(limit time.Duration) {
	s.catchUp()
	s.mu.Lock()
	if s.ended {
		limit = 0
	}
	s.mu.Unlock()
	s.file.SetReadDeadline(time.Now().Add(limit)) // an error means that listen is through
}

// take handles the lines in about budget bytes. It tells whether the stream has
// ended, or else whether there may be more to take at once.
func (s *stream) take(budget int64) (ended, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for stop := s.in.total + budget; !s.ended; {
		line, err := s.lines.Next()
		switch {
		case err == syscall.EAGAIN:
			return false, false
		case err != nil:
			s.ended = true
			s.flushBar()
		case line.Overwritten:
			s.drawn(&line)
		case line.Kind == protocol.StatusLine:
			s.child.status(s, &line)
		case line.Kind == protocol.Oversized:
			s.child.overlong(s, &line)
		case s.child.within(s, &line):
		default:
			s.print(&line)
		}
		if s.in.total >= stop {
			return false, true
		}
	}
	return true, false
}

// The methods below are for handlers, who hold mu.

// print logs a line as the child's words.
func (s *stream) print(line *protocol.Line) {
	now := time.Now()
	s.child.sign(now)
	s.bar = s.bar[:0]
	s.tail.line(line.Text)
	s.record(s.child.front(), LogLine{Stream: s.kind, Text: line.Text, Cut: line.Dropped}, now)
}

// barPause is how long one state of a progress bar is shown at least.
const barPause = 100 * time.Millisecond

// drawn hears of one state of a progress bar: a sign of life, and a line for who looks on.
// What is kept and logged is what is drawn over it, or the last state, where nothing is.
func (s *stream) drawn(line *protocol.Line) {
	now := time.Now()
	s.child.sign(now)
	s.bar = append(s.bar[:0], line.Text[:min(len(line.Text), tailSize/8)]...)
	if now.Sub(s.barAt) >= barPause {
		s.barAt = now
		s.child.events.Log(s.child, s.child.front(), LogLine{Stream: s.kind, Text: line.Text, Overwritten: true})
	}
}

// flushBar makes a line of the last state of a progress bar, where nothing came after it.
func (s *stream) flushBar() {
	if len(s.bar) > 0 {
		s.print(&protocol.Line{Text: bytes.Clone(s.bar)})
	}
}

// record passes a line on, if there were not too many this second. Those that are dropped
// are told: when the second is over, and of each run by itself.
func (s *stream) record(r *Run, line LogLine, now time.Time) {
	s.child.kept.add(&line)
	if s.log.dropped > 0 && s.droppedOf != r {
		s.tellDropped()
	}
	if s.log.pass(now) {
		s.tellDropped()
		s.child.events.Log(s.child, r, line)
		return
	}
	s.droppedOf = r
	if s.tellAt.Load() == nil {
		s.tell(now.Add(time.Second - time.Duration(now.Nanosecond())))
	}
}

// tell has the clock tell at a moment how many lines were dropped.
func (s *stream) tell(at time.Time) {
	s.tellAt.Store(&at)
	s.child.host.clock.arm(at)
}

// tellDropped tells how many lines were dropped, if any were.
func (s *stream) tellDropped() {
	s.tellAt.Store(nil)
	if n := s.log.takeDropped(); n > 0 {
		s.child.events.Log(s.child, s.droppedOf, LogLine{Stream: s.kind, Dropped: n})
	}
	s.droppedOf = nil
}

// endRun closes the record of a run: the lines that were dropped are told, and the tail
// begins anew. It returns the old one if asked to.
func (s *stream) endRun(wanted bool) (tail []byte) {
	s.flushBar()
	s.tellDropped()
	if wanted {
		tail = s.tail.text()
	}
	s.tail.reset()
	return tail
}

// tellAgain is when the clock comes back to a stream whose lines are just being handled.
const tellAgain = 100 * time.Millisecond

// lateTell tells what was dropped in the second that is over. It is for the clock, which
// waits for nobody.
func (s *stream) lateTell() {
	if !s.mu.TryLock() {
		s.tell(time.Now().Add(tellAgain))
		return
	}
	defer s.mu.Unlock()
	s.tellDropped()
}

// descriptor reads without waiting.
type descriptor struct {
	fd       int
	terminal bool
	drained  bool  // the last read found less than it asked for
	over     bool  // nothing more will be read
	total    int64 // bytes read
}

// Read returns syscall.EAGAIN, a temporary error, where it would have to wait. After a
// read that emptied a pipe it does so, once, without asking: what comes later wakes
// listen, except for an end that was there already, which hurry finds.
func (d *descriptor) Read(b []byte) (int, error) {
	if d.drained && !d.over {
		d.drained = false
		return 0, syscall.EAGAIN
	}
	for !d.over {
		n, err := nowait.Read(d.fd, b)
		switch {
		case n > 0:
			d.total += int64(n)
			d.drained = n < len(b) && !d.terminal
			return n, nil
		case err == nil, err == syscall.EIO && d.terminal: // a terminal ends with EIO
			d.over = true
		default:
			return 0, err
		}
	}
	return 0, io.EOF
}
