package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"

	"oarlock/internal/bench"
	"oarlock/internal/config"
	"oarlock/internal/connect"
	"oarlock/internal/embedded"
	"oarlock/internal/plan"
	"oarlock/internal/screen"
	"oarlock/queue"
	"oarlock/supervisor"
)

// benchCrew is the hidden command that becomes the supervisor which is measured.
const benchCrew = "bench-crew"

func (p Program) benchCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name:  "bench",
			Usage: "measure this machine",
			Description: "Jobs that do nothing are put, then worked, on a redis-server of its own (--redis names\n" +
				"another). Without --mode, --children, --prefetch and --command it measures several ways\n" +
				"to work them. Then the supervisor, idle, is given jobs one by one: from put to start.\n" +
				"With --soak, children and supervisors are killed, connections cut, and Redis stopped for\n" +
				"moments and killed every ten seconds: it exits 1 if a job was lost.",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "mode", Usage: "reuse, preload or once"},
				&cli.IntFlag{Name: "children", Usage: "processes at work at the same time"},
				&cli.IntFlag{Name: "prefetch", Usage: "jobs kept ready for a reused child at work"},
				&cli.IntFlag{Name: "jobs", Usage: "how many `JOBS` each series works (default: a few seconds' worth)"},
				&cli.IntFlag{Name: "latency", Value: 50, Usage: "how many `JOBS` are put one by one"},
				&cli.StringFlag{Name: "command", Usage: "the `COMMAND` to run, split at blanks (default: one that does nothing)"},
				&cli.DurationFlag{Name: "soak", Usage: "make trouble for so long, in place of measuring; on a redis-server of its own"},
				&cli.StringFlag{Name: "profile", Usage: "`FILE` for a pprof profile of the supervisor; of one series only"},
				jsonFlag(),
			},
			Action: p.bench,
		},
		{
			Name:   benchCrew,
			Hidden: true,
			Action: func(c *cli.Context) error {
				return bench.Crew(c.Context, c.App.Reader, c.App.Writer, bench.Parts{
					Open: func(ctx context.Context, r config.Redis) (*queue.Client, error) { return connect.Open(ctx, r, nil) },
					Pool: benchPool,
				})
			},
		},
	}
}

// benchPool is what a pool of the configuration with the keys of s would be.
func benchPool(s bench.Shape) (supervisor.Pool, error) {
	pool := config.DefaultPool()
	pool.Mode, pool.Children, pool.Prefetch, pool.Command = s.Mode, s.Children, s.Prefetch, s.Command
	return plan.Pool("bench", pool)
}

// series is one line of the table.
type series struct {
	shape bench.Shape
	jobs  int
}

// allSeries is what is measured if nothing is asked for in particular.
var allSeries = []series{
	{bench.Shape{Mode: "reuse", Children: 2, Prefetch: 16}, 20000},
	{bench.Shape{Mode: "reuse", Children: 10}, 20000},
	{bench.Shape{Mode: "preload", Children: 4}, 2000},
	{bench.Shape{Mode: "once", Children: 4}, 200},
}

// chosenSeries is what the options ask for, and whether they ask for one series only.
func chosenSeries(c *cli.Context) ([]series, bool, error) {
	all := append([]series(nil), allSeries...)
	one := c.IsSet("mode") || c.IsSet("children") || c.IsSet("prefetch") || c.IsSet("command")
	if one {
		mode := c.String("mode")
		if mode == "" {
			mode = "reuse"
		}
		if err := config.OneOf(mode, config.Modes); err != nil {
			return nil, false, misused("--mode: %v", err)
		}
		for _, s := range allSeries {
			if s.shape.Mode == mode {
				all = []series{s}
			}
		}
		all[0].shape.Prefetch = c.Int("prefetch")
		if c.IsSet("children") {
			all[0].shape.Children = c.Int("children")
		}
		all[0].shape.Command = strings.Fields(c.String("command"))
		if command := all[0].shape.Command; len(command) > 0 {
			if err := bench.Starts(command); err != nil {
				return nil, false, misused("--command does not start: %v", err)
			}
		}
		if s := all[0].shape; s.Children < 1 || s.Prefetch < 0 {
			return nil, false, misused("--children must be 1 or more, and --prefetch 0 or more")
		} else if s.Prefetch > 0 && mode != "reuse" {
			return nil, false, misused("--prefetch is for --mode reuse; children of mode %s work one job", mode)
		}
	}
	for i := range all {
		if c.IsSet("jobs") {
			all[i].jobs = c.Int("jobs")
		}
		if all[i].jobs < 0 || c.Int("latency") < 0 {
			return nil, false, misused("--jobs and --latency must be 0 or more")
		}
	}
	if c.IsSet("profile") && !one {
		return nil, false, misused("--profile is for one series; choose it with --mode, --children and --prefetch")
	}
	return all, one, nil
}

