package plan

import (
	"fmt"
	"maps"
	"slices"

	"oarlock/internal/config"
	"oarlock/queue"
)

// beyond tells of names in the configuration that no put of ours takes: for their length, or, of recurring jobs, for the number of tags.
func beyond(cfg config.Config) (warnings []string) {
	check := func(key, then string, put queue.Put) {
		if err := put.CheckBounds(); err != nil {
			warnings = append(warnings, fmt.Sprintf("%.100s: %v, so %s.", key, err, then))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Pools)) {
		pool := cfg.Pools[name]
		for _, to := range pool.Queues {
			check("pools."+name+".queues", "only other programs can put jobs into it", queue.Put{Queue: to})
		}
		for _, to := range pool.NextQueues {
			check("pools."+name+".next_queues", "no job goes there", queue.Put{Queue: to})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Queues)) {
		then := "only other programs can put jobs into it"
		if len(cfg.Queues[name].Intake) > 0 {
			then = "no entry of a list becomes a job of it"
		}
		check("queues."+name, then, queue.Put{Queue: name})
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Klass)) {
		check("klass."+name, "only jobs of other programs can have that class", queue.Put{Klass: name})
	}
	for _, c := range Crons(cfg) {
		check("recurring."+c.Name, "no supervisor puts its runs", queue.Put{Queue: c.Queue, Klass: c.Klass, Tags: c.Tags})
	}
	if len(cfg.Hooks.Events) > 0 {
		check("hooks.queue", "nobody is told of jobs that fail", queue.Put{Queue: cfg.Hooks.Queue})
	}
	return warnings
}
