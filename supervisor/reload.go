package supervisor

import (
	"errors"
	"reflect"
)

// Reload changes the configuration while jobs are at work: pools that did not change
// are not touched, new ones start, those that are gone drain as by Stop. A changed
// pool takes on its new limits at once; if its children are to be started another
// way, they are replaced one slot at a time, see Recycle.
//
// Only Pools and DrainTimeout are looked at. The error says that the supervisor is on
// its way out.
func (s *Supervisor) Reload(cfg Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return errors.New("the supervisor is stopping")
	}
	s.cfg.DrainTimeout = cfg.DrainTimeout
	wanted := make(map[string]Pool, len(cfg.Pools))
	for _, p := range cfg.Pools {
		wanted[p.Name] = p
	}
	for name, p := range s.pools {
		next, stays := wanted[name]
		if stays && next.Child.Mode == s.was(name).Child.Mode {
			continue
		}
		// Another mode is another pool: nothing of the old one fits it.
		delete(s.pools, name)
		s.leaving = append(s.leaving, p)
		p.post(func() { p.drain(max(cfg.DrainTimeout, 1)) })
	}
	for _, next := range cfg.Pools {
		p, known := s.pools[next.Name]
		if !known {
			s.add(next)
			continue
		}
		if reflect.DeepEqual(next, s.was(next.Name)) {
			continue
		}
		p.asked.Store(&next.Queues)
		p.maxCrashes.Store(int64(next.MaxCrashes))
		p.post(func() { p.reconfigure(next) })
	}
	s.cfg.Pools = cfg.Pools
	s.bequeath()
	s.changed()
	return nil
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

// reconfigure gives the pool its new configuration.
func (p *pool) reconfigure(next Pool) {
	if p.life.draining {
		return
	}
	last := p.cfg
	p.cfg = next
	if !reflect.DeepEqual(last.Queues, next.Queues) {
		p.serve(expand(next.Queues, p.queues)) // the lookout will find what else its globs stand for
	}
	if last.Children != next.Children || last.MinChildren != next.MinChildren || last.MaxChildren != next.MaxChildren {
		least, most := next.bounds()
		p.target = min(max(p.target, least), most)
		p.resize()
	}
	p.eachMember(func(m *member) { m.limit(&p.cfg) })
	if !reflect.DeepEqual(last.Child, next.Child) {
		p.turnOver(next.Child, false)
	}
	p.menu.serve(p.queues, next.Order)
	p.line.hungry = true
}
