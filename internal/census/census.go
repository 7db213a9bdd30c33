// Package census keeps what is in all queues of a namespace, as of a few seconds ago, for everybody in this process who
// shows it. It owns when Redis is asked: twenty-five queues a call with a pause between, and only while somebody wants to
// know. It knows of Redis what a queue.Client tells, and not who wants to know.
package census

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"oarlock/queue"
)

const (
	// pause is how often all queues are counted, and how old an answer may be that is good enough; lasts is how old it may be while
	// the next is being counted, so that nobody who looks all the time waits for that.
	pause = 5 * time.Second
	lasts = 2 * pause
	// breath is how long Redis is left alone between two calls, and shortBreath while somebody waits for them: the first to look.
	breath      = 20 * time.Millisecond
	shortBreath = 2 * time.Millisecond
	// interest is for how long somebody who has asked counts as one who will again.
	interest = 15 * time.Second
	// mostLoads is how many throttles of the rules are told of.
	mostLoads = 200
	// mostFair is of how many queues with rules is told how their turns go on.
	mostFair = 200
	// roundLimit bounds a round, in which each call has its own, shorter limit.
	roundLimit = 30 * time.Second
)

// Redis is what a census needs of a queue.Client, whose comments are its contract.
type Redis interface {
	QueueNames(context.Context) ([]string, error)
	Census(ctx context.Context, names []string) ([]queue.QueueCensus, float64, error)
	FailedGroups(context.Context) (map[string]int, error)
	ThrottleLoads(ctx context.Context, most int) ([]queue.ThrottleLoad, error)
	RuledLimits(ctx context.Context, ids ...string) ([]queue.RuledLimit, error)
	FairQueues(ctx context.Context, most int) ([]queue.Fairness, error)
	Correlations(context.Context) (int, error)
}

// Census is what there was in all queues. What it points to must not be changed.
type Census struct {
	Queues       []queue.QueueCensus  // the one known longest first
	Groups       map[string]int       // failed jobs by group
	Loads        []queue.ThrottleLoad // of throttles of the rules, by their names
	Shares       []Share              // of them that rules give to values by name, likewise
	Fair         []queue.Fairness     // of fair queues, by their names
	Correlations int                  // that are known

	Now float64   // when the counting began, in seconds since the epoch on the server's clock
	At  time.Time // the same on ours; zero before there was a census
}

// Keeper keeps the last census. Its methods are safe for concurrent use.
type Keeper struct {
	redis  Redis
	told   []func(Census)
	wanted chan struct{} // of size 1

	mu       sync.Mutex // for memory only
	last     Census
	err      error         // of the last round
	tried    time.Time     // when that began
	since    time.Time     // when somebody last wanted to know
	await    int           // how many wait for the round
	counting bool          // a round is under way
	round    chan struct{} // closed when the round that is under way, or is to come, has ended
}

// New makes a keeper, which counts nothing before Run. told hear of each census, from Run's goroutine.
func New(redis Redis, told ...func(Census)) *Keeper {
	return &Keeper{redis: redis, told: told, wanted: make(chan struct{}, 1), round: make(chan struct{})}
}

// Get returns a census that is not older than five seconds and what a round takes, ten at most, if there is one within the time of
// ctx. Else the error says why, and the census is the last there was, if there was any.
func (k *Keeper) Get(ctx context.Context) (Census, error) {
	k.mu.Lock()
	k.since = time.Now()
	last, err, round := k.last, k.err, k.round
	tried := !k.tried.IsZero() && (time.Since(k.tried) <= pause || k.err == nil && time.Since(k.tried) <= lasts && k.counting)
	if !tried {
		k.await++
	}
	k.mu.Unlock()
	if tried {
		return last, err
	}
	defer k.gone()
	select {
	case k.wanted <- struct{}{}:
	default: // a round is to come
	}
	select {
	case <-ctx.Done():
		last, err = k.Last()
		return last, errors.Join(err, ctx.Err())
	case <-round:
		return k.Last()
	}
}

// gone is one fewer who waits.
func (k *Keeper) gone() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.await--
}

// breathe is how long to leave Redis alone now.
func (k *Keeper) breathe() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.await > 0 {
		return shortBreath
	}
	return breath
}

// Last is the last census, however old it is; it asks nobody. The error is that of the last round.
func (k *Keeper) Last() (Census, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last, k.err
}

// Run counts whenever somebody wants to know, until ctx ends. It is called once and returns nil.
func (k *Keeper) Run(ctx context.Context) error {
	for {
		if !k.interesting() {
			select {
			case <-ctx.Done():
				return nil
			case <-k.wanted:
			}
		}
		began := time.Now()
		k.begin()
		census, err := k.count(ctx)
		if ctx.Err() != nil {
			return nil
		}
		k.keep(census, err, began)
		if err == nil {
			for _, tell := range k.told {
				tell(census)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause - min(time.Since(began), pause-time.Second)):
		}
	}
}

// interesting reports whether somebody has wanted to know of late.
func (k *Keeper) interesting() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.since.IsZero() && time.Since(k.since) < interest
}

// begin begins a round.
func (k *Keeper) begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.counting = true
}

// keep ends a round, and with it the waits for it.
func (k *Keeper) keep(census Census, err error, began time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tried, k.counting = began, false
	if k.err = err; err == nil {
		k.last = census
	}
	close(k.round)
	k.round = make(chan struct{})
	select {
	case <-k.wanted: // by somebody who has it now
	default:
	}
}

// count is one round.
func (k *Keeper) count(ctx context.Context) (Census, error) {
	ctx, cancel := context.WithTimeout(ctx, roundLimit)
	defer cancel()
	census := Census{At: time.Now()}
	names, err := k.redis.QueueNames(ctx)
	if err != nil {
		return census, err
	}
	if _, census.Now, err = k.redis.Census(ctx, nil); err != nil {
		return census, err
	}
	census.Queues = make([]queue.QueueCensus, 0, len(names))
	for some := range slices.Chunk(names, queue.CensusChunk) {
		counted, now, err := k.redis.Census(ctx, some)
		if err != nil {
			return census, err
		}
		if len(census.Queues) == 0 {
			census.Now = now
		}
		census.Queues = append(census.Queues, counted...)
		select {
		case <-ctx.Done():
			return census, ctx.Err()
		case <-time.After(k.breathe()):
		}
	}
	if census.Groups, err = k.redis.FailedGroups(ctx); err != nil {
		return census, err
	}
	if census.Correlations, err = k.redis.Correlations(ctx); err != nil && queue.Class(err) != queue.Refused {
		return census, err
	}
	if census.Loads, err = k.redis.ThrottleLoads(ctx, mostLoads); err == nil {
		census.Shares, err = k.shares(ctx, census.Loads)
	}
	if err == nil {
		census.Fair, err = k.redis.FairQueues(ctx, mostFair)
	}
	if queue.Class(err) == queue.Refused {
		return census, nil // a key of rules is none: the doctor says so, and queues are counted all the same
	}
	return census, err
}
