package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
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
				"another). Without --mode, --children, --prefetch, --batch and --command it measures several ways\n" +
				"to work them. Then the supervisor, idle, is given jobs one by one: from put to start.\n" +
				"With --soak, children and supervisors are killed, connections cut, and Redis stopped for\n" +
				"moments and killed every ten seconds: it exits 1 if a job was lost or failed.",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "mode", Usage: "reuse, preload or once"},
				&cli.IntFlag{Name: "children", DefaultText: "as many as the series of the mode", Usage: "processes at work at the same time"},
				&cli.StringFlag{Name: "prefetch", DefaultText: "auto, with --mode reuse and without --batch and --list", Usage: "jobs kept ready for a reused child at work: a number, or auto"},
				&cli.IntFlag{Name: "batch", DefaultText: "1", Usage: "`JOBS` in a message to a child; its command has to read such"},
				&cli.IntFlag{Name: "keys", DefaultText: "none", Usage: "work jobs of so many `KEYS`, and ordinary ones, in turns, and compare them: as they come, and of a backlog"},
				&cli.IntFlag{Name: "pairs", Value: 31, Usage: "with --keys or --before: how often each is worked beside the other"},
				&cli.StringFlag{Name: "before", Usage: "`PATH` of another build of oarlock, by which the series is worked, too, in turns with this one; with --keys: ordinary jobs, both without prefetch unless --prefetch says a number"},
				&cli.BoolFlag{Name: "list", Usage: "work entries of a list, and jobs of a queue, in turns, and compare them"},
				&cli.IntFlag{Name: "jobs", DefaultText: "a few seconds' worth", Usage: "how many `JOBS` each series works"},
				&cli.IntFlag{Name: "latency", Value: 50, Usage: "how many `JOBS` are put one by one"},
				&cli.StringFlag{Name: "command", Usage: "the `COMMAND` to run, split at blanks (default: one that does nothing)"},
				&cli.StringFlag{Name: "against", Usage: "also let a plain loop of pop and complete work as many on the Redis at `URL`, in turns, and compare them; own: on that which is measured"},
				&cli.DurationFlag{Name: "soak", DefaultText: "measure", Usage: "make trouble for so long, in place of measuring; on a redis-server of its own"},
				&cli.StringFlag{Name: "profile", Usage: "`FILE` for a pprof profile of the supervisor; of one series only"},
				jsonFlag(),
			},
			Action:      p.bench,
			Subcommands: []*cli.Command{benchWebCommand(), benchGateCommand()},
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
	pool.Mode, pool.Children, pool.Prefetch, pool.Command = s.Mode, s.Children, config.Prefetch(s.Prefetch), s.Command
	pool.Batch, pool.List = max(s.Batch, 1), s.List
	return plan.Pool("bench", pool)
}

func (p Program) bench(c *cli.Context) error {
	if err := wantArgs(c, 0, 0, "nothing"); err != nil {
		return err
	}
	ahead, err := config.ParsePrefetch(cmp.Or(c.String("prefetch"), "0"))
	if err != nil {
		return misused("--prefetch: %v", err)
	}
	plan, err := bench.Wanted{
		Mode: given(c, "mode", c.String), Children: given(c, "children", c.Int), Prefetch: given(c, "prefetch", func(string) int { return int(ahead) }),
		Batch: given(c, "batch", c.Int), Lists: c.Bool("list"), Against: c.IsSet("against"), Command: given(c, "command", c.String),
		Jobs: given(c, "jobs", c.Int), Latency: c.Int("latency"), Profile: c.String("profile"), Keys: benchKeys(c),
	}.Plan()
	if err != nil {
		return misused("%v", err)
	}
	if c.IsSet("pairs") && !c.IsSet("keys") && !c.IsSet("before") {
		return misused("--pairs goes with --keys or --before")
	}
	if c.IsSet("before") && !c.IsSet("keys") {
		return benchBefore(c, plan)
	}
	if c.IsSet("soak") && c.IsSet("against") {
		return misused("--soak does not measure, and goes without --against")
	}
	if c.IsSet("soak") && (c.IsSet("redis") || c.Duration("soak") <= 0) {
		return misused("--soak is a duration, and cuts the connections of all: it needs a redis-server of its own, without --redis")
	}
	return benchRedis(c, nil, func(ctx context.Context, on benched) error {
		self, err := bench.Self(benchCrew)
		if err != nil {
			return err
		}
		b := &bench.Bench{Redis: on.redis, Client: on.client, Self: self, Log: c.App.ErrWriter, Scratch: on.scratch, Helper: p.Helper}
		if plan.Against, err = against(c, ctx, on); err != nil {
			return err
		}
		if plan.Against != nil && plan.Against != on.client {
			defer plan.Against.Close()
		}
		report := bench.NewReport(c.App.Writer, c.App.ErrWriter, c.Bool("json"))
		if length := c.Duration("soak"); length > 0 {
			b.Restart = on.server.Restart
			return soak(c, ctx, b, report, plan.Series[0].Shape, length)
		}
		return b.Measure(ctx, plan, report)
	})
}

