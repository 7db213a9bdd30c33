package cli

import (
	"context"
	"io"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/embedded"
)

func runCommand() *cli.Command {
	return &cli.Command{
		Name:  "run",
		Usage: "supervise the pools of the configuration",
		Description: "Waits for a Redis that is away. TERM and INT drain and leave, once more leaves now;\n" +
			"QUIT drains without limit; HUP reloads; USR2 and TSTP are quiet, CONT resumes; USR1\n" +
			"opens the log file again; TTIN writes the state to the log.",
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0, "nothing"); err != nil {
				return err
			}
			reread := func() (config.Config, error) { return reload(c, config.Options{}) }
			cfg, err := reread()
			if err == nil {
				err = needPools(cfg)
			}
			if err != nil {
				return err
			}
			if cfg.Redis.URL != "embedded" {
				return serve(c, cfg, reread)
			}
			return withEmbedded(c.Context, c.App.ErrWriter, "", func(_ context.Context, server *embedded.Server) error {
				return serve(c, at(cfg, server), func() (config.Config, error) {
					cfg, err := reread()
					return at(cfg, server), err
				})
			})
		},
	}
}

// serve runs the service with the configuration cfg until it is told to leave.
func serve(c *cli.Context, cfg config.Config, reread func() (config.Config, error)) error {
	s := newService(c.App.ErrWriter, cfg.Log, reread)
	return s.last(s.run(c.Context, cfg))
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
	printLine(w, paint(w, yellow, "Redis is embedded: ALL IN MEMORY, GONE WHEN THIS PROCESS ENDS. For trying out only."))
	printf(w, "Use it from elsewhere:  export REDIS_URL=%s\n", server.URL())
	return use(ctx, server)
}
