// Package intake makes jobs of what programs push to lists. It owns which lists those are, and a goroutine for each, which reads what comes
// next, has it put, and waits for more. It must not know pools, children or what a job is about: how an entry is read
// it is told.
package intake

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"oarlock/queue"
	"oarlock/supervisor/internal/gate"
	"oarlock/supervisor/report"
)

// Redis is what a Keeper needs of a queue.Client, whose comments are its contract.
type Redis interface {
	NextOfList(ctx context.Context, list string, n int) ([]string, error)
	TakeIn(ctx context.Context, list, queue string, window int, entries []queue.Intake) (queue.TakenIn, error)
	ListWaiter(list string) Waiter
}

// Waiter is what a Keeper needs of a queue.ListWaiter.
type Waiter interface {
	Await(context.Context) error
	Close() error
}

// Source is a list whose entries become jobs of a queue.
type Source struct {
	Queue  string
	List   string // as a queue.List is named
	As     string // tells how Read reads: who has the same reads the same
	Window int    // no more jobs wait in the queue than that; 0 is no limit

	// Read says which job an entry is, or why it is none, for whoever looks at those that are broken. Safe for concurrent use.
	Read func(entry string) (queue.Put, error)
}

// same reports whether two are not to be told apart.
func (s *Source) same(as *Source) bool {
	return s.Queue == as.Queue && s.List == as.List && s.As == as.As && s.Window == as.Window
}

// Keeper takes in all lists of a supervisor.
type Keeper struct {
	redis   Redis
	gate    *gate.Gate
	poll    time.Duration
	log     *slog.Logger
	changed chan struct{} // of size 1

	mu      sync.Mutex
	wanted  []Source
	feeders []*feeder // those that run
}

// New prepares a keeper, which does nothing before Run. Where there is trouble with a list, it looks again after poll.
func New(redis Redis, gate *gate.Gate, poll time.Duration, log *slog.Logger) *Keeper {
	return &Keeper{redis: redis, gate: gate, poll: poll, log: log, changed: make(chan struct{}, 1)}
}

// Set replaces the lists; without any it takes in nothing. Those that stay are not touched. Safe for concurrent use.
func (k *Keeper) Set(sources []Source) {
	k.mu.Lock()
	k.wanted = slices.Clone(sources)
	k.mu.Unlock()
	select {
	case k.changed <- struct{}{}:
	default: // it will see these
	}
}

// Run takes in until ctx ends. What it has asked of a Redis that does not answer it does not wait for longer than the client does.
func (k *Keeper) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for {
		k.mu.Lock()
		was := k.feeders
		k.feeders = nil
		for _, s := range k.wanted {
			i := slices.IndexFunc(was, func(f *feeder) bool { return f.source.same(&s) })
			if i < 0 {
				f := newFeeder(k, s)
				feeding, end := context.WithCancel(ctx)
				f.end = end
				all.Go(func() { f.run(feeding) })
				k.feeders = append(k.feeders, f)
				continue
			}
			k.feeders = append(k.feeders, was[i])
			was = slices.Delete(was, i, i+1)
		}
		for _, f := range was {
			f.end()
		}
		k.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-k.changed:
		}
	}
}

// Looked hears what there is in a list. Safe for concurrent use.
func (k *Keeper) Looked(list string, counts queue.ListCounts) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range k.feeders {
		if f.source.List == list {
			f.note(func(s *report.IntakeSnapshot) { s.Waiting, s.Aside = counts.Waiting, counts.Broken })
		}
	}
}

// Snapshot describes the lists, in the order of Set. Safe for concurrent use.
func (k *Keeper) Snapshot() []report.IntakeSnapshot {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []report.IntakeSnapshot
	for _, f := range k.feeders {
		all = append(all, f.snapshot())
	}
	return all
}
