package cli

import (
	"context"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/connect"
	"oarlock/internal/console"
	"oarlock/internal/embedded"
	"oarlock/internal/logging"
	"oarlock/internal/plan"
	"oarlock/internal/screen"
	"oarlock/internal/service"
)

func (p Program) devCommand() *cli.Command {
	return &cli.Command{
		Name:  "dev",
		Usage: "supervise on a Redis of its own, with the configuration and the programs watched",
		Description: "The Redis is in memory; --data FILE keeps it from one time to the next, and\n" +
			"--redis=spawn starts a private redis-server that writes everything down.\n" +
			"What children print stands behind pool[slot], with | for stdout and ! for stderr; our own lines\n" +
			"behind oarlock. With [log] format = \"json\" all of it is JSON.\n" +
			"Other commands with the same configuration find this Redis, if none is named.\n" +
			"A change of the configuration is applied at once; when a file that a command names\n" +
			"has changed, the children of its pool are replaced.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "redis", Value: "embedded", Usage: "embedded, spawn, or the `URL` of another Redis"},
			&cli.StringFlag{Name: "listen", Usage: "loopback `ADDRESS` of the embedded Redis (default: any free port)"},
			&cli.StringFlag{Name: "data", Usage: "`FILE` to keep the embedded Redis in"},
		},
		Action: p.dev,
	}
}

// usualPage is where `dev` and `demo` answer browsers.
const usualPage = "127.0.0.1:7733"

func (p Program) dev(c *cli.Context) error {
	if err := wantArgs(c, 0, 0, "nothing"); err != nil {
		return err
	}
	kind := c.String("redis")
	if kind != "embedded" && (c.IsSet("data") || c.IsSet("listen")) {
		return misused("--data and --listen are for the embedded Redis")
	}
	url := kind
	reread := func() (config.Config, error) {
		return reload(c, config.Options{Set: map[string]string{"redis.url": url}})
	}
	if kind == "spawn" {
		url = "embedded" // until we know better; it is checked below
	}
	cfg, err := reread()
	if err == nil {
		err = cfg.NeedPools()
	}
	if err != nil {
		return err
	}
	if said, err := reload(c, config.Options{NoPools: true}); err == nil && said.RedisNamed && !c.IsSet("redis") && said.Redis.URL != "embedded" {
		screen.Printf(c.App.ErrWriter, "Redis at %s, which the configuration or REDIS_URL names, is left alone; other commands go there unless you name this one with --redis.\n", connect.Address(said.Redis.URL))
	}
	o := service.Options{
		Log: logging.New(c.App.ErrWriter, cfg.Log.Format, cfg.Log.Level), Reread: reread, Version: p.version(),
		Terminal: screen.IsTerminal(os.Stdin), Programs: true,
		Page: &service.Page{Address: usualPage, Ready: func(address string) {
			screen.Printf(c.App.ErrWriter, "Look at it in a browser:  %s\n", address)
		}},
	}
	if cfg.Log.Format != "json" {
		shown := console.New(o.Log, c.App.ErrWriter, plan.Slots(cfg))
		o.Log.Into(shown.Ours(), shown.Colour)
		o.ChildLog = shown.Line
	}
	switch kind {
	case "embedded":
		return withEmbedded(c.Context, c.App.ErrWriter, c.String("listen"), func(ctx context.Context, server *embedded.Server) error {
			url = server.URL()
			if file := c.String("data"); file != "" {
				if err := server.Load(file); err != nil {
					return err
				}
				screen.Printf(c.App.ErrWriter, "Kept in %s.\n", file)
				o.Beside = append(o.Beside, service.Beside{Without: "the data is not kept any more", Run: func(ctx context.Context) error { return server.Keep(ctx, file) }})
			}
			o.OwnRedis = url
			return lastWord(o.Log, service.New(at(cfg, server), o).Run(ctx))
		})
	case "spawn":
		server, err := embedded.Spawn(c.Context, filepath.Join(cfg.Supervisor.StatePath(), "redis"))
		if err != nil {
			return err
		}
		defer server.Close()
		url = server.ShortestURL()
		cfg.Redis.URL = url
		o.OwnRedis = server.URL()
		screen.Printf(c.App.ErrWriter, "A private redis-server keeps its data in %s.\nUse it from elsewhere:  export REDIS_URL=%s\n", server.Dir(), server.URL())
	}
	return lastWord(o.Log, service.New(cfg, o).Run(c.Context))
}
