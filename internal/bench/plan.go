package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/screen"
)

// clearWithin is how long the keys of a measurement may take to be removed.
const clearWithin = 30 * time.Second

// Series is one line of the table: so many jobs, worked in a shape.
type Series struct {
	Shape Shape // without a Command: one that does nothing
	Jobs  int
}

// usual is what is measured if nothing is asked for in particular.
func usual() []Series {
	return []Series{
		{Shape{Mode: "reuse", Children: 2, Prefetch: 16}, 20000},
		{Shape{Mode: "reuse", Children: 10}, 20000},
		{Shape{Mode: "preload", Children: 4}, 2000},
		{Shape{Mode: "once", Children: 4}, 200},
	}
}

// Plan is what is measured.
type Plan struct {
	Series  []Series
	One     bool   // the series was asked for by itself: to put is not measured, and what it lacks is an error
	Latency int    // how many jobs are put one by one in each series
	Profile string // file for a profile of the supervisor's processor time while it works; "": none
}

// Wanted is what somebody wants to be measured, by the options of the command; nil is what is left to us.
type Wanted struct {
	Mode               *string
	Children, Prefetch *int
	Jobs               *int    // that each series works
	Command            *string // split at blanks
	Latency            int
	Profile            string // file, as in Plan
}

// Plan is what fits w best; an error says which option is wrong.
func (w Wanted) Plan() (Plan, error) {
	p := Plan{Series: usual(), Latency: w.Latency, Profile: w.Profile}
	p.One = w.Mode != nil || w.Children != nil || w.Prefetch != nil || w.Command != nil
	if p.One {
		one, err := w.series(p.Series)
		if err != nil {
			return p, err
		}
		p.Series = []Series{one}
	}
	for i := range p.Series {
		if w.Jobs != nil {
			p.Series[i].Jobs = *w.Jobs
		}
		if p.Series[i].Jobs < 0 || w.Latency < 0 {
			return p, errors.New("--jobs and --latency must be 0 or more")
		}
	}
	if w.Profile != "" && !p.One {
		return p, errors.New("--profile is for one series; choose it with --mode, --children and --prefetch")
	}
	return p, nil
}

// series is the one that w describes, like that of all with its mode.
func (w Wanted) series(all []Series) (s Series, err error) {
	mode := "reuse"
	if w.Mode != nil {
		mode = cmp.Or(*w.Mode, mode)
	}
	if err := config.OneOf(mode, config.Modes); err != nil {
		return s, fmt.Errorf("--mode: %v", err)
	}
	s = all[slices.IndexFunc(all, func(s Series) bool { return s.Shape.Mode == mode })]
	s.Shape.Prefetch = 0
	if w.Prefetch != nil {
		s.Shape.Prefetch = *w.Prefetch
	}
	if w.Children != nil {
		s.Shape.Children = *w.Children
	}
	if w.Command != nil {
		s.Shape.Command = strings.Fields(*w.Command)
	}
	if command := s.Shape.Command; len(command) > 0 {
		if err := starts(command); err != nil {
			return s, fmt.Errorf("--command does not start: %v", err)
		}
	}
	switch {
	case s.Shape.Children < 1 || s.Shape.Prefetch < 0:
		return s, errors.New("--children must be 1 or more, and --prefetch 0 or more")
	case s.Shape.Prefetch > 0 && mode != "reuse":
		return s, fmt.Errorf("--prefetch is for --mode reuse; children of mode %s work one job", mode)
	}
	return s, nil
}

// Measure does what plan says, one series after the other, and prints the results. Nothing of it stays in Redis, as far as
// that answers, also where ctx has ended.
func (b *Bench) Measure(ctx context.Context, plan Plan, report *Report) error {
	b.progress = report.putting
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearWithin)
		defer cancel()
		_ = b.clear(clean) // an error was told already: Redis is away
	}()
	if !plan.One {
		report.begin("put")
		result, err := b.puts(ctx, plan.Series[0].Jobs)
		if err != nil {
			return err
		}
		report.add(result)
		if err := b.clear(ctx); err != nil {
			return err
		}
	}
	for _, s := range plan.Series {
		if err := b.equip(&s.Shape); errors.Is(err, errNoPython) && !plan.One {
			screen.PrintLine(b.Log, "left out:", err)
			continue
		} else if err != nil {
			return err
		}
		report.begin(s.Shape.Mode)
		result, err := b.series(ctx, s.Shape, s.Jobs, plan.Latency, plan.Profile)
		if err != nil {
			return err
		}
		report.add(result)
		if err := b.clear(ctx); err != nil {
			return err
		}
	}
	report.print()
	return nil
}

// equip gives a shape without a command one that does nothing.
func (b *Bench) equip(shape *Shape) (err error) {
	if len(shape.Command) == 0 {
		shape.Command, err = noop(b.Scratch, shape.Mode, b.Helper)
	}
	return err
}
