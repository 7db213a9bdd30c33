package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
)

func checkCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "validate the configuration; exits 78 if it is wrong",
		ArgsUsage: "[FILE]",
		Flags:     []cli.Flag{jsonFlag()},
		Action:    check,
	}
}

func check(c *cli.Context) error {
	if err := wantArgs(c, 0, 1, "a file"); err != nil {
		return err
	}
	if c.NArg() == 1 {
		if err := c.Set("config", c.Args().First()); err != nil {
			return err
		}
	}
	cfg, err := load(c, config.Options{})
	if err == nil {
		err = needPools(cfg)
	}
	if c.Bool("json") {
		problems := config.Problems{}
		if err != nil && !errors.As(err, &problems) {
			return err
		}
		return errors.Join(printJSON(c.App.Writer, map[string]any{"files": cfg.Files, "problems": problems}), exitQuietly(err))
	}
	if err != nil {
		return err
	}
	return show(c, nil, func(w io.Writer) {
		printf(w, "%s is good: %s.\n", strings.Join(cfg.Files, ", "), poolNames(cfg))
	})
}

// needPools refuses a configuration with which there is nothing to supervise.
func needPools(cfg config.Config) error {
	if len(cfg.Pools) > 0 {
		return nil
	}
	if cfg.Path == "" {
		return config.Problems{{Why: "there is no configuration file, so there are no pools; `oarlock init` writes one"}}
	}
	return config.Problems{{File: cfg.Path, Key: "pools", Why: "there is no pool; add a table [pools.NAME] with queues and command"}}
}

func poolNames(cfg config.Config) string {
	names := slices.Sorted(maps.Keys(cfg.Pools))
	if len(names) == 1 {
		return "1 pool, " + names[0]
	}
	return fmt.Sprintf("%d pools, %s", len(names), strings.Join(names, ", "))
}

// exitQuietly keeps the exit code of err, whose words were printed already.
func exitQuietly(err error) error {
	if err == nil {
		return nil
	}
	return silent{exitCode(err)}
}