func (p Program) bench(c *cli.Context) error {
	if err := wantArgs(c, 0, 0, "nothing"); err != nil {
		return err
	}
	chosen, one, err := chosenSeries(c)
	if err != nil {
		return err
	}
	if c.IsSet("soak") && (c.IsSet("redis") || c.Duration("soak") <= 0) {
		return misused("--soak is a duration, and cuts the connections of all: it needs a redis-server of its own, without --redis")
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	scratch, err := os.MkdirTemp("", "oarlock-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	return benchRedis(c, ctx, scratch, func(r config.Redis, client *queue.Client, server *embedded.Private) error {
		self, err := bench.Self(benchCrew)
		if err != nil {
			return err
		}
		b := &bench.Bench{Redis: r, Client: client, Self: self, Log: c.App.ErrWriter}
		report := newBenchReport(c)
		b.Progress = report.putting
		if length := c.Duration("soak"); length > 0 {
			b.Restart = server.Restart
			return p.soak(c, ctx, b, report, chosen[0].shape, scratch)
		}
		defer func() {
			// Also after ^C: nothing of ours stays in a Redis that is not ours.
			clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
			defer cancel()
			_ = b.Clear(clean) // an error was told already: Redis is away
		}()
		if !one {
			report.begin("put")
			result, err := b.Puts(ctx, chosen[0].jobs)
			if err != nil {
				return err
			}
			report.add(result)
			if err := b.Clear(ctx); err != nil {
				return err
			}
		}
		for _, s := range chosen {
			if len(s.shape.Command) == 0 {
				s.shape.Command, err = bench.Noop(scratch, s.shape.Mode, p.Helper)
				if errors.Is(err, bench.ErrNoPython) && !one {
					screen.PrintLine(c.App.ErrWriter, "left out:", err)
					continue
				}
				if err != nil {
					return err
				}
			}
			report.begin(s.shape.Mode)
			result, err := b.Series(ctx, s.shape, s.jobs, c.Int("latency"), c.String("profile"))
			if err != nil {
				return err
			}
			report.add(result)
			if err := b.Clear(ctx); err != nil {
				return err
			}
		}
		report.print()
		return nil
	})
}

// soak makes trouble, and tells what became of the jobs.
func (p Program) soak(c *cli.Context, ctx context.Context, b *bench.Bench, report *benchReport, shape bench.Shape, scratch string) error {
	var err error
	if len(shape.Command) == 0 {
		if shape.Command, err = bench.Noop(scratch, shape.Mode, p.Helper); err != nil {
			return err
		}
	}
	report.begin("soak")
	r, err := b.Soak(ctx, shape, scratch, c.Duration("soak"))
	_ = report.bar.Finish()
	if err != nil {
		return err
	}
	if err := show(c, r, func(w io.Writer) {
		screen.Printf(w, "%s jobs in %.1f s, %.0f/s: %d lost, %d failed, %d begun more than once\n", screen.Count(r.Jobs), r.Seconds, r.Rate, r.Lost, r.Failed, r.Again)
		screen.Printf(w, "%d children and %d supervisors killed, all connections cut %d times, Redis stopped %d times and killed %d times\n", r.Children, r.Supervisors, r.Drops, r.Pauses, r.Restarts)
	}); err != nil {
		return err
	}
	if r.Lost+r.Failed > 0 {
		return silent{exitFailed}
	}
	return nil
}

