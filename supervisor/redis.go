package supervisor

import (
	"context"
	"time"

	"oarlock/queue"
	"oarlock/supervisor/internal/gate"
	"oarlock/supervisor/internal/intake"
	"oarlock/supervisor/internal/pool"
)

// redis is what a supervisor needs of a queue.Client, beside what its pools do.
type redis interface {
	pool.Redis
	Ping(context.Context) error
	Writable(context.Context) error
	Notices(ctx context.Context, workers ...string) <-chan queue.Notice
	Outlook(ctx context.Context, queues []string) ([]queue.QueueOutlook, float64, error)
	OddSettings(context.Context) ([]error, error)
	RespondInbox(context.Context) (read, broken int, err error)
	ResponseLists() (pushed, broken string)
	Tend(ctx context.Context, keyed, idle []string, pause time.Duration) (queue.Tended, error)
	Sweep(ctx context.Context, queues []string, limit int) (queue.Swept, error)
	QueueNames(context.Context) ([]string, error)
	CountLists(ctx context.Context, names []string) ([]queue.ListCounts, error)
	MonitorList(context.Context, queue.List) (int, error)
	intake.Redis
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

func (c redisClient) Session(worker string) pool.Store { return c.Client.Session(worker) }

func (c redisClient) ListSession(worker string, l queue.List) pool.ListStore {
	return c.Client.ListSession(worker, l)
}

func (c redisClient) ListWaiter(list string) intake.Waiter { return c.Client.ListWaiter(list) }
