package service

import (
	"context"
	"slices"
	"time"

	"oarlock/queue"
)

// noteServed writes regularly which queues the pools work. A put into a queue that no supervisor works can then say so.
func (s *Service) noteServed(ctx context.Context, client *queue.Client) error {
	look := time.NewTicker(servedLook)
	defer look.Stop()
	var last []string
	var said time.Time
	for {
		s.sup.AwaitRedis(ctx)
		var worked []string
		for _, pool := range s.config().Pools {
			worked = append(worked, pool.Queues...)
		}
		slices.Sort(worked)
		if worked = slices.Compact(worked); len(worked) > 0 && (time.Since(said) >= queue.ServedEvery || !slices.Equal(worked, last)) {
			if client.NoteServed(ctx, worked) == nil { // while Redis is away others say so
				last, said = worked, time.Now()
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
	}
}

// servedLook is how often it looks whether a reload has changed them.
const servedLook = 5 * time.Second
