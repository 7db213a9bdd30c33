package service

import (
	"context"
	"errors"
	"time"

	"oarlock/internal/plan"
	"oarlock/internal/rules"
	"oarlock/queue"
)

// orderEvery is how often Redis is told again which queues have keys: it may have lost its keys.
const orderEvery = 10 * time.Second

// keepOrder tells Redis what [queues] says of keys, when it is there, when that changes, and now and then. What another file says
// otherwise stays, and is said once.
func (s *Service) keepOrder(ctx context.Context, client *queue.Client) error {
	said, mode := map[string]bool{}, queue.AllOrders
	for {
		s.sup.AwaitRedis(ctx)
		if ctx.Err() != nil {
			return nil
		}
		file := plan.Orders(s.config())
		changes, err := client.SetKeyOrder(ctx, file, mode)
		var again <-chan time.Time
		if err == nil {
			mode = queue.KeepOrders
			s.tellOrders(file, changes, said)
			if len(file.Orders) > 0 {
				again = time.After(orderEvery)
			}
		} else {
			again = time.After(time.Second)
			if text := err.Error(); !said[text] && (!errors.Is(err, queue.ErrAway) || queue.Class(err) == queue.Denied) {
				s.log.Error("Redis is not told of the order of queues", "err", err)
				said[text] = true
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.reordered:
			mode = queue.AllOrders
			clear(said)
		case <-again:
		}
	}
}

// tellOrders logs what has changed of the order of queues, and what could not; the latter once, and for status.
func (s *Service) tellOrders(file queue.OrderFile, changes []queue.OrderChange, said map[string]bool) {
	conflicts := []rules.Conflict{}
	for _, c := range changes {
		if !c.Conflict {
			s.log.Info("the order of a queue is as the file says", "queue", c.Queue, "was", c.Was)
			continue
		}
		conflict := rules.Conflict{Entry: "queues." + c.Queue + ".order", Ours: file.Revision, Owner: c.Owner, Revision: c.Revision}
		conflicts = append(conflicts, conflict)
		if text := conflict.String(); !said[text] {
			s.log.Warn(text)
			said[text] = true
		}
	}
	s.mu.Lock()
	s.orderConflicts = conflicts
	s.mu.Unlock()
}
