package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"oarlock/queue"
	"oarlock/queue/admin"
)

// rounds is how often two that are compared are worked in turns.
const rounds = 5

// besides measures the jobs of a series as entries of a list and as jobs of a queue, in turns; of all rounds it reports the
// median. All jobs of a round are there before it begins.
func (b *Bench) besides(ctx context.Context, s Series, latency int, report *Report) error {
	if err := b.equip(&s.Shape); err != nil {
		return err
	}
	asList := s.Shape
	asList.List = admin.ListToMeasure(b.Client)
	shapes := []Shape{asList, s.Shape}
	found := make([][]Result, len(shapes))
	report.begin("lists")
	for range rounds {
		for i, shape := range shapes {
			r, err := b.series(ctx, shape, s.Jobs, 0, "")
			if err != nil {
				return err
			}
			found[i] = append(found[i], r)
			if err := b.clear(ctx); err != nil {
				return err
			}
		}
	}
	for i, shape := range shapes {
		slices.SortFunc(found[i], byRate)
		r := found[i][rounds/2]
		if latency > 0 {
			if err := errors.Join(b.wait(ctx, &r, shape, latency), b.clear(ctx)); err != nil {
				return err
			}
		}
		report.begin(shape.Mode)
		report.add(r)
	}
	return nil
}

func byRate(a, b Result) int { return cmp.Compare(a.Rate, b.Rate) }

// push pushes n entries to a list, unlike those with a number below from, and tells their jids.
func (b *Bench) push(ctx context.Context, list string, from, n int) ([]string, error) {
	jids := make([]string, n)
	for i := range jids {
		entry, err := b.Client.PushList(ctx, list, fmt.Appendf(nil, `{"n":%d}`, from+i))
		if err != nil {
			return nil, err
		}
		if jids[i], _, err = queue.ReadListEntry(list, entry); err != nil {
			return nil, err
		}
		if b.progress != nil && (i%1000 == 999 || i == n-1) {
			b.progress(i+1, n)
		}
	}
	return jids, nil
}
