package connection

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// epoch is the time since which connections are good. Older ones are not used again: the driver closes one instead of using it, and
// dials, which resolves the host name again.
type epoch struct {
	since atomic.Pointer[time.Time] // nil before the first; with the monotonic clock, for the wall clock may step
	begun func()                    // is told of a new one
}

// begin makes all connections that were made before a moment old.
func (e *epoch) begin(at time.Time) {
	for {
		before := e.since.Load()
		if before != nil && !at.After(*before) {
			return
		}
		if e.since.CompareAndSwap(before, &at) {
			break
		}
	}
	if e.begun != nil {
		e.begun()
	}
}

// isOver reports whether a connection that was made then is old.
func (e *epoch) isOver(made time.Time) bool {
	since := e.since.Load()
	return since != nil && made.Before(*since)
}

// errOld keeps the driver from using an old connection.
var errOld = errors.New("the server of this connection takes no writes")

// watch is a hook of the driver that begins an epoch when the answer to a command says that another server is to be asked. A command under way is not
// disturbed, and a connection that was made after the command was sent is kept: a late answer says nothing of it.
type watch struct {
	epoch  *epoch
	leaves func(error) bool
}

func (w watch) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w watch) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmd)
		if err != nil && w.leaves(err) {
			w.epoch.begin(began)
		}
		return err
	}
}

func (w watch) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if e := cmd.Err(); e != nil && w.leaves(e) {
				w.epoch.begin(began)
				break
			}
		}
		return err
	}
}

// watched makes a client begin a new epoch when an answer says that its server is not the master.
func (t *Target) watched(client redis.UniversalClient) redis.UniversalClient {
	if t.leaves != nil {
		client.AddHook(watch{t.epoch, t.leaves})
	}
	return client
}
