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
	limit, err := q.RuledLimit(ctx, id)
	base, value, ofValue := strings.Cut(id, "=") // no name of a throttle of the rules has it
	rule := all[base]
	if err != nil || !ofValue || rule.By == nil || rule.Borrow || limit.Set {
		return limit, err
	}
	whole, err := q.RuledLimit(ctx, base)
	limit.Maximum = rule.CapOf(value, whole.Maximum)
	return limit, err
}
