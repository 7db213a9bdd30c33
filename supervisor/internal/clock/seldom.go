package clock

import (
	"sync"
	"time"
)

// Often is the least time between two warnings about the same thing.
const Often = 10 * time.Second

// Seldom counts what may happen by the million, and is to be warned of once in a while. The zero
// value is ready. Safe for concurrent use.
type Seldom struct {
	mu     sync.Mutex
	n      int
	warnAt time.Duration // when the next one is worth a warning
}

// Add counts one at now. It returns how many there were, and whether to warn of it: of
// the first, and then not more often than Often says.
func (s *Seldom) Add(now time.Duration) (n int, warn bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	if s.n > 1 && now < s.warnAt {
		return s.n, false
	}
	s.warnAt = now + Often
	return s.n, true
}

// Count returns how many there were.
func (s *Seldom) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}
