package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"oarlock/internal/config"
)

// Keys is what is measured of jobs in order.
type Keys struct {
	Keys   int    // so many there are; 0: nothing is measured
	Pairs  int    // how often both are worked, one after the other; at least 6, fewer have no interval
	Before string // path of another build of this program, with which ordinary jobs are worked, too; "": none
}

// leastPairs have an interval: of fewer the least and the greatest hold the median less often than 95 times in a hundred.
const leastPairs = 6

// Compared is how fast one thing went by the other, in pairs of which each was worked right after the other.
type Compared struct {
	Name  string  `json:"name"` // coming, backlog or before
	Keys  int     `json:"keys"`
	Jobs  int     `json:"jobs"` // of each series
	Pairs int     `json:"pairs"`
	This  float64 `json:"jobs_per_s"`      // median; of the jobs with keys, or of ordinary ones by this build
	Other float64 `json:"than_jobs_per_s"` // of ordinary jobs, or of ordinary ones by the other build
	Ratio float64 `json:"ratio"`           // median of the pairs' ratios of the first by the second
	Low   float64 `json:"ratio_low"`       // where that of any number of pairs lies, 95 times in a hundred
	High  float64 `json:"ratio_high"`
}

// inOrder measures jobs with keys beside ordinary ones, in turns: as they come, and of a backlog; and ordinary ones by another build
// beside this one, if there is one.
func (b *Bench) inOrder(ctx context.Context, s Series, k Keys, report *Report) error {
	if err := b.equip(&s.Shape); err != nil {
		return err
	}
	keyed, fed, fedKeyed, before := s.Shape, s.Shape, s.Shape, s.Shape
	keyed.Keys, fedKeyed.Keys = k.Keys, k.Keys
	fed.Fed, fedKeyed.Fed = true, true
	if before.Prefetch == int(config.AutoPrefetch) {
		before.Prefetch = 0 // another build may know of none other, and would wait for ever
	}
	now := before
	before.By = k.Before
	for _, pair := range []struct {
		name        string
		this, other Shape
	}{{"coming", fedKeyed, fed}, {"backlog", keyed, s.Shape}, {"before", now, before}} {
		if pair.name == "before" && k.Before == "" {
			continue
		}
		report.begin(pair.name)
		found := Compared{Name: pair.name, Keys: pair.this.Keys, Jobs: s.Jobs, Pairs: k.Pairs}
		if err := b.compare(ctx, &found, pair.this, pair.other); err != nil {
			return err
		}
		report.compared(found)
	}
	return nil
}

// compare works both shapes in pairs, each first as often as the other.
func (b *Bench) compare(ctx context.Context, found *Compared, this, other Shape) error {
	var rates, others, ratios []float64
	for n := range found.Pairs {
		shapes := []Shape{this, other}
		if n%2 == 1 {
			slices.Reverse(shapes)
		}
		var got [2]float64
		for i, shape := range shapes {
			r, err := b.series(ctx, shape, found.Jobs, 0, "")
			if err := errors.Join(err, b.clear(ctx)); err != nil {
				return err
			}
			got[i] = r.Rate
		}
		if n%2 == 1 {
			got[0], got[1] = got[1], got[0]
		}
		rates, others, ratios = append(rates, got[0]), append(others, got[1]), append(ratios, got[0]/got[1])
	}
	found.This, _, _ = interval(rates)
	found.Other, _, _ = interval(others)
	found.Ratio, found.Low, found.High = interval(ratios)
	return nil
}

// interval is the median of some values, and between which of them that of all that might have been lies, 95 times in
// a hundred; of fewer than leastPairs that is the least and the greatest. It sorts them.
func interval(values []float64) (median, low, high float64) {
	slices.Sort(values)
	n := len(values)
	median = (values[(n-1)/2] + values[n/2]) / 2
	// How often fewer than k of n lie below the median is as with coins; both sides have their part of the rest.
	out, below, chance := 0, 0.0, math.Pow(0.5, float64(n))
	for k := range n / 2 {
		if below += chance; below > 0.025 {
			break
		}
		out, chance = k, chance*float64(n-k)/float64(k+1)
	}
	return median, values[out], values[n-1-out]
}

// waiting is how many jobs wait at most where they are worked as they come, and refill how many are put at once.
const waiting, refill = 100, 25

// feed puts jobs as others are done, until the crew has worked n, some of which were put before. After an error the crew is gone.
func (b *Bench) feed(ctx context.Context, c *crew, shape Shape, put, n int) (word, error) {
	for {
		said, err := c.await(func(w word) bool { return w.Worked != nil || w.Done > 0 })
		if err != nil || said.Worked != nil {
			return said, err
		}
		more := min(refill, n-put)
		if more <= 0 {
			continue
		}
		if _, err := b.give(ctx, shape, put, more); err != nil {
			return said, errors.Join(err, c.dismiss(nil))
		}
		put += more
	}
}

// keyOf is the key of the job with that number; "" of a shape without.
func (s Shape) keyOf(number int) string {
	if s.Keys == 0 {
		return ""
	}
	return fmt.Sprint("customer-", number%s.Keys)
}
