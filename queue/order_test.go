package queue

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"oarlock/queue/internal/script"
)

// TestJobsRunInTheOrderOfPutting puts jobs that have the same score, and others, in every
// way that names them, and pops them by our take and by the protocol's own pop.
func TestJobsRunInTheOrderOfPutting(t *testing.T) {
	l := newLab(t, "shared", DefaultNamespace)
	c := labClient(t, l)
	const n, now = 1000, 1700000000.25
	priority := func(p float64) *float64 { return &p }
	kinds := map[string]struct {
		like Put
		one  bool // in a call for each
		wait float64
	}{
		"one call":                   {},
		"a call each":                {one: true},
		"delayed by the same time":   {like: Put{Delay: 10 * time.Second}, wait: 11},
		"delayed, one call each":     {like: Put{Delay: 10 * time.Second}, one: true, wait: 11},
		"of a priority":              {like: Put{Priority: priority(7)}},
		"of a priority, a call each": {like: Put{Priority: priority(1e9)}, one: true}, // a score holds 20 minutes
		"tagged":                     {like: Put{Tags: []string{"red"}}},
	}
	// More than the jobs, so that delayed ones come in together, and few, so that they do not.
	for _, by := range []int{2 * n, 7} {
		for name, kind := range kinds {
			for _, popper := range []string{"take", "pop"} {
				t.Run(fmt.Sprintf("%s, by %s of %d", name, popper, by), func(t *testing.T) {
					ok(t, c.redis.FlushDB(t.Context()).Err())
					puts := make([]Put, n)
					for i := range puts {
						puts[i] = kind.like
						puts[i].Queue, puts[i].Klass, puts[i].Data = "q", "K", []byte(strconv.Itoa(i))
					}
					size := PutChunk
					if kind.one {
						size, puts = 1, puts[:50]
					}
					at := now
					for i := 0; i < len(puts); i += size {
						named, _ := nameAndCheck(puts[i:min(i+size, len(puts))], nil)
						must(c.run(t.Context(), c.redis, script.Name{Dialect: Batch, Command: "put"}, at, appendPuts([]any{""}, named)...))(t)
						at += 0.002
					}
					for want, at := 0, at+kind.wait; want < len(puts); at += 0.001 {
						got := popData(t, c, popper, at, by)
						stop(t, len(got) == 0, "%d of %d came", want, len(puts))
						for _, data := range got {
							stop(t, data != strconv.Itoa(want), "job %s came as number %d", data, want)
							want++
						}
					}
				})
			}
		}
	}
}

// popData pops and returns the data of what came, in order.
func popData(t *testing.T, c *Client, popper string, now float64, count int) (data []string) {
	t.Helper()
	if popper == "take" {
		raw, err := c.run(t.Context(), c.redis, script.Name{Dialect: Batch, Command: "exchange"}, now, exchangeArgs("w", nil, nil, Take{Queues: []string{"q"}, Count: count})...)
		ok(t, err)
		reply := must(readExchange(raw, now, nil, nil))(t)
		for _, job := range reply.Jobs {
			data = append(data, string(job.Data))
		}
		return data
	}
	raw := must(c.run(t.Context(), c.redis, script.Name{Dialect: Qless, Command: "pop"}, now, "q", "w", count))(t)
	var jobs []struct{ Data string }
	if text := raw.(string); text != "{}" {
		ok(t, json.Unmarshal([]byte(text), &jobs))
	}
	for _, job := range jobs {
		data = append(data, job.Data)
	}
	return data
}
