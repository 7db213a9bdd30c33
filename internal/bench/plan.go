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
	"oarlock/queue"
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
		{Shape{Mode: "reuse", Children: 10, Prefetch: int(config.AutoPrefetch)}, 20000},
		{Shape{Mode: "preload", Children: 4}, 2000},
		{Shape{Mode: "once", Children: 4}, 200},
	}
}

// Plan is what is measured.
type Plan struct {
	Series  []Series
	One     bool          // the series was asked for by itself: to put is not measured, and what it lacks is an error
	Latency int           // how many jobs are put one by one in each series
	Profile string        // file for a profile of the supervisor's processor time while it works; "": none
	Lists   bool          // the one series is worked as entries of a list and as jobs of a queue, in turns
	Keys    Keys          // the one series is worked as jobs with keys and as ordinary ones, in turns
	Against *queue.Client // where a plain loop works the jobs of each series, in turns with it; nil: nowhere
}

// Wanted is what somebody wants to be measured, by the options of the command; nil is what is left to us.
type Wanted struct {
	Mode               *string
	Children, Prefetch *int
	Batch              *int
	Jobs               *int    // that each series works
	Command            *string // split at blanks
	Latency            int
	Profile            string // file, as in Plan
	Lists              bool   // as in Plan
	Keys               *Keys  // as in Plan; nil: not
	Against            bool   // a plain loop is to work as many
}

// Plan is what fits w best; an error says which option is wrong.
func (w Wanted) Plan() (Plan, error) {
	p := Plan{Series: usual(), Latency: w.Latency, Profile: w.Profile, Lists: w.Lists}
	p.One = w.Lists || w.Keys != nil || w.Mode != nil || w.Children != nil || w.Prefetch != nil || w.Batch != nil || w.Command != nil
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
		return p, errors.New("--profile is for one series; choose it with --mode, --children, --prefetch and --batch")
	}
	if w.Lists && (w.Profile != "" || w.Batch != nil || w.Prefetch != nil) {
		return p, errors.New("--list goes without --profile, --batch and --prefetch")
	}
	if w.Against && (w.Lists || w.Keys != nil || w.Profile != "") {
		return p, errors.New("--against goes without --list, --keys and --profile")
	}
	if w.Against && p.Series[0].Jobs == 0 {
		return p, errors.New("--against needs --jobs of 1 or more")
	}
	if w.Lists && p.Series[0].Jobs == 0 {
		return p, errors.New("--list needs --jobs of 1 or more")
	}
	return p, p.wantKeys(w)
}

// wantKeys plans what is wanted of jobs in order.
func (p *Plan) wantKeys(w Wanted) error {
	if w.Keys == nil {
		return nil
	}
	p.Keys = *w.Keys
	switch {
	case p.Keys.Keys < 1:
		return errors.New("--keys must be 1 or more")
	case p.Keys.Pairs < leastPairs:
		return fmt.Errorf("--pairs must be %d or more", leastPairs)
	case w.Lists || w.Profile != "":
		return errors.New("--keys goes without --list and --profile")
	case p.Series[0].Jobs == 0:
		return errors.New("--keys needs --jobs of 1 or more")
	}
	if p.Keys.Before != "" {
		if err := starts([]string{p.Keys.Before}); err != nil {
			return fmt.Errorf("--before does not start: %v", err)
		}
	}
	return nil
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
	switch {
	case w.Prefetch != nil:
		s.Shape.Prefetch = *w.Prefetch
	case mode == "reuse" && w.Batch == nil && !w.Lists:
		s.Shape.Prefetch = int(config.DefaultPool().Prefetch)
	}
	if w.Batch != nil {
		s.Shape.Batch = *w.Batch
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
	case s.Shape.Children < 1 || s.Shape.Prefetch < int(config.AutoPrefetch):
		return s, errors.New("--children must be 1 or more, and --prefetch 0 or more")
	case w.Batch != nil && (s.Shape.Batch < 1 || s.Shape.Batch > config.MaxBatch):
		return s, fmt.Errorf("--batch must be from 1 to %d", config.MaxBatch)
	case s.Shape.Batch > 1 && (mode == "once" || s.Shape.Prefetch != 0):
		return s, errors.New("--batch is for --mode reuse or preload, and without --prefetch")
	case s.Shape.Prefetch != 0 && mode != "reuse":
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
	if plan.Keys.Keys > 0 {
		return b.inOrder(ctx, plan.Series[0], plan.Keys, report)
	}
	if plan.Lists {
		if err := b.besides(ctx, plan.Series[0], plan.Latency, report); err != nil {
			return err
		}
		report.print()
		return nil
	}
	for _, s := range plan.Series {
		if err := b.equip(&s.Shape); errors.Is(err, errNoPython) && !plan.One {
			screen.PrintLine(b.Log, "left out:", err)
			continue
		} else if err != nil {
			return err
		}
		report.begin(s.Shape.Mode)
		var result Result
		var err error
		if plan.Against != nil {
			result, err = b.against(ctx, s, plan.Latency, plan.Against)
		} else {
			result, err = b.series(ctx, s.Shape, s.Jobs, plan.Latency, plan.Profile)
		}
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
		shape.Command, err = noop(b.Scratch, *shape, b.Helper)
	}
	return err
}
