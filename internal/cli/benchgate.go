package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"oarlock/internal/bench"
)

func benchGateCommand() *cli.Command {
	return &cli.Command{
		Name:  "gate",
		Usage: "measure what jobs that wait for a place, or for an answer, cost the others",
		Description: "On a redis-server of its own (--redis names another), before a job that may begin are put many\n" +
			"that wait for the one place of a throttle: how long are the calls until it has begun, and those\n" +
			"after them? Then many jobs park: how long are takes beside them, and answers to them?",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "blocked", Value: 100_000, Usage: "how many `JOBS` wait for a place; 0: that is not measured"},
			&cli.IntFlag{Name: "parked", Value: 100_000, Usage: "how many `JOBS` wait for an answer, of some 2 KB of Redis' memory each; 0: that is not measured"},
			jsonFlag(),
		},
		Action: benchGate,
	}
}

func benchGate(c *cli.Context) error {
	if err := wantArgs(c, 0, 0, "nothing"); err != nil {
		return err
	}
	crowd := bench.Crowd{Blocked: c.Int("blocked"), Parked: c.Int("parked")}
	if crowd.Blocked < 0 || crowd.Parked < 0 || crowd.Blocked+crowd.Parked == 0 {
		return misused("--blocked and --parked must be 0 or more, and one of them 1 or more")
	}
	return benchRedis(c, nil, func(ctx context.Context, on benched) error {
		b := &bench.Bench{Client: on.client, Log: c.App.ErrWriter}
		return b.MeasureGate(ctx, crowd, bench.NewReport(c.App.Writer, c.App.ErrWriter, c.Bool("json")))
	})
}
