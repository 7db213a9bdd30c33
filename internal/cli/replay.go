package cli

import (
	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/ops"
	"oarlock/internal/plan"
	"oarlock/internal/trial"
	"oarlock/queue"
)

func replayCommand() *cli.Command {
	return &cli.Command{
		Name:      "replay",
		Usage:     "run a job of Redis once more, here, and show both sides of the conversation",
		ArgsUsage: "JID [COMMAND [ARGUMENT…]]",
		Description: "It runs as the pool that works its queue would run it, or with another command. Nothing\n" +
			"changes in Redis: neither the job nor what its child asks to be put.\n" +
			"Exits 0 if the job would be complete and no verdict was refused.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "pool", Usage: "run it as the pool `NAME` of the configuration does"},
			&cli.StringFlag{Name: "mode", Usage: "once, reuse or preload"},
			&cli.StringFlag{Name: "input", Usage: "job, data or none"},
			&cli.StringFlag{Name: "status", Usage: "auto, fd, lines or exit"},
			&cli.BoolFlag{Name: "pty", Usage: "give it a terminal as stdout"},
			&cli.DurationFlag{Name: "timeout", DefaultText: "the pool's, or none", Usage: "stop it after so long"},
			&cli.BoolFlag{Name: "fresh", Usage: "without the checkpoint of earlier attempts"},
		},
		Action: replay,
	}
}

func replay(c *cli.Context) error {
	if err := wantArgs(c, 1, -1, "a job"); err != nil {
		return err
	}
	name, command := c.String("pool"), c.Args().Tail()
	named := name != "" || len(command) > 0
	var pool config.Pool
	var err error
	if named {
		pool, err = imitate(c, name, command)
	} else {
		err = chooseWords(c, &pool)
	}
	if err != nil {
		return err
	}
	job, err := storedJob(c, c.Args().First())
	if err == nil && !named {
		pool, err = poolOf(c, trial.LastQueue(*job))
	}
	if err != nil {
		return err
	}
	return showTrial(c, pool, trial.Stored(*job, c.Bool("fresh")))
}

// storedJob reads a job and leaves Redis alone after that.
func storedJob(c *cli.Context, jid string) (*queue.Job, error) {
	client, err := open(c)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	job, err := client.Get(c.Context, jid)
	return job, ops.Worded(c.Args().First(), err)
}

// poolOf is the pool that works the queue from.
func poolOf(c *cli.Context, from string) (config.Pool, error) {
	cfg, err := load(c, config.Options{})
	if err != nil {
		return config.Pool{}, err
	}
	pools := plan.Working(cfg, from)
	if len(pools) == 0 {
		return config.Pool{}, misused("no pool of the configuration works the queue %q; it has %s\nName a command: oarlock replay JID COMMAND", from, cfg.PoolNames())
	}
	return imitate(c, pools[0], nil)
}
