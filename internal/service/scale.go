package service

import (
	"oarlock/internal/plan"
	"oarlock/supervisor"
)

// carries cuts pools down to what this host carries, and says so in the log.
func (s *Service) carries(pools []supervisor.Pool) {
	for _, cut := range plan.CapacityOf(s.host).Fit(pools) {
		s.log.Error(cut)
	}
}

// Scale sets how many children a pool has, as far as this host carries them.
func (s *Service) Scale(pool string, children int) error {
	told, err := plan.Supervisor(s.config(), s.log)
	if err != nil {
		return err
	}
	now := map[string]int{}
	for _, p := range s.sup.Snapshot().Pools {
		now[p.Name] = p.Children
	}
	if err := plan.CapacityOf(s.host).Refuse(told.Pools, pool, children, now); err != nil {
		return err
	}
	s.log.Info("scaling", "pool", pool, "children", children)
	return s.sup.Scale(pool, children)
}
