package service

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"oarlock/queue"
)

// sweepStats deletes old statistics, a page at a time, until ctx ends; see queue.Client.SweepStats.
// It begins after a while, for there is no hurry when a supervisor starts. await returns when Redis is
// there.
func sweepStats(ctx context.Context, client *queue.Client, await func(context.Context), log *slog.Logger) error {
	deleted, wait := 0, queue.OldStatsPause
	for {
		timer := time.NewTimer(wait + rand.N(time.Second))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		await(ctx)
		n, again, err := client.SweepStats(ctx)
		if err != nil {
			again = queue.OldStatsPause // while Redis is away others say so
		}
		if deleted += n; deleted > 0 && again > queue.OldStatsPause {
			log.Info("statistics older than stats-history were deleted", "keys", deleted)
			deleted = 0
		}
		wait = again
	}
}
