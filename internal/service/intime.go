package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/plan"
	"oarlock/supervisor"
)

const (
	// readPatience is how long a configuration may take to be read.
	readPatience = 10 * time.Second
	// leavePatience is how long we may take to leave when nothing is in flight, or all its
	// limits are over. The pools leave before.
	leavePatience = 9500 * time.Millisecond
	// leaveLook is the time between two looks at whether something is in flight.
	leaveLook = 100 * time.Millisecond
)

var errLeaving = errors.New("the supervisor is leaving")

// read reads and checks the configuration, as it stands still, in a goroutine of its own: a pipe, or a file
// system that does not answer, may keep that one for ever, and nobody else. There is one
// such goroutine at a time.
func (s *Service) read(before config.Config) (config.Config, supervisor.Config, error) {
	select {
	case s.reading <- struct{}{}:
	default:
		select {
		case <-s.leaving: // the one before was given up for that, however well the file answers
			return before, supervisor.Config{}, errLeaving
		default:
		}
		return before, supervisor.Config{}, fmt.Errorf("the configuration %s does not answer: it is still being read since the reload before", before.Path)
	}
	type reading struct {
		cfg  config.Config
		told supervisor.Config
		err  error
	}
	done := make(chan reading, 1)
	go func() {
		cfg, err := config.Steady(s.options.Reread)
		if err == nil && !cfg.Trusted {
			err = config.Exposed(cfg.Files, before.Pools, s.owners)
		}
		if err == nil {
			err = cfg.NeedPools()
		}
		var told supervisor.Config
		if err == nil {
			told, err = plan.Supervisor(cfg, s.log)
		}
		<-s.reading // before it is told: a reload may be waiting for this one
		done <- reading{cfg, told, err}
	}()
	select {
	case r := <-done:
		return r.cfg, r.told, r.err
	case <-s.leaving:
		return before, supervisor.Config{}, errLeaving
	case <-time.After(readPatience):
		return before, supervisor.Config{}, fmt.Errorf("the configuration %s does not answer: it was not read within %v", before.Path, readPatience)
	}
}

// reloadOnHangup reloads when HUP came, so that the signals after it need not wait. It also
// tells a reload that it is too late for it.
func (s *Service) reloadOnHangup(ctx context.Context) error {
	told := context.AfterFunc(ctx, func() { close(s.leaving) })
	defer told()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.hangup:
			s.Reload("HUP")
		}
	}
}

// timeToLeave is how long a stop may take before leavePatience begins.
func (s *Service) timeToLeave() time.Duration {
	cfg := s.config()
	limit, grace := time.Duration(cfg.Supervisor.DrainTimeout), time.Duration(0)
	for _, pool := range cfg.Pools {
		grace = max(grace, time.Duration(pool.KillGrace))
	}
	return limit + grace
}

// remains is what a stop has to wait for.
type remains struct {
	inFlight int // jobs
	living   int // children
}

func (r remains) sum() int { return r.inFlight + r.living }

// lastResort returns what comes from ended, for which it does not wait for ever: something
// that nobody foresaw may stand still, such as the file system of the state directory. It
// gives up leavePatience after the time to leave is over, which hurry ends at once, or since when nothing is in flight. While
// children and jobs still end, it waits for supervisor.EachEnd longer for each that there was.
func lastResort(ended <-chan error, hurry <-chan struct{}, look func() remains, timeToLeave func() time.Duration) error {
	began := time.Now()
	free, limit := began, began.Add(timeToLeave()) // free: since when nothing is in flight
	least, moved := look().sum(), began            // the fewest that remained, and since when
	bound := time.Duration(least) * supervisor.EachEnd
	patient := func(from time.Time) time.Time {
		last := from.Add(bound)
		if moved.Before(last) {
			last = moved
		}
		if from.After(last) {
			last = from
		}
		return last.Add(leavePatience)
	}
	ticks := time.NewTicker(leaveLook)
	defer ticks.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-hurry:
			if now := time.Now(); now.Before(limit) {
				limit = now
			}
			hurry = nil
		case now := <-ticks.C:
			r := look()
			if r.inFlight > 0 {
				free = now
			}
			if n := r.sum(); n < least {
				least, moved = n, now
			}
			if !now.Before(patient(free)) || !now.Before(patient(limit)) {
				return errors.New("left without waiting any longer: something stands still, such as a child that SIGKILL does not end, or the file system of the state directory. Jobs of ours are given back by the next supervisor here, or wait for their locks")
			}
		}
	}
}
