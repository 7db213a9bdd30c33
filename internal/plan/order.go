package plan

import (
	"maps"
	"slices"

	"oarlock/internal/config"
	"oarlock/queue"
)

// Orders is what Redis is told of the queues of a configuration that have keys.
func Orders(cfg config.Config) queue.OrderFile {
	var all []queue.KeyOrder
	for _, name := range slices.Sorted(maps.Keys(cfg.Queues)) {
		if q := cfg.Queues[name]; q.Order == "key" {
			o := queue.KeyOrder{Queue: name, Fair: q.Turns == "fair", Hold: q.AfterFail == "hold", Merge: queue.Merge(q.Merge), Score: q.Score}
			if usual := config.DefaultQueue(); q.RunPayloads != usual.RunPayloads {
				o.RunPayloads = q.RunPayloads
			}
			if usual := config.DefaultQueue(); q.RunBytes != usual.RunBytes {
				o.RunBytes = int64(q.RunBytes)
			}
			all = append(all, o)
		}
	}
	file := cfg.RulesFile()
	return queue.OrderFile{Owner: file.Owner, Revision: file.Revision, Orders: all}
}
