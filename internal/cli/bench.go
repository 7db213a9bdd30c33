package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/bench"
	"oarlock/internal/config"
	"oarlock/internal/connect"
	"oarlock/internal/embedded"
	"oarlock/internal/plan"
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
				"moments and killed every ten seconds: it exits 1 if a job was lost or failed.",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "mode", Usage: "reuse, preload or once"},
				&cli.IntFlag{Name: "children", DefaultText: "as many as the series of the mode", Usage: "processes at work at the same time"},
				&cli.IntFlag{Name: "prefetch", DefaultText: "none", Usage: "jobs kept ready for a reused child at work"},
				&cli.IntFlag{Name: "jobs", DefaultText: "a few seconds' worth", Usage: "how many `JOBS` each series works"},
				&cli.IntFlag{Name: "latency", Value: 50, Usage: "how many `JOBS` are put one by one"},
				&cli.StringFlag{Name: "command", Usage: "the `COMMAND` to run, split at blanks (default: one that does nothing)"},
				&cli.DurationFlag{Name: "soak", DefaultText: "measure", Usage: "make trouble for so long, in place of measuring; on a redis-server of its own"},
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

// chosenSeries is what the options ask for, and whether they ask for one series only.
func chosenSeries(c *cli.Context) ([]bench.Series, bool, error) {
	all := bench.Usual()
	one := c.IsSet("mode") || c.IsSet("children") || c.IsSet("prefetch") || c.IsSet("command")
	if one {
		mode := c.String("mode")
		if mode == "" {
			mode = "reuse"
		}
		if err := config.OneOf(mode, config.Modes); err != nil {
			return nil, false, misused("--mode: %v", err)
		}
		all = all[slices.IndexFunc(all, func(s bench.Series) bool { return s.Shape.Mode == mode }):][:1]
		all[0].Shape.Prefetch = c.Int("prefetch")
		if c.IsSet("children") {
			all[0].Shape.Children = c.Int("children")
		}
		all[0].Shape.Command = strings.Fields(c.String("command"))
		if command := all[0].Shape.Command; len(command) > 0 {
			if err := bench.Starts(command); err != nil {
				return nil, false, misused("--command does not start: %v", err)
			}
		}
		if s := all[0].Shape; s.Children < 1 || s.Prefetch < 0 {
			return nil, false, misused("--children must be 1 or more, and --prefetch 0 or more")
		} else if s.Prefetch > 0 && mode != "reuse" {
			return nil, false, misused("--prefetch is for --mode reuse; children of mode %s work one job", mode)
		}
	}
	for i := range all {
		if c.IsSet("jobs") {
			all[i].Jobs = c.Int("jobs")
		}
		if all[i].Jobs < 0 || c.Int("latency") < 0 {
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
		b := &bench.Bench{Redis: r, Client: client, Self: self, Log: c.App.ErrWriter, Scratch: scratch, Helper: p.Helper}
		report := bench.NewReport(c.App.Writer, c.App.ErrWriter, c.Bool("json"))
		if length := c.Duration("soak"); length > 0 {
			b.Restart = server.Restart
			return soak(c, ctx, b, report, chosen[0].Shape, length)
		}
		return b.Measure(ctx, bench.Plan{Series: chosen, One: one, Latency: c.Int("latency"), Profile: c.String("profile")}, report)
	})
}

// soak makes trouble, and tells what became of the jobs.
func soak(c *cli.Context, ctx context.Context, b *bench.Bench, report *bench.Report, shape bench.Shape, length time.Duration) error {
	r, err := b.Soak(ctx, shape, length, report)
	if err != nil {
		return err
	}
	if err := answer(c, r, r.Print); err != nil {
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
