package plan

import (
	"maps"
	"slices"

	"oarlock/internal/config"
	"oarlock/queue"
)

// Working names the pools of a configuration that work a queue, in the order of their names.
func Working(cfg config.Config, name string) (pools []string) {
	for _, pool := range slices.Sorted(maps.Keys(cfg.Pools)) {
		if queue.MatchAny(cfg.Pools[pool].Queues, name) {
			pools = append(pools, pool)
		}
	}
	return pools
}

// Slots is how many children each pool of a configuration has at most, by its name.
func Slots(cfg config.Config) map[string]int {
	slots := map[string]int{}
	for name, pool := range cfg.Pools {
		slots[name] = max(pool.Children, pool.MaxChildren)
	}
	return slots
}
