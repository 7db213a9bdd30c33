package cli

import (
	"bytes"

	"github.com/urfave/cli/v2"

	"oarlock/internal/screen"
)

func metricsCommand() *cli.Command {
	return &cli.Command{
		Name:     "metrics",
		Usage:    "print the metrics of a running supervisor once, as a scrape gets them",
		Category: "a running supervisor",
		Description: "For a look, and for who cannot scrape: Prometheus' textfile collector reads such a file.\n" +
			"docs/metrics.md says what each is.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "queues", Usage: "those of all queues, which Redis tells, instead of those of the supervisor"},
			pidFlag(),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0, "nothing"); err != nil {
				return err
			}
			s, err := reach(c)
			if err != nil {
				return err
			}
			path := "metrics"
			if c.Bool("queues") {
				path = "metrics/queues"
			}
			var text bytes.Buffer
			if err := s.Page(c.Context, path, &text); err != nil {
				return err
			}
			screen.Printf(c.App.Writer, "%s", screen.Lines(text.String()))
			return nil
		},
	}
}
