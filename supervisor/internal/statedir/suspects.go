package statedir

import (
	"log/slog"
	"sync"
)

// Suspects lets one suspect at a time run in all the pools of a supervisor: a job that was
// at work whenever supervisors died. The life file says which one it is, so that if this supervisor
// dies too nobody else is blamed. Safe for concurrent use.
type Suspects struct {
	life *Life

	mu      sync.Mutex
	running bool               // one has its turn
	waiting map[waker]struct{} // whose suspects want to be next
}

// waker is who waits for its turn, and is to ask again when it is woken. It must be comparable.
type waker interface{ Wake() }

// NewSuspects makes the turns of the supervisor whose life it is.
func NewSuspects(life *Life) *Suspects { return &Suspects{life: life, waiting: map[waker]struct{}{}} }

// Admit gives a suspect its turn and reports true, unless another has it; then w is woken when that
// is over.
func (s *Suspects) Admit(w waker, who Accused, log *slog.Logger) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		s.waiting[w] = struct{}{}
		return false
	}
	s.running = true
	s.accuse(&who, log)
	return true
}

// Leave ends the turn of the suspect that has it.
func (s *Suspects) Leave(log *slog.Logger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
	s.accuse(nil, log)
	for w := range s.waiting {
		w.Wake() // it looks whose turn it is
	}
	clear(s.waiting)
}

// accuse writes down who is to blame if this supervisor dies.
func (s *Suspects) accuse(who *Accused, log *slog.Logger) {
	if err := s.life.accuse(who); err != nil {
		log.Warn("state directory not written: if this supervisor dies, the wrong job may be blamed", "err", err)
	}
}
