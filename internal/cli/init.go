package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"oarlock/internal/screen"
)

// workerName is the script that the example's command names, and exampleWorker what it may be.
const workerName = "worker.sh"

//go:embed init-worker.sh
var exampleWorker string

func (p Program) initCommand() *cli.Command {
	return &cli.Command{
		Name:        "init",
		Usage:       "write a commented configuration, oarlock.toml if no other FILE is named",
		ArgsUsage:   "[FILE | -]",
		Description: "Beside it goes " + workerName + ", the program that the configuration names, unless there is one: it runs as it is.",
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
			err := writeNew(path, p.Example, 0o644, c.Bool("force"))
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s exists; --force overwrites it", path)
			}
			if err != nil {
				return err
			}
			worker := filepath.Join(filepath.Dir(path), workerName)
			err = writeNew(worker, exampleWorker, 0o755, false)
			if err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			also := "and " + worker
			if err != nil {
				also = "for the " + worker + " that is there"
			}
			screen.Printf(c.App.Writer, "Wrote %s %s. It runs as it is; `oarlock dev` brings a Redis.\n"+
				"Then name your queues and your command in it, and: oarlock check, oarlock run\n", path, also)
			return nil
		},
	}
}

// writeNew writes a file that does not exist yet, or any if it may overwrite one. The error
// is fs.ErrExist if it may not.
func writeNew(path, text string, mode fs.FileMode, overwrite bool) error {
	how := os.O_CREATE | os.O_WRONLY | os.O_EXCL
	if overwrite {
		how = os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	}
	file, err := os.OpenFile(path, how, mode)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}
