package cli

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/screen"
	"oarlock/internal/setup"
)

func unitCommand() *cli.Command {
	return &cli.Command{
		Name:        "unit",
		Usage:       "print a systemd unit that fits the configuration",
		Description: "oarlock unit > /etc/systemd/system/oarlock.service",
		Flags:       []cli.Flag{&cli.StringFlag{Name: "user", Value: "oarlock", Usage: "run as `USER`"}},
		Action:      unit,
	}
}

func unit(c *cli.Context) error {
	if err := wantArgs(c, 0, 0, "nothing"); err != nil {
		return err
	}
	for option, key := range overrides {
		if c.IsSet(option) {
			return misused("a unit is for what the file says: write %s into it, in place of --%s", key, option)
		}
	}
	cfg, err := load(c, config.Options{})
	if err == nil {
		err = cfg.NeedPools()
	}
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return err
	}
	made, err := setup.UnitFor(cfg, program, path, c.String("user"))
	if unnamed, is := errors.AsType[*setup.NameError](err); is {
		return misused("%v", unnamed)
	}
	if err != nil {
		return err
	}
	for _, remark := range made.Remarks {
		screen.Printf(c.App.ErrWriter, "%s %s\n", screen.Paint(c.App.ErrWriter, screen.Yellow, "Mind:"), remark)
	}
	return made.Print(c.App.Writer)
}
