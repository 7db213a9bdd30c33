package webbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"oarlock/queue"
)

const (
	// longPool works longJobs jobs that do not end, of the queue of its name, under locks of longLock seconds: they are renewed each third of that.
	longPool = "long"
	longJobs = 8
	longLock = "3"
	// marginEvery is how often is asked what was left of them at the last renewal: often enough to miss none.
	marginEvery = 200 * time.Millisecond
)

// longConfig is the table of that pool.
func longConfig() string {
	return fmt.Sprintf("[pools.%s]\nqueues = [%q]\nchildren = %d\ncommand = [\"sleep\", \"86400\"]\ninput = \"none\"\nkill_grace = \"100ms\"\n", longPool, longPool, longJobs)
}

// hold has the jobs begin that do not end, and waits for the first renewal of their locks. end takes them away.
func (b *Bench) hold(ctx context.Context, h *house) (end func(context.Context) error, err error) {
	if err := b.Client.Set(ctx, longPool+"-heartbeat", longLock); err != nil {
		return nil, err
	}
	puts := make([]queue.Put, longJobs)
	for i := range puts {
		puts[i] = queue.Put{Queue: longPool, Klass: "Long"}
	}
	results, err := b.Client.PutAll(ctx, puts)
	if err != nil {
		return nil, err
	}
	jids := make([]string, len(results))
	for i, r := range results {
		if jids[i] = r.JID; r.Err != nil {
			return nil, r.Err
		}
	}
	end = func(ctx context.Context) error { return b.Client.Cancel(ctx, jids...) }
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	for {
		margin, err := h.margin(ctx)
		if err != nil {
			return nil, errors.Join(err, end(context.WithoutCancel(ctx)))
		}
		if margin > 0 {
			return end, nil
		}
		select {
		case <-time.After(marginEvery):
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("no lock is renewed: %w", ctx.Err()), end(context.WithoutCancel(ctx)))
		}
	}
}

// margin is what was left of the shortest lease at the last renewal, in seconds; 0 before the first.
func (h *house) margin(ctx context.Context) (float64, error) {
	text, err := h.get(ctx, "/api/v1/pools/"+longPool, nil)
	if err != nil {
		return 0, err
	}
	var pool struct {
		Last float64 `json:"last_margin"`
	}
	return pool.Last, json.Unmarshal(text, &pool)
}

// least returns the least margin of the renewals while something is done, in seconds.
func (h *house) least(ctx context.Context, do func(context.Context) error) (least float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- do(ctx) }() // waited for below
	least = math.Inf(1)
	tick := time.NewTicker(marginEvery)
	defer tick.Stop()
	for {
		margin, wrong := h.margin(ctx)
		if wrong != nil {
			cancel()
			return 0, errors.Join(wrong, <-done)
		}
		least = min(least, margin)
		select {
		case err = <-done:
			return least, err
		case <-tick.C:
		}
	}
}
