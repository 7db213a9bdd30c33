package doctor

import (
	"context"

	"oarlock/queue/admin"
)

// OldStats looks for statistics that are older than the setting stats-history says. Supervisors
// delete them, a page every few seconds; with Fix they go at once.
func (d *Doctor) OldStats(ctx context.Context) error {
	old, err := admin.OldStats(ctx, d.Client, d.Fix)
	switch {
	case err != nil:
		return d.hidden("statistics", err)
	case old == 0:
	case d.Fix:
		d.found(Fixed, "statistics", "", "%d statistics of days that are older than stats-history were deleted.", old)
	default:
		d.found(Note, "statistics", "Supervisors delete them little by little; --fix does it at once.",
			"%d statistics are of days that are older than stats-history.", old)
	}
	return nil
}
