package bench

import (
	"context"
	"errors"
	"time"

	"oarlock/internal/screen"
)

// clearWithin is how long the keys of a measurement may take to be removed.
const clearWithin = 30 * time.Second

// Series is one line of the table: so many jobs, worked in a shape.
type Series struct {
	Shape Shape // without a Command: one that does nothing
	Jobs  int
}

// Usual is what is measured if nothing is asked for in particular.
func Usual() []Series {
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
