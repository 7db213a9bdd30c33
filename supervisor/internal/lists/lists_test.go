package lists

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/queue"
	"oarlock/supervisor/internal/gate"
)

// shelf is a Redis that notes when it was asked.
type shelf struct {
	mu       sync.Mutex
	monitors int
}

func (s *shelf) CountLists(_ context.Context, names []string) ([]queue.ListCounts, error) {
	return make([]queue.ListCounts, len(names)), nil
}

func (s *shelf) MonitorList(context.Context, queue.List) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.monitors++
	return 1, nil
}

// worker is a pool of a list.
type worker struct {
	list queue.List
	mu   sync.Mutex
	back int
	told int
}

func (w *worker) List() *queue.List { return &w.list }

func (w *worker) Looked(_ queue.ListCounts, back int, _ time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.back += back
	w.told++
}

// A list is monitored ten times in its timeout, give or take, once for all pools that work it, and where
// that is not wanted never; it is counted at each look.
func TestKeeperMonitorsTenTimesInATimeout(t *testing.T) {
	for _, monitor := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			clock := func() time.Duration { return time.Since(began) + time.Minute }
			log := slog.New(slog.DiscardHandler)
			g := gate.New(func(context.Context) error { return nil }, log, func(error) {})
			redis := &shelf{}
			k := New(redis, g, clock, time.Second, log)
			pools := []*worker{{list: queue.List{Name: "l", Timeout: 120 * time.Second, Monitor: monitor}}, {list: queue.List{Name: "l", Timeout: 120 * time.Second, Monitor: monitor}}}
			k.Watch([]Pool{pools[0], pools[1]})
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Minute)
			defer stop()
			var all sync.WaitGroup
			all.Go(func() { g.Run(ctx) })
			k.Run(ctx)
			all.Wait()
			if n := redis.monitors; monitor && (n < 80 || n > 115) || !monitor && n > 0 {
				t.Errorf("in ten timeouts there were %d looks, with a monitor: %v", n, monitor)
			}
			if told := pools[0].back + pools[1].back; told != redis.monitors || pools[1].told < 1000 {
				t.Errorf("told of %d put back in %d looks, of %d", told, pools[1].told, redis.monitors)
			}
		})
	}
}
