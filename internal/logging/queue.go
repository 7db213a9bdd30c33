package logging

import (
	"bytes"
	"io"
	"sync"
	"time"
)

const (
	// mostQueued is how many bytes of the log wait for a reader before lines are dropped.
	// The longest line that we write, a dump, is a good third of it.
	mostQueued = 4 << 20
	// oneWrite is how much is written at once, at most and in whole lines, so that a
	// reader that is merely slow can be told from one that stands still.
	oneWrite = 32 << 10
	// logStalls is how long a write may take before the log counts as blocked.
	logStalls = time.Second
	// logEnds is how long the last lines have to be written when the program ends.
	logEnds = time.Second
)

// teller writes that so many lines were dropped, for how long, and why: nil where nobody took them.
type teller func(lines int, blocked time.Duration, why error) error

// queue is the way of all lines of the log to a writer that may stand still: a pipe
// that nobody reads, a stuck journald, a disk that hangs. Whoever logs never waits: a
// goroutine of its own writes, and what it has no room for is dropped, counted, and said
// as soon as lines flow again. Safe for concurrent use.
type queue struct {
	out  io.Writer
	told teller
	wake chan struct{} // of size 1: there is something to do
	done chan struct{} // closed when the last line is written

	mu      sync.Mutex
	lines   []byte // whole ones, to be written
	spare   []byte // the memory of those written before
	steps   []step // to be done in between
	ending  bool
	dropped int       // lines behind those queued
	telling int       // lines dropped before, which are about to be told
	gapFrom time.Time // when the first of them was
	gapWhy  error     // of the last write that lost some of them; nil if there was no room
	began   time.Time // when the write began that is under way; zero if none is
	failed  error     // of the last write
	refused error     // of the last step

	torn bool // the last write ended within a line; only for the goroutine that writes
}

// newQueue makes the way to out; told is called by the goroutine that writes, after
// the last line before a gap.
func newQueue(out io.Writer, told teller) *queue {
	q := &queue{out: out, told: told, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go q.run() // until close
	return q
}

// Write takes one line, or drops it. It never waits and never fails.
func (q *queue) Write(line []byte) (int, error) {
	q.mu.Lock()
	// Behind a gap nothing is taken until the gap has been told: lines stay in order.
	if q.dropped > 0 || len(q.lines)+len(line) > mostQueued {
		q.drop(1)
	} else {
		q.lines = append(q.lines, line...)
	}
	q.mu.Unlock()
	q.rouse()
	return len(line), nil
}

// drop counts lines that are lost. The caller holds mu.
func (q *queue) drop(lines int) {
	if q.dropped == 0 {
		q.gapFrom, q.gapWhy = time.Now(), nil
		if !q.began.IsZero() {
			q.gapFrom = q.began
		}
	}
	q.dropped += lines
}

// step is something to do when so many bytes of a batch of lines are written.
type step struct {
	at int
	do func() error
}

// do runs f where the lines are written, between those that are queued by now and those
// that come later. Its error shows in the state until another is done.
func (q *queue) do(f func() error) {
	q.mu.Lock()
	q.steps = append(q.steps, step{at: len(q.lines), do: f})
	q.mu.Unlock()
	q.rouse()
}

func (q *queue) rouse() {
	select {
	case q.wake <- struct{}{}:
	default: // it is awake, or will be
	}
}

// close lets the queue end with the lines that it has, and reports whether they were
// written in time. A write that stands still goes on standing; the program may end.
func (q *queue) close() bool {
	q.mu.Lock()
	q.ending = true
	q.mu.Unlock()
	q.rouse()
	select {
	case <-q.done:
		return true
	case <-time.After(logEnds):
		return false
	}
}

// run writes what is queued until close.
func (q *queue) run() {
	defer close(q.done)
	for {
		b := q.take()
		written := 0
		for _, s := range b.steps {
			q.write(b.lines[written:s.at])
			written = s.at
			q.doStep(s)
		}
		q.write(b.lines[written:])
		whole := q.tell(b)
		switch {
		case q.recycle(b.lines) && whole:
		case b.ending:
			return
		default:
			<-q.wake
		}
	}
}

func (q *queue) doStep(s step) {
	err := s.do()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refused = err
}

// batch is what there is to do at one moment.
type batch struct {
	lines   []byte
	steps   []step
	dropped int // lines after those
	gapFrom time.Time
	gapWhy  error
	ending  bool
}

func (q *queue) take() batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := batch{lines: q.lines, steps: q.steps, dropped: q.dropped, gapFrom: q.gapFrom, gapWhy: q.gapWhy, ending: q.ending}
	q.lines, q.steps, q.dropped, q.telling = q.spare[:0], nil, 0, q.dropped
	return b
}

