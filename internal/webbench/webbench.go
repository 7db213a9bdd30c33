// Package webbench measures what looking costs: how long those wait who look at a namespace full of jobs, what Redis does
// for them, and what is left of the throughput of a pool that many watch. It owns the jobs it fills the namespace with, a
// supervisor as a process of its own, and the figures. It knows the supervisor by its HTTP alone, as whoever looks does.
package webbench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"oarlock/queue"
)

// Sizes are how much is measured.
type Sizes struct {
	Jobs     int `json:"jobs"`     // that lie in the namespace
	Queues   int `json:"queues"`   // in which they are
	Pools    int `json:"pools"`    // of the supervisor: one works, the others have nothing to do
	Children int `json:"children"` // of each pool
	Views    int `json:"views"`    // that are looked at, of all kinds
	Abreast  int `json:"abreast"`  // how many at a time
	Watchers int `json:"watchers"` // streams that are read
	Pairs    int `json:"pairs"`    // of times with watchers and without
	Scrapes  int `json:"scrapes"`

	Window  time.Duration `json:"-"` // how long each of these times is
	Seconds float64       `json:"window_s"`
}

// Small is over in half a minute; Full is what the targets are about.
var (
	Small = Sizes{Jobs: 10_000, Queues: 100, Pools: 10, Children: 2, Views: 400, Abreast: 8, Watchers: 50, Pairs: 3, Scrapes: 5, Window: time.Second}
	Full  = Sizes{Jobs: 1_000_000, Queues: 1_000, Pools: 50, Children: 2, Views: 2_000, Abreast: 8, Watchers: 500, Pairs: 10, Scrapes: 20, Window: 5 * time.Second}
)

// Check says what of s cannot be measured.
func (s Sizes) Check() error {
	for _, n := range []struct {
		name        string
		n, at, most int
	}{
		{"--jobs", s.Jobs, 100, 10_000_000}, {"--queues", s.Queues, 1, 100_000}, {"--pools", s.Pools, 1, 200}, {"--children", s.Children, 1, 100},
		{"--views", s.Views, 1, 1_000_000}, {"--abreast", s.Abreast, 1, 100}, {"--watchers", s.Watchers, 1, 1_000}, {"--pairs", s.Pairs, 1, 1_000},
		{"--scrapes", s.Scrapes, 1, 1_000},
	} {
		if n.n < n.at || n.n > n.most {
			return fmt.Errorf("%s must be between %d and %d", n.name, n.at, n.most)
		}
	}
	if s.Window < 100*time.Millisecond || s.Window > 10*time.Minute {
		return errors.New("--window must be between 100ms and 10m")
	}
	return nil
}

// Bench is where is measured. The namespace is to be empty, and is filled.
type Bench struct {
	Client    *queue.Client
	URL       string            // of its Redis
	Namespace string            // of its keys
	Own       bool              // nobody else uses that Redis, and it remembers commands that take SlowFrom
	Self      []string          // the command of this program
	Command   []string          // that works jobs by doing nothing
	Scratch   string            // an empty directory
	Say       func(what string) // is told what is being done
}

// SlowFrom is from when on a Redis that is ours alone is to remember a command.
const SlowFrom = 500 * time.Microsecond

// Spread sums up some durations, in milliseconds.
type Spread struct {
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	Longest float64 `json:"longest_ms"`
}

// Figures are what was measured.
type Figures struct {
	Sizes   Sizes    `json:"sizes"`
	Filled  float64  `json:"fill_s"`
	Views   []View   `json:"views"` // one for each kind
	All     Spread   `json:"all_views"`
	Redis   *Slowest `json:"redis,omitempty"` // nil: the Redis is not ours alone
	Watched Watched  `json:"watched"`
	Scrape  Scrape   `json:"scrape"`
	Queues  Scrape   `json:"scrape_queues"`
	Targets []Target `json:"targets"`
}

// Target is what a figure is to be.
type Target struct {
	Name   string  `json:"name"`
	Is     float64 `json:"is"`
	Wanted float64 `json:"wanted"`
	Most   bool    `json:"at_most"` // it may be Wanted at most; else it is to be that at least
	Met    bool    `json:"met"`
}

// Measure fills the namespace and measures, in sizes that were checked. What it put stays there.
func (b *Bench) Measure(ctx context.Context, s Sizes) (f Figures, err error) {
	f.Sizes = s
	f.Sizes.Seconds = s.Window.Seconds()
	b.Say(fmt.Sprintf("putting %d jobs into %d queues", s.Jobs, s.Queues))
	began := time.Now()
	w, err := b.fill(ctx, s.Jobs, s.Queues)
	if err != nil {
		return f, fmt.Errorf("fill the namespace: %w", err)
	}
	f.Filled = time.Since(began).Seconds()
	b.Say("starting a supervisor")
	h, err := b.start(ctx, s)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, h.stop()) }()
	b.Say(fmt.Sprintf("looking at %d views, %d at a time", s.Views, s.Abreast))
	if err := b.look(ctx, h, w, s, &f); err != nil {
		return f, err
	}
	b.Say("scraping")
	if f.Scrape, err = h.scrapes(ctx, "/metrics", s.Scrapes); err != nil {
		return f, err
	}
	if f.Queues, err = h.scrapes(ctx, "/metrics/queues", s.Scrapes); err != nil {
		return f, err
	}
	b.Say(fmt.Sprintf("working, with %d watchers and without", s.Watchers))
	if f.Watched, err = b.watch(ctx, h, w, s); err != nil {
		return f, err
	}
	f.judge()
	return f, nil
}

// judge holds the figures against what they are to be.
func (f *Figures) judge() {
	most := func(name string, is, wanted float64) {
		f.Targets = append(f.Targets, Target{name, is, wanted, true, is <= wanted})
	}
	most("a view, 99 of 100, ms", f.All.P99, 50)
	if f.Redis != nil {
		most("the longest call of Redis, ms", f.Redis.Longest, 2)
	}
	scripts := 0.0
	for _, v := range f.Views {
		scripts = max(scripts, v.Redis)
	}
	most("scripts of Redis for a view, ms", scripts, 3)
	f.Targets = append(f.Targets, Target{"throughput while watched", f.Watched.Ratio, 0.97, false, f.Watched.Ratio >= 0.97})
	f.Targets = append(f.Targets, Target{"lease margin while watched", f.Watched.Margin, 0.9, false, f.Watched.Margin >= 0.9})
	most("memory of the watchers, MiB", f.Watched.Memory, 40)
	most("a scrape of the process, ms", f.Scrape.P50, 5)
}
