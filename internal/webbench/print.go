package webbench

import (
	"fmt"
	"io"

	"oarlock/internal/screen"
)

// Print shows the figures as tables.
func (f Figures) Print(w io.Writer) {
	rows := make([][]string, 0, len(f.Views)+1)
	row := func(name string, count int, s Spread, more ...string) {
		rows = append(rows, append([]string{name, screen.Count(count), number(s.P50), number(s.P99), number(s.Longest)}, more...))
	}
	count := 0
	for _, v := range f.Views {
		row(v.Name, v.Count, v.Spread, screen.Count(v.Calls), fmt.Sprintf("%.2f", v.Redis), fmt.Sprintf("%.0f", float64(v.Bytes)/1024))
		count += v.Count
	}
	row("all", count, f.All, "", "", "")
	screen.Table(w, "nothing was looked at", []string{"VIEW", "COUNT", "P50 ms", "P99 ms", "LONGEST ms", "CALLS", "SCRIPTS ms", "KIB"}, rows)
	s := f.Sizes
	screen.Printf(w, "\n%s jobs in %s queues, put in %.1f s; %d at a time looked. Calls of Redis, and how long it runs scripts, are those of one view.\n",
		screen.Count(s.Jobs), screen.Count(s.Queues), f.Filled, s.Abreast)
	if f.Redis != nil && f.Redis.What != "" {
		screen.Printf(w, "The longest call of Redis meanwhile: %s, %.2f ms; %d above 2 ms.\n", f.Redis.What, f.Redis.Longest, f.Redis.Over)
	} else if f.Redis != nil {
		screen.Printf(w, "No call of Redis took %v meanwhile.\n", SlowFrom)
	}
	screen.Printf(w, "A scrape of %d pools: %.2f ms, %.2f at most, %s samples, %.0f KiB. Of all queues: %.2f ms, %s samples.\n",
		s.Pools, f.Scrape.P50, f.Scrape.Longest, screen.Count(f.Scrape.Samples), float64(f.Scrape.Bytes)/1024, f.Queues.P50, screen.Count(f.Queues.Samples))
	f.Watched.print(w, s)
	targets := make([][]string, 0, len(f.Targets))
	for _, t := range f.Targets {
		bound, met := "at least", "missed"
		if t.Most {
			bound = "at most"
		}
		if t.Met {
			met = "met"
		}
		targets = append(targets, []string{t.Name, number(t.Is), bound + " " + number(t.Wanted), met})
	}
	screen.PrintLine(w)
	screen.Table(w, "no targets", []string{"FIGURE", "IS", "TARGET", ""}, targets)
}

func (f Watched) print(w io.Writer, s Sizes) {
	least, most := f.Pairs[0], f.Pairs[0]
	for _, p := range f.Pairs {
		if p.Without < least.Without {
			least = p
		}
		if p.Without > most.Without {
			most = p
		}
	}
	screen.Printf(w, "With %s of %d views a pool works at %.3f of its speed (%.3f to %.3f; %s, %.0f to %.0f jobs a second without): %s frames, %.0f MiB; afterwards %.0f goroutines and %.0f descriptors more than before.\n",
		screen.Some(s.Watchers, "watcher"), f.Views, f.Ratio, f.Low, f.High, screen.Some(len(f.Pairs), "pair"), least.Without, most.Without, screen.Count(f.Frames), f.Memory, f.Left, f.Open)
	screen.Printf(w, "Of the locks of %s that do not end, %s s each, %.3f of the margin is left that they have without watchers.\n", screen.Some(longJobs, "job"), longLock, f.Margin)
	screen.Printf(w, "Calls of Redis a second while nothing is worked: %.1f with one watcher of each view, %.1f with all.\n", f.Few, f.Many)
}

// number is a figure with as many digits as are worth reading.
func number(x float64) string {
	if x == float64(int(x)) {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}
