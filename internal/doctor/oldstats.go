package doctor

import "context"

// OldStats looks for statistics that are older than the setting stats-history says. Supervisors
// delete them, a page every few seconds; with Fix they go at once.
func (d *Doctor) OldStats(ctx context.Context) error {
	k, err := d.keys(ctx)
	if err != nil {
		return err
	}
	old := 0
	err = k.each("s:*", "hash", func(names []string) error {
		n, err := k.Client.ExpireStats(k.ctx, names, !k.Fix)
		old += n
		return readable(err)
	})
	switch {
	case err != nil:
		return d.hidden("statistics", err)
	case old == 0:
	case k.Fix:
		k.found(Fixed, "statistics", "", "%d statistics of days that are older than stats-history were deleted.", old)
	default:
		k.found(Note, "statistics", "Supervisors delete them little by little; --fix does it at once.",
			"%d statistics are of days that are older than stats-history.", old)
	}
	return nil
}
