package queue

import (
	"context"
	"strings"
	"time"
)

const (
	// awaitRound is how long Redis is asked to wait in one call.
	awaitRound = 5 * time.Second
	// awaitPoll is how often is looked where Redis cannot wait so: hworker's own pace.
	awaitPoll = 10 * time.Millisecond
	// awaitBarren is the pause where a list has nothing but what is in work already.
	awaitBarren = time.Second
)

// Await returns when something is in the list, for a caller whose take has found nothing. It takes
// nothing and changes nothing: the last entry is moved onto its own place, which wakes all who wait so. It blocks
// a connection of its own until ctx ends or the session is closed; the error is why it cannot tell.
func (s *ListSession) Await(ctx context.Context) error {
	s.mu.Lock()
	barren, old := s.barren, s.old
	s.mu.Unlock()
	if barren {
		return pause(ctx, awaitBarren)
	}
	for ctx.Err() == nil {
		there, err := false, error(nil)
		if old {
			there, err = s.look(ctx)
		} else {
			there, old, err = s.blockingLook(ctx)
		}
		if there || err != nil {
			return err
		}
	}
	return ctx.Err()
}

// blockingLook waits for an entry, for a while; old says that the server knows no BLMOVE (before 6.2).
func (s *ListSession) blockingLook(ctx context.Context) (there, old bool, err error) {
	err = s.wait.Redis().BLMove(ctx, s.keys.jobs, s.keys.jobs, "RIGHT", "RIGHT", awaitRound).Err()
	switch {
	case err == nil:
		return true, false, nil
	case isNull(err):
		return false, false, nil
	case strings.Contains(strings.ToLower(err.Error()), "unknown command"):
		s.mu.Lock()
		s.old = true
		s.mu.Unlock()
		return false, true, nil
	}
	if err = harmless(classify("blmove", err)); Class(err) == Denied {
		s.client.log.Warn("not permitted to wait for entries of a list, so it is looked at a hundred times a second; allow blmove", "list", s.list.Name, "err", err)
		s.mu.Lock()
		s.old = true
		s.mu.Unlock()
		return false, true, nil
	}
	return false, false, err
}

// look asks whether there is an entry, and pauses if there is none.
func (s *ListSession) look(ctx context.Context) (bool, error) {
	n, err := s.client.redis.LLen(ctx, s.keys.jobs).Result()
	if err = harmless(classify("llen", err)); err != nil || n > 0 {
		return n > 0, err
	}
	return false, pause(ctx, awaitPoll)
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
