package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"oarlock/internal/rules"
	"oarlock/queue"
	"oarlock/supervisor"
)

const (
	// fullnessPause is how often is looked which throttles are full.
	fullnessPause = time.Second
	// mostFull is of how many throttles, and parts of throttles, that is told: the first.
	mostFull = 200
)

// fullness tells when throttles of the rules have no place left, and when they have some again. It looks while somebody listens to
// events, and tells what two looks in a row have found: what fills up and has room again within a second is no news.
type fullness struct {
	throttles func() map[string]rules.CompiledThrottle
	limits    func(ctx context.Context, ids ...string) ([]queue.RuledLimit, error)
	heard     func() bool // whether somebody listens
	tell      func(supervisor.Event)
	stood     map[string]stand // by the id of a throttle
}

// stand is how a throttle stood.
type stand struct {
	told bool // it was full when that was last told; at first, when it was first looked at
	last bool // it was full at the last look
}

// throttlePart is a throttle, or the part of its places that is a value's own, with which nobody else may have.
type throttlePart struct {
	id    string
	base  string // of a value: the throttle
	value string
}

// run looks until ctx ends. While Redis is away nothing is told.
func (f *fullness) run(ctx context.Context) error {
	tick := time.NewTicker(fullnessPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			f.look(ctx)
		}
	}
}

// look looks once.
func (f *fullness) look(ctx context.Context) {
	if !f.heard() {
		f.stood = nil
		return
	}
	all := f.throttles()
	parts := partsOf(all)
	if len(parts) == 0 {
		return
	}
	ids := make([]string, len(parts))
	for i, p := range parts {
		ids[i] = p.id
	}
	limits, err := f.limits(ctx, ids...)
	if err != nil {
		return // others say so
	}
	most := map[string]int{}
	next := map[string]stand{}
	for i, p := range parts {
		limit := limits[i].Maximum
		if p.base == "" {
			most[p.id] = limit
		} else if limit = 0; most[p.base] > 0 {
			rule := all[p.base]
			limit = rule.Caps(most[p.base])[p.value]
		}
		next[p.id] = f.judge(p.id, limits[i].Used, limit)
	}
	f.stood = next
}

// partsOf are the throttles of the rules, and those parts of them that are for a named value alone, each behind its throttle.
func partsOf(all map[string]rules.CompiledThrottle) (parts []throttlePart) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, throttlePart{id: name})
		if all[name].Borrow {
			continue
		}
		for _, value := range slices.Sorted(maps.Keys(all[name].Shares)) {
			parts = append(parts, throttlePart{id: name + "=" + value, base: name, value: value})
		}
	}
	return parts[:min(len(parts), mostFull)]
}

// judge tells of a throttle if it stands otherwise than it was told, for the second look in a row.
func (f *fullness) judge(id string, used, limit int) stand {
	full := limit > 0 && used >= limit
	was, known := f.stood[id]
	if !known {
		return stand{told: full, last: full}
	}
	if full != was.told && full == was.last {
		e := supervisor.Event{Kind: supervisor.ThrottleFree, Name: id, Count: used, To: limit, Message: fmt.Sprintf("%d of %d places are taken", used, limit)}
		if full {
			e.Kind = supervisor.ThrottleFull
		}
		if limit == 0 {
			e.Message = "it has no limit any more"
		}
		f.tell(e)
		was.told = full
	}
	was.last = full
	return was
}
