package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"
)

func (p Program) initCommand() *cli.Command {
	return &cli.Command{
		Name:      "init",
		Usage:     "write a commented configuration, oarlock.toml if no other FILE is named",
		ArgsUsage: "[FILE | -]",
		Flags:     []cli.Flag{&cli.BoolFlag{Name: "force", Usage: "overwrite a file that exists"}},
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
			mode := os.O_CREATE | os.O_WRONLY | os.O_EXCL
			if c.Bool("force") {
				mode = os.O_CREATE | os.O_WRONLY | os.O_TRUNC
			}
			file, err := os.OpenFile(path, mode, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s exists; --force overwrites it", path)
			}
			if err != nil {
				return err
			}
			_, err = file.WriteString(p.Example)
			if err = errors.Join(err, file.Close()); err != nil {
				return err
			}
			printf(c.App.Writer, "Wrote %s. Name your queues and your command in it, then: oarlock check, oarlock run\n", path)
			return nil
		},
	}
}