// tell writes how many lines were dropped behind those of b. If that cannot be written
// either, they stay counted until it can, at the next line; it reports whether none are left.
func (q *queue) tell(b batch) bool {
	if b.dropped == 0 {
		return true
	}
	q.begin()
	err := q.mendLine()
	if err == nil {
		err = q.told(b.dropped, time.Since(b.gapFrom), b.gapWhy)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.began, q.failed = time.Time{}, err
	if err != nil {
		q.dropped, q.gapFrom, q.gapWhy = q.dropped+b.dropped, b.gapFrom, err
	}
	return err == nil
}

// mendLine ends a line of which only a part could be written.
func (q *queue) mendLine() error {
	if !q.torn {
		return nil
	}
	_, err := q.out.Write([]byte("\n"))
	q.torn = err != nil
	return err
}

// begin notes since when a write is under way.
func (q *queue) begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.began = time.Now()
}

// recycle gives the memory of lines that were written back, and reports whether there is
// more to do.
func (q *queue) recycle(lines []byte) (more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.telling = 0
	if cap(lines) > 2*oneWrite {
		lines = nil // of a standstill: it is not kept for the next
	}
	q.spare = lines
	return len(q.lines) > 0 || len(q.steps) > 0 || q.dropped > 0
}

// write writes lines piece by piece.
func (q *queue) write(lines []byte) {
	for len(lines) > 0 {
		piece := wholeLines(lines)
		lines = lines[len(piece):]
		q.writePiece(piece)
	}
}

// writePiece notes since when it writes. Lines that could not be written are dropped like
// those without room.
func (q *queue) writePiece(piece []byte) {
	q.begin()
	n, err := q.out.Write(piece)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.failed = err
	if err != nil {
		q.drop(bytes.Count(piece[n:], []byte("\n")))
		q.gapWhy = err
		q.torn = q.torn && n == 0 || n > 0 && piece[n-1] != '\n'
	}
	q.began = time.Time{}
}

// wholeLines is the beginning of text that is written at once: some lines, or a long one.
func wholeLines(text []byte) []byte {
	if len(text) <= oneWrite {
		return text
	}
	end := bytes.LastIndexByte(text[:oneWrite], '\n')
	if end < 0 {
		end = bytes.IndexByte(text, '\n')
	}
	return text[:end+1]
}

// State is how the log is, fit for JSON.
type State struct {
	BlockedSince *time.Time `json:"blocked_since,omitempty"` // nil: it flows
	Dropped      int        `json:"dropped,omitempty"`       // lines, since it last flowed
	Error        string     `json:"error,omitempty"`         // of the last write
	NotReopened  string     `json:"not_reopened,omitempty"`  // why lines go on into the old file
}

// state tells how the log is.
func (q *queue) state() State {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := State{Dropped: q.dropped + q.telling}
	if began := q.began; !began.IsZero() && time.Since(began) > logStalls {
		since := time.Now().Add(-time.Since(began)) // by the wall clock as it is now
		s.BlockedSince = &since
	}
	if q.failed != nil {
		s.Error = q.failed.Error()
	}
	if q.refused != nil {
		s.NotReopened = q.refused.Error()
	}
	return s
}
