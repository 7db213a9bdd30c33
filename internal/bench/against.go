package bench

import (
	"context"
	"errors"
	"slices"
	"time"

	"oarlock/queue"
	"oarlock/queue/admin"
)

// Against is how fast jobs are worked, by how fast a plain loop of pop and complete over one connection works as many. Both are
// measured in turns, so that what else this machine does slows both.
type Against struct {
	Rate  float64 `json:"jobs_per_s"` // of the loop: the median of the rounds
	Ratio float64 `json:"ratio"`      // of the jobs a second to that: the median
	Low   float64 `json:"low"`        // and the least
	High  float64 `json:"high"`       // and the most of any round
}

// against measures the jobs of a series, and as many of a plain loop on the Redis of reference, in turns. Of all rounds it tells the
// one with the median rate.
func (b *Bench) against(ctx context.Context, s Series, latency int, reference *queue.Client) (Result, error) {
	var all []Result
	var loops, ratios []float64
	for range rounds {
		rate, err := loop(ctx, reference, s.Jobs)
		if err != nil {
			return Result{}, err
		}
		r, err := b.series(ctx, s.Shape, s.Jobs, 0, "")
		if err != nil {
			return r, err
		}
		all, loops, ratios = append(all, r), append(loops, rate), append(ratios, r.Rate/rate)
		if err := b.clear(ctx); err != nil {
			return r, err
		}
	}
	slices.SortFunc(all, byRate)
	slices.Sort(loops)
	slices.Sort(ratios)
	r := all[rounds/2]
	r.Against = &Against{Rate: loops[rounds/2], Ratio: ratios[rounds/2], Low: ratios[0], High: ratios[rounds-1]}
	if latency > 0 {
		return r, b.wait(ctx, &r, s.Shape, latency)
	}
	return r, nil
}

// loop tells how many jobs a second a plain loop works, of n that are all there when it begins. It leaves nothing.
func loop(ctx context.Context, client *queue.Client, n int) (rate float64, err error) {
	b := Bench{Client: client}
	if _, err := b.put(ctx, Shape{}, 0, n); err != nil {
		return 0, err
	}
	worker, err := admin.NewLoop(ctx, client)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = worker.Work(ctx, queueName, n)
	rate = float64(n) / time.Since(began).Seconds()
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearWithin)
	defer cancel()
	return rate, errors.Join(err, worker.Close(), b.clear(clean))
}
