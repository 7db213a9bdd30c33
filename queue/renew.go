package queue

import (
	"context"

	"oarlock/queue/internal/wire"
)

// RenewItem names a lock to extend.
type RenewItem struct {
	JID, Queue string
	Popped     float64 // as in Settlement
	Checkpoint []byte  // kept with the job if not nil; at most 64 KiB
}

// Renewed answers one RenewItem.
type Renewed struct {
	JID     string
	Expires float64 // when the lock now ends, on the server's clock
	Err     error   // nil, ErrLockLost, or what Renew itself could return
}

// Renew extends locks, one call for all, and answers for each. A renewal in doubt may
// simply be repeated; until a reply has come, the locks end when they did before.
func (s *Session) Renew(ctx context.Context, items []RenewItem) ([]Renewed, error) {
	raw, err := s.client.call(ctx, Batch, "renew", renewArgs(s.worker, items)...)
	if err != nil {
		return nil, err
	}
	in := wire.Read(raw)
	renewed := make([]Renewed, len(items))
	for i := range renewed {
		renewed[i].JID = items[i].JID
		if no := in.Nested(); no != nil {
			renewed[i].Err = settleError("renew", no.Text(), no.Text())
			continue
		}
		renewed[i].Expires = in.Float()
	}
	return renewed, in.Err
}

// renewArgs writes the locks to extend, then the checkpoints that come with some.
func renewArgs(worker string, items []RenewItem) []any {
	args := make([]any, 0, 2+3*len(items))
	args = append(args, worker, len(items))
	for _, item := range items {
		args = append(args, item.JID, item.Queue, wire.Mark(item.Popped))
	}
	for i, item := range items {
		if item.Checkpoint != nil {
			args = append(args, i+1, item.Checkpoint)
		}
	}
	return args
}
