package supervisor

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"oarlock/supervisor/internal/pool"
)

// Changes are what a Reload did to the pools. The names are in order.
type Changes struct {
	Added   []string  `json:"added,omitempty"`
	Changed []string  `json:"changed,omitempty"` // they have their new limits
	Rolling []string  `json:"rolling,omitempty"` // those of them whose children are replaced
	Leaving []Leaving `json:"leaving,omitempty"`
}

// words names the pools that were changed.
func (c *Changes) words() string {
	var parts []string
	say := func(what string, names []string) {
		if len(names) > 0 {
			parts = append(parts, what+" "+strings.Join(names, ", "))
		}
	}
	say("added", c.Added)
	say("changed", c.Changed)
	say("rolling", c.Rolling)
	var leaving []string
	for _, l := range c.Leaving {
		leaving = append(leaving, l.Pool)
	}
	say("leaving", leaving)
	if len(parts) == 0 {
		return "no pool changed"
	}
	return strings.Join(parts, "; ")
}

// Leaving is a pool that takes no more jobs, and ends when those it has are finished.
type Leaving struct {
	Pool     string `json:"pool"`
	Replaced bool   `json:"replaced,omitempty"` // its mode, or list, is another now, and another pool has its name
	Jobs     int    `json:"jobs"`               // that run on; -1: not known, the pool did not answer
}

// Reload changes the configuration while jobs are at work: pools that did not change
// are not touched, new ones start, those that are gone drain as by Drain, without a limit. A
// changed pool takes on its new limits at once; if its children are to be started another
// way, they are replaced one slot at a time, see Recycle.
//
// Only Pools, Intake and DrainTimeout are looked at. The error says that the supervisor is on
// its way out.
func (s *Supervisor) Reload(cfg Config) (Changes, error) {
	done, leaving, err := s.reload(cfg)
	if err != nil {
		return done, err
	}
	s.event(Event{Kind: Reloaded, Message: done.words()})
	timeout := time.After(snapshotWait)
	for i, p := range leaving {
		select {
		case done.Leaving[i].Jobs = <-p.Working():
		case <-p.Done():
		case <-timeout:
			done.Leaving[i].Jobs = -1
			timeout = time.After(0)
		}
	}
	return done, nil
}

// reload is Reload without the jobs of the pools that leave, which are those of Changes.Leaving.
func (s *Supervisor) reload(cfg Config) (done Changes, leaving []*pool.Pool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return done, nil, errors.New("the supervisor is stopping")
	}
	s.cfg.DrainTimeout = cfg.DrainTimeout
	wanted := make(map[string]Pool, len(cfg.Pools))
	for _, p := range cfg.Pools {
		wanted[p.Name] = p
	}
	for _, name := range slices.Sorted(maps.Keys(s.pools)) {
		next, stays := wanted[name]
		if was := s.was(name); stays && next.Child.Mode == was.Child.Mode && reflect.DeepEqual(next.List, was.List) {
			continue
		}
		// Another mode, or list, is another pool: nothing of the old one fits it.
		p := s.pools[name]
		delete(s.pools, name)
		s.leaving = append(s.leaving, p)
		p.Drain(0)
		leaving = append(leaving, p)
		done.Leaving = append(done.Leaving, Leaving{Pool: name, Replaced: stays})
	}
	for _, next := range cfg.Pools {
		p, known := s.pools[next.Name]
		if !known {
			s.add(next)
			if s.was(next.Name).Name == "" {
				done.Added = append(done.Added, next.Name)
			}
			continue
		}
		was := s.was(next.Name)
		if reflect.DeepEqual(next, was) {
			continue
		}
		done.Changed = append(done.Changed, next.Name)
		if !reflect.DeepEqual(next.Child, was.Child) {
			done.Rolling = append(done.Rolling, next.Name)
		}
		p.Reconfigure(next)
	}
	s.cfg.Pools, s.cfg.Intake = cfg.Pools, cfg.Intake
	s.intake.Set(cfg.Intake)
	maps.DeleteFunc(s.alone, func(name string, _ bool) bool { return s.pools[name] == nil })
	s.bequeath()
	s.changed()
	slices.Sort(done.Added)
	slices.Sort(done.Changed)
	slices.Sort(done.Rolling)
	return done, leaving, nil
}

// was returns the configuration that a pool has. The caller holds mu.
func (s *Supervisor) was(name string) Pool {
	for _, p := range s.cfg.Pools {
		if p.Name == name {
			return p
		}
	}
	return Pool{}
}
