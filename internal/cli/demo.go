package cli

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/connect"
	"oarlock/internal/demo"
	"oarlock/internal/embedded"
	"oarlock/internal/plan"
	"oarlock/internal/screen"
	"oarlock/supervisor"
)

func (p Program) demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "see it work: Go's own source files through child processes, with trouble on purpose",
		Description: "Needs nothing but Go; about half a minute. Exits 0 only if what the children counted\n" +
			"is what a direct count gives, and every job ended as it should.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "files", Value: 1000, Usage: "how many `FILES` become jobs"},
			&cli.StringFlag{Name: "dir", Usage: "`DIRECTORY` to take them from (default: Go's sources)"},
			&cli.BoolFlag{Name: "web", Usage: "look on in a browser, until you press Enter or stop it"},
			&cli.IntFlag{Name: "children", Value: 4 * runtime.NumCPU(), Usage: "processes at work at the same time"},
		},
		Action: p.runDemo,
	}
}

func (p Program) runDemo(c *cli.Context) error {
	if err := wantArgs(c, 0, 0, "nothing"); err != nil {
		return err
	}
	if c.Int("files") < 1 || c.Int("children") < 1 {
		return misused("--files and --children must be 1 or more")
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	scratch, err := os.MkdirTemp("", "oarlock-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	command, err := demo.Script(scratch)
	if err != nil {
		return err
	}
	dir := c.String("dir")
	if dir == "" {
		if dir, err = demo.Sources(); err != nil {
			return err
		}
	}
	files, err := demo.Corpus(dir, c.Int("files"))
	if err != nil {
		return err
	}
	out := c.App.Writer
	return withEmbedded(ctx, out, "", func(ctx context.Context, server *embedded.Server) error {
		screen.Printf(out, "%s files of %s become jobs; %d children count what is in them: %s %s\n\n", screen.Count(len(files)), dir,
			c.Int("children"), filepath.Base(command[0]), filepath.Base(command[len(command)-1]))
		client, err := connect.Open(ctx, config.Redis{URL: server.URL(), Namespace: "ql:"}, nil)
		if err != nil {
			return err
		}
		defer client.Close()
		pool, err := demoPool(command, c.Int("children"))
		if err != nil {
			return err
		}
		if !c.Bool("web") {
			return demo.Run(ctx, out, client, pool, files, nil)
		}
		return p.demoOnPage(c, server.URL(), func(watch *demo.Watch) error { return demo.Run(ctx, out, client, pool, files, watch) })
	})
}

// demoPool is what a pool of the configuration would be that runs command on what is in a job.
func demoPool(command []string, children int) (supervisor.Pool, error) {
	pool := config.DefaultPool()
	pool.Command, pool.Children, pool.Input, pool.MaxCrashes = command, children, "data", 1
	pool.Retry = config.Retry{Backoff: config.Backoff{Curve: "constant"}, Delay: config.Duration(500 * time.Millisecond)}
	return plan.Pool("demo", pool)
}
