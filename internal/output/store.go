package output

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"time"
)

const (
	// mostQueued bounds what waits to be written, in attempts and in bytes.
	mostQueued      = 1024
	mostQueuedBytes = 16 << 20
	// stalls is how long a file may take before the directory counts as one that does not answer.
	stalls = time.Second
	// lastFiles is how long the last files have when the supervisor leaves.
	lastFiles = time.Second
	// complain is how often the log says that files cannot be written.
	complain = time.Minute
	// Writing takes a share of the time only: one part in rest+1.
	rest     = 2
	longRest = 100 * time.Millisecond
)

// Store keeps what jobs printed. Safe for concurrent use.
type Store struct {
	dir  string
	log  *slog.Logger
	wake chan struct{} // of size 1: there is something to write

	shelves  map[string]*shelf // by pool; of the goroutine that writes
	saidAt   time.Time         // when the log last heard of trouble; of that goroutine, too
	searches chan struct{}     // of size 1: one search at a time

	mu      sync.Mutex // for memory only
	queue   []Entry
	bytes   int
	ending  bool
	well    map[string]*pace
	dropped int       // all that were to be kept and are not
	began   time.Time // when the file was begun that is being written; zero if none is
	failed  error     // of the last
}

// pace counts the attempts of a pool that ended well, in one second.
type pace struct {
	second time.Time
	n      int
}

// New makes a store in the directory stateDir, which nothing is done to before Run.
func New(stateDir string, log *slog.Logger) *Store {
	return &Store{
		dir: filepath.Join(stateDir, "output"), log: log, wake: make(chan struct{}, 1),
		shelves: map[string]*shelf{}, searches: make(chan struct{}, 1), well: map[string]*pace{},
	}
}

// Keep hands over what an attempt printed. It never waits: where there is no room it is
// dropped and counted.
func (s *Store) Keep(e Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Well && !s.mayKeep(e.Pool) {
		return
	}
	size := e.Output.Size()
	if len(s.queue) >= mostQueued || len(s.queue) > 0 && s.bytes+size > mostQueuedBytes {
		s.dropped++
		return
	}
	s.queue = append(s.queue, e)
	s.bytes += size
	select {
	case s.wake <- struct{}{}:
	default: // it is awake, or will be
	}
}

// mayKeep reports whether one more of a pool may be kept that ended well. The caller holds mu.
func (s *Store) mayKeep(pool string) bool {
	p := s.well[pool]
	if p == nil {
		p = &pace{}
		s.well[pool] = p
	}
	if now := time.Now(); now.Sub(p.second) >= time.Second {
		*p = pace{second: now}
	}
	p.n++
	return p.n <= MaxWell
}

// Run writes what is handed over until ctx ends, and then for a moment what is left. It
// returns in time even if a file never does.
func (s *Store) Run(ctx context.Context) error {
	written := make(chan struct{})
	go func() { // left behind where the directory hangs; the program is about to end
		s.write()
		close(written)
	}()
	<-ctx.Done()
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	select {
	case <-written:
	case <-time.After(lastFiles):
	}
	return nil
}

// write writes until the end.
func (s *Store) write() {
	for {
		e, some, ending := s.next()
		switch {
		case some:
			began := time.Now()
			s.keep(&e)
			if !ending {
				time.Sleep(min(rest*time.Since(began), longRest))
			}
		case ending:
			return
		default:
			<-s.wake
		}
	}
}

// next takes the oldest of the queue.
func (s *Store) next() (e Entry, some, ending bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return e, false, s.ending
	}
	e, s.queue[0] = s.queue[0], Entry{}
	if s.queue = s.queue[1:]; len(s.queue) == 0 {
		s.queue = nil
	}
	s.bytes -= e.Output.Size()
	s.began = time.Now()
	return e, true, s.ending
}

// keep writes one file, and tells the log when that begins to fail and when it works again.
func (s *Store) keep(e *Entry) {
	shelved := s.shelves[e.Pool]
	if shelved == nil {
		shelved = &shelf{dir: filepath.Join(s.dir, e.Pool)}
		s.shelves[e.Pool] = shelved
	}
	p := e.printed()
	err := shelved.add(&p)
	s.mu.Lock()
	failedBefore := s.failed
	s.failed, s.began = err, time.Time{}
	if err != nil {
		s.dropped++
	}
	dropped := s.dropped
	s.mu.Unlock()
	switch {
	case err != nil && time.Since(s.saidAt) > complain:
		s.saidAt = time.Now()
		s.log.Warn("what a job printed is not kept", "jid", shortJID(e.JID), "pool", e.Pool, "dropped", dropped, "err", err)
	case err == nil && failedBefore != nil:
		s.log.Info("what jobs print is kept again", "dropped", dropped)
	}
}

func shortJID(jid string) string { return jid[:min(len(jid), 256)] }

// State is how the store is, fit for JSON.
type State struct {
	Dropped      int        `json:"dropped,omitempty"`       // attempts that were to be kept and are not
	Error        string     `json:"error,omitempty"`         // of the last file
	BlockedSince *time.Time `json:"blocked_since,omitempty"` // a file is being written, and stands still
}

// State tells how the store is. Of a nil one, it is well.
func (s *Store) State() State {
	if s == nil {
		return State{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := State{Dropped: s.dropped}
	if s.failed != nil {
		st.Error = s.failed.Error()
	}
	if began := s.began; !began.IsZero() && time.Since(began) > stalls {
		since := time.Now().Add(-time.Since(began)) // by the wall clock as it is now
		st.BlockedSince = &since
	}
	return st
}
