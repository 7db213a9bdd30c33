package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"oarlock/internal/screen"
)

// Report prints results: as JSON each as it comes, on a line, otherwise as one
// table at the end.
type Report struct {
	out, err io.Writer
	json     bool
	bar      *progressbar.ProgressBar // while a series is measured, on a terminal
	rows     [][]string
	ratios   []string // a sentence for each that was measured against a plain loop
}

// NewReport makes a report that prints to out, and to err what is being measured.
func NewReport(out, err io.Writer, json bool) *Report {
	return &Report{out: out, err: err, json: json}
}

// begin says what is being measured.
func (r *Report) begin(what string) {
	r.bar = progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(r.err),
		progressbar.OptionSetVisibility(screen.IsTerminal(r.err)),
		progressbar.OptionSetDescription("measuring "+what),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
}

// putting shows how many jobs were put.
func (r *Report) putting(done, all int) {
	r.bar.ChangeMax(all)
	_ = r.bar.Set(done) // on a terminal that is gone: no matter
}

func (r *Report) add(b Result) {
	_ = r.bar.Finish()
	if r.json {
		r.encode(b)
		return
	}
	cell := func(format string, value float64) string {
		if value == 0 {
			return ""
		}
		return fmt.Sprintf(format, value)
	}
	spread := func(s *Spread) string {
		if s == nil {
			return ""
		}
		return fmt.Sprintf("%.2f / %.2f", s.P50, s.P99)
	}
	if a := b.Against; a != nil {
		r.ratios = append(r.ratios, fmt.Sprintf("%s is %.3g times as fast as a plain loop of pop and complete over one connection (%.3g to %.3g in %d rounds), which works %.0f jobs a second",
			b.Name, a.Ratio, a.Low, a.High, rounds, a.Rate))
	}
	perJob := 1e6 / float64(max(b.Jobs, 1))
	r.rows = append(r.rows, []string{
		b.Name, screen.Count(b.Jobs), cell("%.2f", b.Seconds), cell("%.0f", b.Rate), cell("%.1f", b.RedisTime), cell("%.3f", b.RedisCalls),
		cell("%.0f%%", b.Ceiling*100), cell("%.1f", b.SupervisorCPU*perJob), cell("%.1f", b.ChildrenCPU*perJob), cell("%.1f", b.RedisCPU*perJob),
		cell("%.1f", float64(b.SupervisorRSS)/1024), busiest(b), spread(b.PutToStart), spread(b.Wakeup),
	})
}

// busiest names who used most of what it can, and how much of that.
func busiest(b Result) string {
	if b.Busiest == "" {
		return ""
	}
	return fmt.Sprintf("%s %.0f%%", b.Busiest, b.Busy*100)
}

// encode prints one result on a line; to a reader that is gone it is no matter.
func (r *Report) encode(result any) { _ = json.NewEncoder(r.out).Encode(result) }

func (r *Report) print() {
	if r.json {
		return
	}
	screen.Table(r.out, "nothing was measured", []string{
		"SERIES", "JOBS", "SECONDS", "JOBS/S", "REDIS µs", "CALLS", "OF CEILING", "SUPERVISOR µs", "CHILDREN µs", "REDIS CPU µs",
		"MIB", "BUSIEST", "PUT TO START ms", "BARE WAKE-UP ms",
	}, r.rows)
	for _, line := range r.ratios {
		screen.PrintLine(r.out, line)
	}
	screen.Printf(r.out, "\nµs and calls are per job. Redis µs is its time in scripts, whose inverse is the ceiling. The last two: p50 / p99; bare is a message to a subscriber,\nof a list an entry to a BLPOP.\n")
}

// compared prints how fast one thing went by the other.
func (r *Report) compared(c Compared) {
	_ = r.bar.Finish()
	if r.json {
		encoder := json.NewEncoder(r.out)
		_ = encoder.Encode(c) // to a reader that is gone: no matter
		return
	}
	what := map[string]string{
		"coming": "%s jobs as they come, of %s keys: %s/s, ordinary ones %s/s", "backlog": "A backlog of %s jobs, of %s keys: %s/s, ordinary ones %s/s",
		"before": "%s ordinary jobs: %[3]s/s, by the other build %[4]s/s",
	}[c.Name]
	screen.Printf(r.out, what+"\n  %s pairs: %.1f %%, and 95 times in a hundred between %.1f and %.1f %%\n", screen.Count(c.Jobs), screen.Count(c.Keys), screen.Count(int(c.This)),
		screen.Count(int(c.Other)), screen.Count(c.Pairs), 100*c.Ratio, 100*c.Low, 100*c.High)
}

// beside prints how a series went by this build beside another.
func (r *Report) beside(b Beside) {
	_ = r.bar.Finish()
	if r.json {
		r.encode(b)
		return
	}
	row := func(what, format string, f Ratio, each float64) []string {
		return []string{what, fmt.Sprintf(format, f.This*each), fmt.Sprintf(format, f.Other*each), fmt.Sprintf("%.2f", f.Ratio), fmt.Sprintf("%.2f to %.2f", f.Low, f.High)}
	}
	perJob := 1e6 / float64(max(b.Jobs, 1))
	screen.Table(r.out, "", []string{b.Name, "THIS BUILD", "THE OTHER", "RATIO", "95 TIMES IN A HUNDRED"}, [][]string{
		row("jobs/s", "%.0f", b.Rate, 1), row("Redis µs", "%.1f", b.RedisTime, 1), row("calls", "%.3f", b.RedisCalls, 1),
		row("supervisor µs", "%.1f", b.Supervisor, perJob), row("children µs", "%.1f", b.Children, perJob), row("Redis CPU µs", "%.1f", b.Redis, perJob),
		row("MiB", "%.1f", b.Memory, 1.0/1024),
	})
	screen.Printf(r.out, "\n%s pairs of %s jobs, medians; µs and calls are per job, and Redis µs its time in scripts.\n", screen.Count(b.Pairs), screen.Count(b.Jobs))
}

// Print says in words what became of the jobs, and what was done to those who worked them.
func (s Soaked) Print(w io.Writer) {
	screen.Printf(w, "%s jobs in %.1f s, %.0f/s: %d lost, %d failed, %d begun more than once\n", screen.Count(s.Jobs), s.Seconds, s.Rate, s.Lost, s.Failed, s.Again)
	screen.Printf(w, "%d children and %d supervisors killed, all connections cut %d times, Redis stopped %d times and killed %d times\n", s.Children, s.Supervisors, s.Drops, s.Pauses, s.Restarts)
}
