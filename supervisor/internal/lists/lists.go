// Package lists looks after the lists that pools work where they lie, or whose entries become jobs: what is in them, and what of it was
// abandoned by whoever had it. It owns when that is looked at, in one call for all lists. It knows of a pool which list it works,
// and takes nothing itself; it must not know jobs, children or settlements.
package lists

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"oarlock/queue"
	"oarlock/supervisor/internal/clock"
	"oarlock/supervisor/internal/gate"
)

// monitorPart is the part of its timeout after which a list is looked at for what was abandoned.
const monitorPart = 10

// Redis is what a Keeper needs of a queue.Client, whose comments are its contract.
type Redis interface {
	CountLists(ctx context.Context, names []string) ([]queue.ListCounts, error)
	MonitorList(context.Context, queue.List) (int, error)
}

// Pool is who is told: a pool, or who takes a list in. Its methods must be safe for concurrent use.
type Pool interface {
	List() *queue.List
	// Looked tells what there is in the list, as asked at a time, and how many entries were put back since the last.
	Looked(counts queue.ListCounts, putBack int, at time.Duration)
}

// Keeper looks at all lists of a supervisor every poll interval, and for what was abandoned ten times in the timeout of each.
type Keeper struct {
	redis Redis
	gate  *gate.Gate
	clock func() time.Duration
	poll  time.Duration
	log   *slog.Logger
	due   map[string]time.Duration // by list: when it is to be monitored; of the goroutine of Run

	mu    sync.Mutex
	pools []Pool
}

// New prepares a keeper, which does nothing before Run. It looks every poll, give or take, on that clock.
func New(redis Redis, gate *gate.Gate, clock func() time.Duration, poll time.Duration, log *slog.Logger) *Keeper {
	return &Keeper{redis: redis, gate: gate, clock: clock, poll: poll, log: log, due: map[string]time.Duration{}}
}

// Watch replaces the pools whose lists are looked after. Safe for concurrent use.
func (k *Keeper) Watch(pools []Pool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pools = slices.Clone(pools)
}

func (k *Keeper) watched() []Pool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.pools)
}

// Run looks until ctx ends. While Redis is away it waits.
func (k *Keeper) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.gate.Open():
		}
		if pools := k.watched(); len(pools) > 0 {
			if err := k.look(ctx, pools); err != nil && ctx.Err() == nil && k.gate.SortHarmless(err) == gate.Refused {
				k.log.Error("lists cannot be looked after", "err", err)
			}
		}
		rest := time.NewTimer(clock.Jittered(k.poll))
		select {
		case <-ctx.Done():
			rest.Stop()
			return
		case <-rest.C:
		}
	}
}

// look tells the pools what there is in their lists, and monitors those whose time it is.
func (k *Keeper) look(ctx context.Context, pools []Pool) error {
	at := k.clock()
	putBack, refused := k.monitor(ctx, pools, at)
	names := make([]string, len(pools))
	for i, p := range pools {
		names[i] = p.List().Name
	}
	counts, err := k.redis.CountLists(ctx, names)
	if err != nil {
		return err
	}
	for i, p := range pools {
		p.Looked(counts[i], putBack[names[i]], at)
		delete(putBack, names[i]) // of two pools with one list, one tells of it
	}
	return refused
}

// monitor puts back what was abandoned, where it is time to look for that, and returns how many of each list.
func (k *Keeper) monitor(ctx context.Context, pools []Pool, now time.Duration) (putBack map[string]int, err error) {
	putBack = map[string]int{}
	for _, p := range pools {
		l := p.List()
		if !l.Monitor || now < k.due[l.Name] {
			continue
		}
		k.due[l.Name] = now + clock.Jittered(l.Timeout/monitorPart)
		n, refused := k.redis.MonitorList(ctx, *l)
		if n > 0 {
			putBack[l.Name] += n
			k.log.Warn("entries of a list were abandoned, and are put back to its front", "list", l.Name, "entries", n, "timeout", l.Timeout)
		}
		if refused != nil {
			err = refused
		}
	}
	return putBack, err
}
