package explain

import (
	"context"
	"strings"

	"oarlock/internal/rules"
	"oarlock/queue"
)

// LimitOf reads what limits a throttle now, where all are those of the rules. For the jobs of one value, as region=east, that is the
// value's part, unless somebody set another.
func LimitOf(ctx context.Context, q *queue.Client, all map[string]rules.CompiledThrottle, id string) (queue.RuledLimit, error) {
	limits, err := q.RuledLimits(ctx, id)
	if err != nil {
		return queue.RuledLimit{}, err
	}
	return limits[0], PartsOf(ctx, q, all, &limits[0])
}

// PartsOf makes limits that were read what limits those throttles now, as LimitOf does, in one round trip or none.
func PartsOf(ctx context.Context, q *queue.Client, all map[string]rules.CompiledThrottle, limits ...*queue.RuledLimit) error {
	var bases []string // no name of a throttle of the rules has the =
	var parts []*queue.RuledLimit
	for _, limit := range limits {
		base, _, ofValue := strings.Cut(limit.ID, "=")
		if rule := all[base]; ofValue && rule.By != nil && !rule.Borrow && !limit.Set {
			bases, parts = append(bases, base), append(parts, limit)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	wholes, err := q.RuledLimits(ctx, bases...)
	for i, whole := range wholes {
		_, value, _ := strings.Cut(parts[i].ID, "=")
		parts[i].Maximum = all[bases[i]].CapOf(value, whole.Maximum)
	}
	return err
}
