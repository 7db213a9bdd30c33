package supervisor

import (
	"context"
	"slices"

	"oarlock/supervisor/internal/lookout"
	"oarlock/supervisor/internal/pool"
	"oarlock/supervisor/internal/statedir"
)

// ExposedError says that somebody else could have written what a state directory holds.
type ExposedError = statedir.ExposedError

// CheckStateDir makes dir, unless it is there, and reports whether it can be used as a
// state directory. The error is an *ExposedError if others could have written there, else
// about the file system. Children under other users may pass through what it makes.
func CheckStateDir(dir string) error { return statedir.Check(dir) }

// bequeath writes down which workers there are, before any of them takes a job. The
// caller holds mu.
func (s *Supervisor) bequeath() {
	var all []statedir.Workers
	note := func(p *pool.Pool) {
		all = append(all, statedir.Workers{Name: p.Worker(), Queues: p.Patterns(), List: p.List(), MaxCrashes: p.MaxCrashes()})
	}
	for _, p := range s.pools {
		note(p)
	}
	for _, p := range s.leaving {
		note(p)
	}
	if err := s.shared.Legacy.Write(all); err != nil {
		s.log.Warn("state directory not written: if this supervisor is killed, its jobs wait for their locks", "err", err)
	}
}

// successor deals with what dead supervisors left.
func (s *Supervisor) successor() *statedir.Successor {
	return &statedir.Successor{
		Life: s.shared.Legacy,
		Gate: s.shared.Gate,
		Log:  s.log,
		Session: func(of statedir.Workers) statedir.Session {
			if of.List != nil {
				return s.redis.ListSession(of.Name, *of.List)
			}
			return s.redis.Session(of.Name)
		},
		Queues: func(ctx context.Context, patterns []string) ([]string, error) {
			known, err := s.redis.QueueNames(ctx)
			return lookout.Expand(patterns, known), err
		},
		Died: func(ctx context.Context, d statedir.Death) error {
			if s.cfg.OnDeath == nil {
				return nil
			}
			return s.cfg.OnDeath(ctx, d)
		},
		Empty: s.shared.Places.Clear,
		Exclusive: func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return slices.ContainsFunc(s.cfg.Pools, func(p Pool) bool { return p.Exclusive })
		},
	}
}
