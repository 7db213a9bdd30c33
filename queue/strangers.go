package queue

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// Stranger is a worker that took a job of a ruled queue without having asked the gate: it knows no rules, or began before there were any.
type Stranger struct {
	Worker string
	Queue  string
	At     float64 // when that was seen last, in seconds since the epoch
}

// Strangers tells which workers took jobs of ruled queues past their limits, as far as Tend has seen it in the last day; by name. It changes nothing.
func (c *Client) Strangers(ctx context.Context) ([]Stranger, error) {
	fields, err := c.redis.HGetAll(ctx, c.ns+"oarlock:outside").Result()
	if err != nil {
		return nil, harmless(classify("hgetall", err))
	}
	strangers := make([]Stranger, 0, len(fields))
	for worker, text := range fields {
		at, queue, _ := strings.Cut(text, " ")
		when, _ := strconv.ParseFloat(at, 64)
		strangers = append(strangers, Stranger{worker, queue, when})
	}
	slices.SortFunc(strangers, func(a, b Stranger) int { return strings.Compare(a.Worker, b.Worker) })
	return strangers, nil
}
