package hub

import (
	"context"
	"sync"
	"time"

	"oarlock/supervisor"
)

// shotLasts is how long a snapshot is good enough: many look, and the loops of the pools are asked once.
const shotLasts = time.Second

// shots keep the last snapshot of the supervisor.
type shots struct {
	ask    func() supervisor.Snapshot
	asking chan struct{} // of size 1: holds a token while it is asked

	mu   sync.Mutex
	last supervisor.Snapshot
	at   time.Time // of that; zero before there was one
}

// Snapshot is the supervisor as it was within the last second. What it points to must not be changed. It waits for the
// loops of the pools, a second at most; the error is that of ctx.
func (h *Hub) Snapshot(ctx context.Context) (supervisor.Snapshot, error) {
	s := &h.shots
	if shot, fresh := s.known(); fresh {
		return shot, nil
	}
	select {
	case <-ctx.Done():
		return supervisor.Snapshot{}, ctx.Err()
	case s.asking <- struct{}{}:
	}
	defer func() { <-s.asking }()
	if shot, fresh := s.known(); fresh { // somebody else has asked
		return shot, nil
	}
	at := time.Now()
	shot := s.ask()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.at = shot, at
	return shot, nil
}

func (s *shots) known() (shot supervisor.Snapshot, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, !s.at.IsZero() && time.Since(s.at) < shotLasts
}
