package cli

import (
	"os/signal"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/screen"
	"oarlock/internal/service"
	"oarlock/internal/show"
)

func topCommand() *cli.Command {
	return &cli.Command{
		Name:     "top",
		Usage:    "show the status of a running supervisor again and again, until ^C",
		Category: "a running supervisor",
		Flags:    []cli.Flag{pidFlag(), &cli.DurationFlag{Name: "every", Value: time.Second, Usage: "from one look to the next"}},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0, "nothing"); err != nil {
				return err
			}
			if !screen.IsTerminal(c.App.Writer) {
				return misused("top needs a terminal; `oarlock status --json` is for programs")
			}
			ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			s, err := reach(c)
			if err != nil {
				return err
			}
			ticker := time.NewTicker(max(c.Duration("every"), 100*time.Millisecond))
			defer ticker.Stop()
			for {
				var shot service.Status
				if err := s.Status(ctx, &shot); err != nil && ctx.Err() == nil {
					return err
				}
				if ctx.Err() != nil {
					return nil
				}
				show.Frame(c.App.Writer, shot)
				select {
				case <-ticker.C:
				case <-ctx.Done():
					return nil
				}
			}
		},
	}
}
