package service

import (
	"context"
	"fmt"
	"os"
	"time"

	"oarlock/internal/connect"
	"oarlock/internal/screen"
	"oarlock/internal/systemd"
	"oarlock/queue"
	"oarlock/supervisor"
)

const (
	// announceEvery is how often the service manager learns how it goes.
	announceEvery = 2 * time.Second
	// readyEvery is how often to look whether the supervisor is ready, until it is.
	readyEvery = 50 * time.Millisecond
	// readySoon is how long that may take before the log says what it waits for.
	readySoon = time.Second
	// startOver is how long after it is ready a supervisor has started what it will: its children, for the most part.
	startOver = 3 * time.Second
)

// loopsAnswer is the longest time in which the loops of all pools answer, none of which
// ever waits for anything.
const loopsAnswer = 900 * time.Millisecond

// announce tells the log and the service manager when the supervisor is ready, and the
// manager what it does, before and after.
func (s *Service) announce(ctx context.Context, client *queue.Client) error {
	look, tell := time.NewTicker(readyEvery), time.NewTicker(announceEvery)
	defer look.Stop()
	defer tell.Stop()
	began, waiting := time.Now(), false
	var started <-chan time.Time
	risks := time.NewTicker(risksEvery)
	defer risks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			if s.sup.Ready() {
				look.Stop()
				s.log.Info("ready", "after", time.Since(began).Round(time.Millisecond))
				systemd.Ready()
				s.ready.Store(true)
				s.warnOfRedis(ctx, client)
				forgetStart()
				started = time.After(startOver)
				break
			}
			if err := s.sup.Away(); err != nil && !waiting && time.Since(began) > readySoon {
				waiting = true
				s.log.Warn("waiting for Redis", "redis", connect.Address(s.config().Redis.URL), "err", err, "hint", connect.Hint(s.config().Redis.URL, err))
			}
			continue
		case <-started:
			forgetStart()
			continue
		case <-risks.C:
			if s.ready.Load() {
				s.warnOfMemory(ctx)
			}
			continue
		case <-tell.C:
		}
		if ctx.Err() != nil { // with a manager that does not read, there is always something to tell, too
			return nil
		}
		if os.Getenv("NOTIFY_SOCKET") != "" {
			s.tellManager()
		}
	}
}

// tellManager says in one line what the supervisor does, and asks for more time where
// it needs it.
func (s *Service) tellManager() {
	shot := s.sup.Snapshot()
	if shot.Draining || !s.ready.Load() {
		systemd.Extend(3 * announceEvery)
	}
	systemd.Status("%s", managerStatus(shot, s.ready.Load(), connect.Address(s.config().Redis.URL)))
}

// managerStatus is what the service manager shows of a supervisor. ready says that it was told so before.
func managerStatus(shot supervisor.Snapshot, ready bool, redis string) string {
	what, why := shot.RedisTrouble()
	away := ""
	if what != "" {
		away = fmt.Sprintf("Redis at %s %s (%s); ", redis, what, screen.Visible(screen.Shorten(why, 200)))
	}
	switch {
	case shot.Draining:
		return away + "draining: " + Summary(shot)
	case shot.Abstains != "":
		return shot.AbstainsWords() + "; " + Summary(shot)
	case !ready:
		return "waiting for Redis at " + redis
	case away != "":
		return away + supervisor.RedisMeans(what) + "; " + Summary(shot)
	}
	return Summary(shot)
}

// alive reports whether the loops of all pools answer: a snapshot waits for them, and not
// for Redis. A supervisor that waits for Redis, or drains, is well.
func (s *Service) alive() bool {
	began := time.Now()
	s.sup.Snapshot()
	return time.Since(began) < loopsAnswer
}
