package pool

import (
	"context"

	"oarlock/queue"
)

// Store is what a pool needs of a queue.Session, whose comments are its contract.
type Store interface {
	Exchange(context.Context, []queue.Settlement, queue.Take) (queue.Reply, error)
	Release(context.Context, []queue.Settlement) ([]queue.SettleResult, error)
	Renew(context.Context, []queue.RenewItem) ([]queue.Renewed, error)
	Wish(context.Context, []queue.Wish) ([]error, error)
	Held(ctx context.Context, queues []string, inFlight ...queue.RenewItem) ([]queue.Taken, error)
	Resolve(context.Context, []queue.Settlement) ([]queue.Resolution, error)
	Deregister(context.Context) error
	Close() error
}

// ListStore is what a pool of a list needs of a queue.ListSession, whose comments are its contract.
type ListStore interface {
	Store
	Await(context.Context) error
}

// Redis is what a pool needs of a queue.Client.
type Redis interface {
	Now() float64 // seconds on the server's clock
	Session(worker string) Store
	ListSession(worker string, l queue.List) ListStore
}
