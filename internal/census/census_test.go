package census

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/internal/must"
	"oarlock/queue"
)

// counted is a Redis of so many queues that counts what it is asked.
type counted struct {
	queues int

	mu    sync.Mutex
	calls int       // of Census
	most  int       // queues asked for in one of them
	last  time.Time // when the last one came
	least time.Duration
	away  error
	takes time.Duration
}

func (c *counted) QueueNames(context.Context) (names []string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := range c.queues {
		names = append(names, fmt.Sprint("q", n))
	}
	return names, c.away
}

func (c *counted) Census(ctx context.Context, names []string) (all []queue.QueueCensus, now float64, err error) {
	if len(names) == 0 {
		return nil, 1, nil
	}
	time.Sleep(c.takes)
	c.mu.Lock()
	defer c.mu.Unlock()
	if gap := time.Since(c.last); c.calls > 0 && (c.least == 0 || gap < c.least) {
		c.least = gap
	}
	c.calls++
	c.most, c.last = max(c.most, len(names)), time.Now()
	for _, name := range names {
		all = append(all, queue.QueueCensus{QueueCounts: queue.QueueCounts{Name: name}})
	}
	return all, float64(time.Now().Unix()), c.away
}

func (c *counted) FairQueues(context.Context, int) ([]queue.Fairness, error) {
	return []queue.Fairness{{Queue: "q0", Values: 2}}, nil
}

func (c *counted) ThrottleLoads(context.Context, int) ([]queue.ThrottleLoad, error) {
	return []queue.ThrottleLoad{
		{ID: "erp", Maximum: 1, Used: 1, Rules: []byte(`{"limit":1}`)}, {ID: "odd", Rules: []byte("none")},
		{ID: "region", Maximum: 10, Rules: []byte(`{"limit":5,"shares":{"west":0.6,"east":0.25},"others":0.1}`), Parties: map[string]int{"east": 3, "*": 1, "north": 9}},
		{ID: "unlimited", Rules: []byte(`{"shares":{"a":1}}`)},
	}, nil
}

func (c *counted) RuledLimits(_ context.Context, ids ...string) (all []queue.RuledLimit, err error) {
	for i, id := range ids {
		all = append(all, queue.RuledLimit{ID: id, Used: i})
	}
	return all, nil
}

func (c *counted) Correlations(context.Context) (int, error) { return 2, nil }

func (c *counted) FailedGroups(context.Context) (map[string]int, error) {
	return map[string]int{"exit-1": 3}, c.away
}

func (c *counted) asked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

func running(t *testing.T, redis *counted, told ...func(Census)) *Keeper {
	k := New(redis, told...)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); k.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return k
}

// Redis is asked for some queues at a time, with pauses, once for all who want to know, and not at all when nobody
// does.
func TestRedisIsAskedAsLittleAsCanBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		redis := &counted{queues: 1000}
		const calls = 1000 / queue.CensusChunk // of a round
		var told atomic.Int64
		k := running(t, redis, func(Census) { told.Add(1) })
		time.Sleep(time.Minute)
		if n := redis.asked(); n != 0 {
			t.Fatalf("nobody wants to know, and Redis is asked %d times", n)
		}
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				for range 60 {
					c, err := k.Get(t.Context())
					if err != nil || len(c.Queues) != 1000 || c.Groups["exit-1"] != 3 || time.Since(c.At) > 6*time.Second {
						t.Errorf("%d queues, as of %v, %v", len(c.Queues), time.Since(c.At), err)
						return
					}
					time.Sleep(time.Second)
				}
			})
		}
		all.Wait()
		redis.mu.Lock()
		n, most, least := redis.calls, redis.most, redis.least
		redis.mu.Unlock()
		if n < 11*calls || n > 15*calls || most != queue.CensusChunk || least < 2*time.Millisecond {
			t.Errorf("in a minute Redis was asked %d times for %d queues at most, %v apart at least", n, most, least)
		}
		time.Sleep(20 * time.Second)
		n = redis.asked()
		time.Sleep(time.Minute)
		if more := redis.asked() - n; more != 0 || told.Load() != int64(n/calls) {
			t.Errorf("nobody wants to know any more, and Redis was asked %d times; %d rounds of %d were told", more, told.Load(), n/calls)
		}
	})
}

// While Redis is away the last census is told, with the error, and nobody waits for the next round.
func TestRedisAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		redis := &counted{queues: 3}
		k := running(t, redis)
		must.Get(k.Get(t.Context()))(t)
		redis.mu.Lock()
		redis.away = queue.ErrAway
		redis.mu.Unlock()
		time.Sleep(10 * time.Second)
		began := time.Now()
		c, err := k.Get(t.Context())
		if !errors.Is(err, queue.ErrAway) || len(c.Queues) != 3 || time.Since(c.At) < 9*time.Second {
			t.Errorf("%d queues as of %v, %v", len(c.Queues), time.Since(c.At), err)
		}
		if again, _ := k.Last(); again.At != c.At || time.Since(began) > time.Second {
			t.Errorf("it took %v", time.Since(began))
		}
	})
}

// Who cannot wait for a slow Redis gets what there is.
func TestASlowRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := running(t, &counted{queues: 3, takes: 10 * time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if c, err := k.Get(ctx); !errors.Is(err, context.DeadlineExceeded) || len(c.Queues) != 0 {
			t.Errorf("%+v, %v", c, err)
		}
		if c, err := k.Get(t.Context()); err != nil || len(c.Queues) != 3 {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

// A namespace without queues has a census, too.
func TestNoQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := running(t, &counted{})
		if c, err := k.Get(t.Context()); err != nil || len(c.Queues) != 0 || c.At.IsZero() || c.Now == 0 {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

// Of the shares that rules name is told, of the places that there are now, how many are their own, taken, and waited for.
func TestShares(t *testing.T) {
	k := New(&counted{})
	c, err := k.count(t.Context())
	want := []Share{{"region", "east", 2, 0, 3}, {"region", "west", 6, 1, 0}, {"region", "*", 1, 2, 1}, {"unlimited", "a", 0, 3, 0}, {"unlimited", "*", 0, 4, 0}}
	if err != nil || !slices.Equal(c.Shares, want) {
		t.Errorf("they are %+v, %v, want %+v", c.Shares, err, want)
	}
	if len(c.Fair) != 1 || c.Fair[0].Values != 2 {
		t.Errorf("of fair queues it tells %+v", c.Fair)
	}
	var many []queue.ThrottleLoad
	for n := range 200 {
		many = append(many, queue.ThrottleLoad{ID: fmt.Sprint(n), Rules: []byte(`{"shares":{"a":0.5,"b":0.5}}`)})
	}
	if some, err := k.shares(t.Context(), many); err != nil || len(some) != mostShares {
		t.Errorf("of many %d are told, %v", len(some), err)
	}
}
