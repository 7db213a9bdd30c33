package supervisor

import (
	"context"

	"oarlock/queue"
	"oarlock/supervisor/internal/gate"
)

// store is what a pool needs of a queue.Session, whose comments are its contract.
type store interface {
	Exchange(context.Context, []queue.Settlement, queue.Take) (queue.Reply, error)
	Renew(context.Context, []queue.RenewItem) ([]queue.Renewed, error)
	Wish(context.Context, []queue.Wish) ([]error, error)
	Held(ctx context.Context, queues []string) ([]queue.Taken, error)
	Resolve(context.Context, []queue.Settlement) ([]queue.Resolution, error)
	Deregister(context.Context) error
	Close() error
}

// redis is what a supervisor needs of a queue.Client.
type redis interface {
	Ping(context.Context) error
	Writable(context.Context) error
	Now() float64 // seconds on the server's clock
	Notices(ctx context.Context, workers ...string) <-chan queue.Notice
	Outlook(ctx context.Context, queues []string) ([]queue.QueueOutlook, float64, error)
	OddSettings(context.Context) ([]error, error)
	Sweep(ctx context.Context, queues []string, limit int) (queue.Swept, error)
	QueueNames(context.Context) ([]string, error)
	Session(worker string) store
}

type redisClient struct{ *queue.Client }

// Ping also reads a key: a Redis that loads its data, or runs a long script, tells the
// time and does nothing else. And it asks for a write, for want of which all that is to be done
// would be refused; but for want of memory what ends can be settled still.
func (c redisClient) Ping(ctx context.Context) error {
	if err := c.Client.Ping(ctx); err != nil {
		return err
	}
	if err := c.Serves(ctx); err != nil {
		return err
	}
	if err := c.Writable(ctx); gate.Of(err) != gate.Full {
		return err
	}
	return nil
}

func (c redisClient) Session(worker string) store { return c.Session(worker) }