// seriesOptions are those that choose what a series is.
var seriesOptions = []string{"mode", "children", "prefetch", "batch", "command"}

// benchBefore measures one series by this build and another, in turns.
func benchBefore(c *cli.Context, plan bench.Plan) error {
	if !plan.One {
		return misused("--before is for one series; choose it with --mode, --children, --prefetch and --batch, or with --keys")
	}
	for _, other := range []string{"redis", "list", "against", "profile", "soak", "latency"} {
		if c.IsSet(other) {
			return misused("--before goes without --%s: each build has a redis-server of its own, and works the series alone", other)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	builds := bench.Builds{This: self, Other: c.String("before"), Jobs: plan.Series[0].Jobs, Pairs: c.Int("pairs")}
	for _, name := range seriesOptions {
		if c.IsSet(name) {
			builds.Options = append(builds.Options, fmt.Sprintf("--%s=%v", name, c.Value(name)))
		}
	}
	if err := builds.Check(); err != nil {
		return misused("%v", err)
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return builds.Compare(ctx, bench.NewReport(c.App.Writer, c.App.ErrWriter, c.Bool("json")))
}

// benchKeys is what is wanted of jobs in order; nil if nothing is.
func benchKeys(c *cli.Context) *bench.Keys {
	if !c.IsSet("keys") {
		return nil
	}
	return &bench.Keys{Keys: c.Int("keys"), Pairs: c.Int("pairs"), Before: c.String("before")}
}

// against is the Redis on which the plain loop works that --against asks for; nil: none does.
func against(c *cli.Context, ctx context.Context, on benched) (*queue.Client, error) {
	switch url := c.String("against"); {
	case !c.IsSet("against"):
		return nil, nil
	case url == "own":
		return on.client, nil
	default:
		other, err := connect.Reach(ctx, config.Redis{URL: url, Namespace: on.redis.Namespace})
		if err != nil {
			return nil, fmt.Errorf("--against: %w", err)
		}
		return other, nil
	}
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

// benched is where a bench measures.
type benched struct {
	redis   config.Redis
	client  *queue.Client
	server  *embedded.Private // which is our own; nil: it is another's, and we have a namespace there
	scratch string            // an empty directory
}

// benchRedis has use measure, until it is interrupted: a redis-server of our own, to whose options more is added, or the one that --redis names.
// What it needs for that is removed after.
func benchRedis(c *cli.Context, more []string, use func(context.Context, benched) error) error {
	cfg, err := load(c, config.Options{NoPools: true})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	on := benched{redis: cfg.Redis}
	if on.scratch, err = os.MkdirTemp("", "oarlock-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(on.scratch)
	on.redis.Namespace = "oarlock-bench-" + queue.NewJID()[24:] + ":"
	if !c.IsSet("redis") {
		if on.server, err = bench.OwnRedis(ctx, on.scratch, c.IsSet("soak"), more...); err != nil {
			return err
		}
		defer on.server.Close()
		on.redis = config.Redis{URL: on.server.ShortestURL(), Namespace: on.redis.Namespace}
	}
	if on.client, err = connect.Reach(ctx, on.redis); err != nil {
		return err
	}
	defer on.client.Close()
	return use(ctx, on)
}
