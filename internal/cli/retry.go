package cli

import (
	"io"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/ops"
	"oarlock/internal/plan"
	"oarlock/internal/show"
)

// mostPlanned is how many retries a plan shows at most.
const mostPlanned = 1000

func retryCommand() *cli.Command {
	return &cli.Command{
		Name: "retry", Usage: "how long jobs wait between their attempts",
		Action: func(*cli.Context) error { return misused("name plan; `oarlock retry --help` tells more") },
		Subcommands: []*cli.Command{{
			Name: "plan", Usage: "show how long a job of a pool waits after each failure, by the configuration", ArgsUsage: "POOL",
			Flags: []cli.Flag{&cli.StringFlag{Name: "klass", Aliases: []string{"k"}, Value: "job", Usage: "of jobs of this `KLASS`, of which [klass] may say something else"},
				&cli.IntFlag{Name: "retries", Value: 25, Usage: "how many retries the job has"}, jsonFlag()},
			Action: retryPlan,
		}},
	}
}

func retryPlan(c *cli.Context) error {
	if err := wantArgs(c, 1, 1, "a pool"); err != nil {
		return err
	}
	n := c.Int("retries")
	if n < 0 || n > mostPlanned {
		return misused("--retries must be from 0 to %d", mostPlanned)
	}
	cfg, err := load(c, config.Options{})
	if err != nil {
		return err
	}
	name := c.Args().First()
	pool, there := cfg.Pools[name]
	if !there {
		names := slices.Sorted(maps.Keys(cfg.Pools))
		return notThere("there is no pool %s%s", name, ops.Nearest(name, names))
	}
	pool.Classes = cfg.Klass
	policy := plan.Policy(pool)
	waits := show.PlanOf(policy.RetryOf(c.String("klass")), n)
	return answer(c, waits, func(w io.Writer) { show.RetryPlan(w, waits) })
}