// benchRedis gives use a Redis to be measured: a server of our own in dir, or the one
// that --redis names, under a namespace of our own; server is nil then.
func benchRedis(c *cli.Context, ctx context.Context, dir string, use func(r config.Redis, client *queue.Client, server *embedded.Private) error) error {
	cfg, err := load(c, config.Options{NoPools: true})
	if err != nil {
		return err
	}
	r := cfg.Redis
	r.Namespace = "oarlock-bench-" + queue.NewJID()[24:] + ":"
	var server *embedded.Private
	if !c.IsSet("redis") {
		keep := "no" // in memory only, that the disk of this machine is not what is measured
		if c.IsSet("soak") {
			keep = "yes"
		}
		server, err = embedded.Spawn(ctx, filepath.Join(dir, "redis"), "--appendonly", keep)
		if err != nil {
			return fmt.Errorf("%w\nor name a Redis that is running: oarlock bench --redis URL", err)
		}
		defer server.Close()
		r = config.Redis{URL: server.ShortestURL(), Namespace: r.Namespace}
	}
	client, err := connect.Reach(ctx, r)
	if err != nil {
		return err
	}
	defer client.Close()
	return use(r, client, server)
}

// benchReport prints results: with --json each as it comes, on a line, otherwise as one
// table at the end.
type benchReport struct {
	out, err io.Writer
	json     bool
	bar      *progressbar.ProgressBar // while a series is measured, on a terminal
	rows     [][]string
}

func newBenchReport(c *cli.Context) *benchReport {
	return &benchReport{out: c.App.Writer, err: c.App.ErrWriter, json: c.Bool("json")}
}

// begin says what is being measured.
func (r *benchReport) begin(what string) {
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
func (r *benchReport) putting(done, all int) {
	r.bar.ChangeMax(all)
	_ = r.bar.Set(done) // on a terminal that is gone: no matter
}

func (r *benchReport) add(b bench.Result) {
	_ = r.bar.Finish()
	if r.json {
		encoder := json.NewEncoder(r.out)
		_ = encoder.Encode(b) // to a reader that is gone: no matter
		return
	}
	cell := func(format string, value float64) string {
		if value == 0 {
			return ""
		}
		return fmt.Sprintf(format, value)
	}
	spread := func(s *bench.Spread) string {
		if s == nil {
			return ""
		}
		return fmt.Sprintf("%.2f / %.2f", s.P50, s.P99)
	}
	perJob := 1e6 / float64(max(b.Jobs, 1))
	r.rows = append(r.rows, []string{
		b.Name, screen.Count(b.Jobs), cell("%.2f", b.Seconds), cell("%.0f", b.Rate), cell("%.1f", b.RedisTime), cell("%.3f", b.RedisCalls),
		cell("%.0f%%", b.Ceiling*100), cell("%.1f", b.SupervisorCPU*perJob), cell("%.1f", b.ChildrenCPU*perJob), cell("%.1f", b.RedisCPU*perJob),
		cell("%.1f", float64(b.SupervisorRSS)/1024), spread(b.PutToStart), spread(b.Wakeup),
	})
}

func (r *benchReport) print() {
	if r.json {
		return
	}
	screen.Table(r.out, "nothing was measured", []string{
		"SERIES", "JOBS", "SECONDS", "JOBS/S", "REDIS µs", "CALLS", "OF CEILING", "SUPERVISOR µs", "CHILDREN µs", "REDIS CPU µs",
		"MIB", "PUT TO START ms", "BARE WAKE-UP ms",
	}, r.rows)
	screen.Printf(r.out, "\nµs and calls are per job. Redis µs is its time in scripts, whose inverse is the ceiling. The last two: p50 / p99.\n")
}
