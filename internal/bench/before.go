package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Ratio is a figure of a series by this build and by another, in pairs of which each was worked right after the other.
type Ratio struct {
	This  float64 `json:"this"` // median
	Other float64 `json:"other"`
	Ratio float64 `json:"ratio"` // median of the pairs' ratios of the first by the second; 0 where the other had nothing of it
	Low   float64 `json:"ratio_low"`
	High  float64 `json:"ratio_high"` // between these two lies that of any number of pairs, 95 times in a hundred
}

// Beside is how a series went by this build beside another.
type Beside struct {
	Name       string `json:"name"` // of the series, as this build calls it
	Jobs       int    `json:"jobs"` // in each
	Pairs      int    `json:"pairs"`
	Rate       Ratio  `json:"jobs_per_s"`
	RedisTime  Ratio  `json:"redis_us_per_job"`
	RedisCalls Ratio  `json:"redis_calls_per_job"`
	Supervisor Ratio  `json:"supervisor_cpu_s"`
	Children   Ratio  `json:"children_cpu_s"`
	Redis      Ratio  `json:"redis_cpu_s"`
	Memory     Ratio  `json:"supervisor_rss_kb"`
}

// Builds works one series by two builds of this program in turns, each as its own `oarlock bench` does, with its own idea of what nothing is said of.
type Builds struct {
	This, Other string   // paths
	Options     []string // of `oarlock bench` that choose the series; both have to know them
	Jobs, Pairs int      // pairs: at least 6, fewer have no interval
}

// Check tells which option is wrong, if one is.
func (b Builds) Check() error {
	if b.Pairs < leastPairs {
		return fmt.Errorf("--pairs must be %d or more", leastPairs)
	}
	if b.Jobs == 0 {
		return errors.New("--before needs --jobs of 1 or more")
	}
	if err := starts([]string{b.Other}); err != nil {
		return fmt.Errorf("--before does not start: %v", err)
	}
	return nil
}

// Compare works all pairs, each build first as often as the other. An error says which build failed, and what it said.
func (b Builds) Compare(ctx context.Context, report *Report) error {
	report.begin("pairs")
	var this, other []Result
	for n := range b.Pairs {
		first, second := b.This, b.Other
		if n%2 == 1 {
			first, second = second, first
		}
		one, err := b.work(ctx, first)
		if err != nil {
			return err
		}
		two, err := b.work(ctx, second)
		if err != nil {
			return err
		}
		if n%2 == 1 {
			one, two = two, one
		}
		this, other = append(this, one), append(other, two)
		report.putting(n+1, b.Pairs)
	}
	of := func(figure func(Result) float64) (r Ratio) {
		var mine, theirs, ratios []float64
		for i := range this {
			a, b := figure(this[i]), figure(other[i])
			mine, theirs = append(mine, a), append(theirs, b)
			if b > 0 {
				ratios = append(ratios, a/b)
			}
		}
		r.This, _, _ = interval(mine)
		r.Other, _, _ = interval(theirs)
		if len(ratios) > 0 {
			r.Ratio, r.Low, r.High = interval(ratios)
		}
		return r
	}
	report.beside(Beside{
		Name: this[0].Name, Jobs: b.Jobs, Pairs: b.Pairs,
		Rate:       of(func(r Result) float64 { return r.Rate }),
		RedisTime:  of(func(r Result) float64 { return r.RedisTime }),
		RedisCalls: of(func(r Result) float64 { return r.RedisCalls }),
		Supervisor: of(func(r Result) float64 { return r.SupervisorCPU }),
		Children:   of(func(r Result) float64 { return r.ChildrenCPU }),
		Redis:      of(func(r Result) float64 { return r.RedisCPU }),
		Memory:     of(func(r Result) float64 { return float64(r.SupervisorRSS) }),
	})
	return nil
}

// endWithin is how long a build that is told to end may take to remove what it made.
const endWithin = clearWithin

// work has a build work the series once.
func (b Builds) work(ctx context.Context, program string) (r Result, err error) {
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, program, append([]string{"bench", "--json", "--latency=0", fmt.Sprintf("--jobs=%d", b.Jobs)}, b.Options...)...)
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGINT) }, endWithin
	cmd.Stdout, cmd.Stderr = &out, &complaint
	began := time.Now()
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		said, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n")
		return r, fmt.Errorf("%s bench ended after %v: %w: %s", program, time.Since(began).Round(time.Second), err, said)
	}
	for in := json.NewDecoder(&out); ; {
		if err := in.Decode(&r); errors.Is(err, io.EOF) {
			return r, fmt.Errorf("%s bench told of no series", program)
		} else if err != nil {
			return r, fmt.Errorf("what %s bench prints cannot be read: %w", program, err)
		}
		if r.Mode != "" {
			return r, nil
		}
	}
}
