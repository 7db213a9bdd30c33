package census

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"oarlock/internal/rules"
	"oarlock/queue"
)

// mostShares is of how many shares is told: the first.
const mostShares = 200

// Share is the part of a throttle that the rules give to a value.
type Share struct {
	Throttle string
	Value    string // rules.OtherValues: of all values that they do not name
	Own      int    // so many places are its own; 0 while the throttle has no limit
	Used     int    // places that are taken, those above Own that are lent included
	Waiting  int    // jobs
}

// shares are those that rules name.
func (k *Keeper) shares(ctx context.Context, loads []queue.ThrottleLoad) (all []Share, err error) {
	var ids []string
	for i := range loads {
		load := &loads[i]
		var rule rules.CompiledThrottle
		if json.Unmarshal(load.Rules, &rule) != nil || len(rule.Shares) == 0 {
			continue
		}
		own := map[string]int{}
		if load.Maximum > 0 {
			own = rule.Caps(load.Maximum)
		}
		for _, value := range append(slices.Sorted(maps.Keys(rule.Shares)), rules.OtherValues) {
			all = append(all, Share{Throttle: load.ID, Value: value, Own: own[value], Waiting: load.Parties[value]})
			ids = append(ids, load.ID+"="+value)
		}
	}
	if all, ids = all[:min(len(all), mostShares)], ids[:min(len(ids), mostShares)]; len(ids) == 0 {
		return nil, nil
	}
	limits, err := k.redis.RuledLimits(ctx, ids...)
	for i := range limits {
		all[i].Used = limits[i].Used
	}
	return all, err
}
