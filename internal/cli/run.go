package cli

import (
	"context"
	"io"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/embedded"
	"oarlock/internal/logging"
	"oarlock/internal/screen"
)

func runCommand() *cli.Command {
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
			reread := func() (config.Config, error) { return reload(c, config.Options{}) }
			cfg, err := reread()
			if err == nil {
				err = cfg.NeedPools()
			}
			if err != nil {
				return err
			}
			if cfg.Redis.URL != "embedded" {
				return serve(c, cfg, nil, reread)
			}
			return withEmbedded(c.Context, c.App.ErrWriter, "", func(_ context.Context, server *embedded.Server) error {
				return serve(c, at(cfg, server), server, func() (config.Config, error) {
					cfg, err := reread()
					return at(cfg, server), err
				})
			})
		},
	}
}

// serve runs the service with the configuration cfg until it is told to leave. own is its Redis, or nil.
func serve(c *cli.Context, cfg config.Config, own *embedded.Server, reread func() (config.Config, error)) error {
	s := newService(logging.New(c.App.ErrWriter, cfg.Log.Format, cfg.Log.Level), cfg.Log, reread)
	if own != nil {
		s.owns(own.URL(), cfg)
	}
	until, _ := c.Generic("until-empty").(*untilEmptyValue)
	if until == nil || !until.set {
		return s.last(s.run(c.Context, cfg))
	}
	s.emptying = &untilEmpty{within: until.within, done: emptied{within: until.within}}
	if err := s.last(s.run(c.Context, cfg)); err != nil {
		return err
	}
	done := s.emptying.done
	if err := show(c, done, done.print); err != nil {
		return err
	}
	if done.Why != "" || c.Bool("fail-on-failed") && done.bad() {
		return silent{exitFailed}
	}
	return nil
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
