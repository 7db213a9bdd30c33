package cli

import (
	"context"
	"io"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/embedded"
	"oarlock/internal/logging"
	"oarlock/internal/screen"
	"oarlock/internal/service"
	"oarlock/internal/show"
)

func (p Program) runCommand() *cli.Command {
	return &cli.Command{
		Name:  "run",
		Usage: "supervise the pools of the configuration",
		Description: "Waits for a Redis that is away. TERM and INT drain and leave, once more leaves now;\n" +
			"QUIT drains without limit; HUP reloads; USR2 and TSTP are quiet, CONT resumes; USR1\n" +
			"opens the log file again; TTIN writes the state to the log.\n" +
			"With --until-empty it leaves by itself and says what it did and what is left; exit code 1\n" +
			"if it gave up, or, with --fail-on-failed, if a job failed.",
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "until-empty", Value: &untilEmptyValue{}, Usage: "leave when the queues have nothing ready, and nothing due within 30s, or `--until-empty=TIME`"},
			&cli.BoolFlag{Name: "fail-on-failed", Usage: "with --until-empty: exit with 1 if a job failed meanwhile"},
			&cli.BoolFlag{Name: "json", Usage: "with --until-empty: say as JSON what was done and what is left"},
		},
		Action: func(c *cli.Context) error {
			until, _ := c.Generic("until-empty").(*untilEmptyValue)
			if until.set && c.NArg() == 1 {
				if _, err := config.ParseDuration(c.Args().First()); err == nil {
					return misused("write --until-empty=%s", c.Args().First())
				}
			}
			if err := wantArgs(c, 0, 0, "nothing"); err != nil {
				return err
			}
			if !until.set && (c.Bool("fail-on-failed") || c.Bool("json")) {
				return misused("--fail-on-failed and --json go with --until-empty")
			}
			signals := service.CatchSignals(false) // from here on a signal is an orderly stop
			defer signals.Release()
			reread := func() (config.Config, error) { return reload(c, config.Options{}) }
			cfg, err := signals.Await(reread)
			if err == nil {
				err = cfg.NeedPools()
			}
			if err != nil {
				return err
			}
			if cfg.Redis.URL != "embedded" {
				return p.serve(c, cfg, signals, nil, reread)
			}
			return withEmbedded(c.Context, c.App.ErrWriter, "", func(_ context.Context, server *embedded.Server) error {
				return p.serve(c, at(cfg, server), signals, server, func() (config.Config, error) {
					cfg, err := reread()
					return at(cfg, server), err
				})
			})
		},
	}
}

// serve runs a service with the configuration cfg until it is told to leave. own is its Redis, or nil.
func (p Program) serve(c *cli.Context, cfg config.Config, signals *service.Signals, own *embedded.Server, reread func() (config.Config, error)) error {
	o := service.Options{Log: logging.New(c.App.ErrWriter, cfg.Log.Format, cfg.Log.Level), Reread: reread, Version: p.version(), Signals: signals}
	if own != nil {
		o.OwnRedis = own.URL()
	}
	if until, _ := c.Generic("until-empty").(*untilEmptyValue); until != nil {
		o.UntilEmpty, o.Within = until.set, until.within
	}
	s := service.New(cfg, o)
	if err := lastWord(o.Log, s.Run(c.Context)); err != nil || !o.UntilEmpty {
		return err
	}
	done := s.Emptied()
	if err := answer(c, done, func(w io.Writer) { show.Emptied(w, done) }); err != nil {
		return err
	}
	if done.Why != "" || c.Bool("fail-on-failed") && done.Bad() {
		return silent{exitFailed}
	}
	return nil
}

// lastWord ends the log, and returns the error with which the program is to end: without its
// words, where the log is blocked, for they would stand still like all others.
func lastWord(log *logging.Log, err error) error {
	if !log.Close() && err != nil {
		return silent{exitCode(err)}
	}
	return err
}

// at is cfg with the address of the embedded server for Redis.
func at(cfg config.Config, server *embedded.Server) config.Config {
	cfg.Redis.URL = server.URL()
	return cfg
}

// withEmbedded runs an embedded Redis around use, and says loudly what it is.
func withEmbedded(ctx context.Context, w io.Writer, listen string, use func(context.Context, *embedded.Server) error) error {
	server, err := embedded.Start(listen)
	if err != nil {
		return err
	}
	defer server.Close()
	screen.PrintLine(w, screen.Paint(w, screen.Yellow, "Redis is embedded: ALL IN MEMORY, GONE WHEN THIS PROCESS ENDS. For trying out only."))
	screen.Printf(w, "Use it from elsewhere:  export REDIS_URL=%s\n", server.URL())
	return use(ctx, server)
}
