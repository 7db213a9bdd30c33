package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/urfave/cli/v2"

	"oarlock/internal/screen"
	"oarlock/internal/setup"
)

func (p Program) initCommand() *cli.Command {
	return &cli.Command{
		Name:        "init",
		Usage:       "write a commented configuration, oarlock.toml if no other FILE is named",
		ArgsUsage:   "[FILE | -]",
		Description: "Beside it goes " + setup.WorkerName + ", the program that the configuration names, unless there is one: it runs as it is.",
		Flags:       []cli.Flag{&cli.BoolFlag{Name: "force", Usage: "overwrite a file that exists"}},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1, "a file"); err != nil {
				return err
			}
			path := c.Args().First()
			if path == "-" {
				_, err := fmt.Fprint(c.App.Writer, p.Example)
				return err
			}
			if path == "" {
				path = "oarlock.toml"
			}
			worker, wrote, err := setup.Begin(path, p.Example, c.Bool("force"))
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s exists; --force overwrites it", path)
			}
			if err != nil {
				return err
			}
			also := "and " + worker
			if !wrote {
				also = "for the " + worker + " that is there"
			}
			screen.Printf(c.App.Writer, "Wrote %s %s. It runs as it is; `oarlock dev` brings a Redis.\n"+
				"Then name your queues and your command in it, and: oarlock check, oarlock run\n", path, also)
			return nil
		},
	}
}
