package cli

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/ops"
	"oarlock/internal/plan"
	"oarlock/internal/trial"
	"oarlock/queue"
)

func tryCommand() *cli.Command {
	return &cli.Command{
		Name:      "try",
		Usage:     "run one job against a program, without Redis, and show both sides of the conversation",
		ArgsUsage: "COMMAND [ARGUMENT…]",
		Description: "Lines with > go to the program, lines with < come from it. Options of the program\n" +
			"that have the name of one here go behind --: oarlock try --job '{}' -- program --pool x\n" +
			"Exits 0 if the job would be complete and no verdict was refused.",
		Flags: append(programFlags(),
			&cli.DurationFlag{Name: "timeout", DefaultText: "the pool's, or none", Usage: "stop it after so long"},
			&cli.IntFlag{Name: "batch", DefaultText: "one, as a pool with batch gives it", Usage: "give it so many `JOBS` like this one in one message"},
			&cli.IntFlag{Name: "attempt", Value: 1, Usage: "the number of the attempt"},
			&cli.StringFlag{Name: "checkpoint", Usage: "what an earlier attempt kept, as `JSON`"},
		),
		Action: try,
	}
}

// programFlags say how a program that is tried without Redis is run, and on what job;
// tryPool and tryJob read them.
func programFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "job", Aliases: []string{"j"}, Value: "{}", Usage: "the job's data, as `JSON`; @FILE reads it from a file"},
		&cli.StringFlag{Name: "pool", Usage: "run it as the pool `NAME` of the configuration does; then COMMAND may be left out"},
		&cli.StringFlag{Name: "klass", Value: "job", Usage: "what `KIND` of work the job is"},
		&cli.StringFlag{Name: "queue", Usage: "the queue it comes from"},
		&cli.StringFlag{Name: "mode", Usage: "once, reuse or preload"},
		&cli.StringFlag{Name: "input", Usage: "job, data or none"},
		&cli.StringFlag{Name: "status", Usage: "auto, fd, lines or exit"},
		&cli.BoolFlag{Name: "pty", Usage: "give it a terminal as stdout"},
	}
}

func try(c *cli.Context) error {
	pool, err := tryPool(c)
	if err != nil {
		return err
	}
	job, err := tryJob(c, pool)
	if err != nil {
		return err
	}
	if c.IsSet("batch") && (c.Int("batch") < 1 || c.Int("batch") > config.MaxBatch) {
		return misused("--batch must be from 1 to %d", config.MaxBatch)
	}
	if c.IsSet("batch") && (pool.Mode == "once" || pool.Input == "data") {
		return misused("--batch needs --mode reuse or preload, and --input job: another program reads no message")
	}
	return showTrial(c, pool, job)
}

// showTrial has a child of pool work job, shows the conversation, and says what would
// become of the job.
func showTrial(c *cli.Context, pool config.Pool, job queue.Taken) error {
	t, err := newTrial("try", pool, job)
	if err != nil {
		return err
	}
	defer t.Close()
	if t.Batch = c.Int("batch"); t.Batch == 0 && pool.Batch > 1 {
		t.Batch = 1
	}
	good, err := t.Show(c.Context, c.App.Writer, plan.Policy(pool))
	if err == nil && !good {
		err = silent{exitFailed}
	}
	return err
}

// newTrial is job on the program of pool, under name. The caller closes it.
func newTrial(name string, pool config.Pool, job queue.Taken) (*trial.Trial, error) {
	spec, err := plan.Spec(name, pool)
	if err != nil {
		return nil, err
	}
	policy := plan.Policy(pool)
	t, err := trial.New(spec, job, policy.TimeoutOf(job.Klass, time.Duration(pool.Timeout)))
	if err == nil {
		t.Ask = func(ctx context.Context, command []string, input []byte) ([]byte, error) {
			return plan.RetryDecider(t.Host, pool.Home)(ctx, name, command, input)
		}
	}
	return t, err
}

// tryPool is the pool to imitate: one of the configuration, or what the options say.
func tryPool(c *cli.Context) (config.Pool, error) {
	if c.String("pool") == "" {
		if err := wantArgs(c, 1, -1, "a program"); err != nil {
			return config.Pool{}, err
		}
	}
	return imitate(c, c.String("pool"), c.Args().Slice())
}

// imitate is the pool name of the configuration, or one with the defaults if name is "",
// with what the options and a command say otherwise.
func imitate(c *cli.Context, name string, command []string) (config.Pool, error) {
	pool := config.DefaultPool()
	pool.Sandbox.Dir, _ = os.Getwd()
	pool.Queues = []string{"try"}
	if name != "" {
		cfg, err := load(c, config.Options{})
		if err != nil {
			return pool, err
		}
		var ok bool
		if pool, ok = cfg.Pools[name]; !ok {
			return pool, misused("there is no pool %q; the configuration has %s", name, cfg.PoolNames())
		}
		pool.Classes, pool.Home = cfg.Klass, filepath.Dir(cfg.Path)
	}
	if len(command) > 0 {
		pool.Command = command
	}
	if err := chooseWords(c, &pool); err != nil {
		return pool, err
	}
	if c.IsSet("pty") {
		pool.PTY = c.Bool("pty")
	}
	if c.IsSet("timeout") {
		pool.Timeout = config.Duration(c.Duration("timeout"))
		pool.Classes = maps.Clone(pool.Classes)
		for name, class := range pool.Classes {
			class.Timeout = 0 // whoever tries it has said how long
			pool.Classes[name] = class
		}
	}
	return pool, nil
}

// chooseWords makes pool as the options of c say that take few words, and refuses others.
func chooseWords(c *cli.Context, pool *config.Pool) error {
	for _, choice := range []struct {
		option  string
		into    *string
		allowed []string
	}{{"mode", &pool.Mode, config.Modes}, {"input", &pool.Input, config.Inputs}, {"status", &pool.Status, config.Statuses}} {
		if word := c.String(choice.option); word != "" {
			if err := config.OneOf(word, choice.allowed); err != nil {
				return misused("--%s: %v", choice.option, err)
			}
			*choice.into = word
		}
	}
	if c.Duration("timeout") < 0 {
		return misused("--timeout is negative; without it that of the pool holds")
	}
	return nil
}

// tryJob is the job that the options describe, as a supervisor would take it.
func tryJob(c *cli.Context, pool config.Pool) (queue.Taken, error) {
	data := []byte(c.String("job"))
	if file, ok := strings.CutPrefix(c.String("job"), "@"); ok {
		var err error
		if data, err = os.ReadFile(file); err != nil {
			return queue.Taken{}, err
		}
	}
	if err := ops.CheckJSON(data); err != nil {
		return queue.Taken{}, misused("--job is not JSON: %v", err)
	}
	from := c.String("queue")
	if from == "" {
		from = trial.AnyQueue(pool.Queues)
	}
	if c.IsSet("attempt") && c.Int("attempt") < 1 {
		return queue.Taken{}, misused("--attempt must be 1 or more")
	}
	job := trial.Attempted(c.String("klass"), from, bytes.TrimSpace(data), c.Int("attempt"))
	if text := c.String("checkpoint"); text != "" {
		if err := ops.CheckJSON([]byte(text)); err != nil {
			return queue.Taken{}, misused("--checkpoint is not JSON: %v", err)
		}
		job.Checkpoint = []byte(text)
	}
	return job, nil
}
