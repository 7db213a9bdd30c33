package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"oarlock/internal/config"
	"oarlock/internal/plan"
	"oarlock/internal/schedule"
	"oarlock/internal/screen"
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
		return errors.Join(screen.PrintJSON(c.App.Writer, map[string]any{"files": cfg.Files, "problems": problems, "warnings": slices.Concat(missingScripts(cfg), optionalArgs(cfg))}), exitQuietly(err))
	}
	if err != nil {
		return err
	}
	return show(c, nil, func(w io.Writer) {
		screen.Printf(w, "%s is good: %s.\n", strings.Join(cfg.Files, ", "), poolNames(cfg))
		if told := memoryNeeded(cfg, hostMemory()); told != "" {
			screen.PrintLine(w, told)
		}
		printCapacity(w, cfg)
		for _, warning := range slices.Concat(missingScripts(cfg), optionalArgs(cfg), plan.CapacityHere().WatchedMemory(cfg)) {
			screen.Printf(w, "%s %s\n", screen.Paint(w, screen.Yellow, "Warning:"), warning)
		}
		for _, r := range plan.Crons(cfg) {
			if s, err := schedule.Parse(r.Schedule, r.Zone); err == nil { // it was checked
				screen.Printf(w, "recurring.%s: %s comes %s.\n", r.Name, cronWhen(r), comes(s, time.Now()))
			}
		}
	})
}

// printCapacity says what the children of a configuration take of this host.
func printCapacity(w io.Writer, cfg config.Config) {
	told, err := plan.Supervisor(cfg, nil)
	if err != nil {
		return // it was validated; a file has changed since
	}
	sentence, fits := plan.CapacityHere().Told(told.Pools)
	if sentence == "" {
		return
	}
	if !fits {
		sentence = string(screen.Paint(w, screen.Yellow, "Warning:")) + " " + sentence
	}
	screen.PrintLine(w, sentence)
}

// missingScripts tells of the scripts that commands name and that are not there, one sentence
// for each pool. They are no mistakes: a script may be put there later.
func missingScripts(cfg config.Config) []string {
	warnings := []string{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Pools)) {
		if missing := cfg.Pools[name].MissingScript(); missing != "" {
			warnings = append(warnings, "pool "+name+": "+missing+".")
		}
	}
	return warnings
}

// optionalArgs tells of arguments that a job could make options of the program, one sentence
// for each pool.
func optionalArgs(cfg config.Config) []string {
	var warnings []string
	for _, name := range slices.Sorted(maps.Keys(cfg.Pools)) {
		if text := cfg.Pools[name].Optional(); text != "" {
			warnings = append(warnings, fmt.Sprintf("pool %s: the program may take %s of args for an option where the job's value begins with -; put \"--\" before it if the program knows that, or write ./%s for a path.", name, text, text))
		}
	}
	return warnings
}

// memoryNeeded tells how much memory the children of pools that bound it may hold in the
// middle of a roll, beside the bytes that the host has (0: not known); "" if none does.
func memoryNeeded(cfg config.Config, host uint64) string {
	var children int
	var most uint64
	for name, p := range cfg.Pools {
		each := max(p.Sandbox.Limits.Memory, p.MaxMemory)
		if p.Sandbox.Limits.Memory > 0 {
			each = p.Sandbox.Limits.Memory
		}
		pool, err := plan.Pool(name, p)
		if err != nil || each <= 0 {
			continue
		}
		children += pool.Crowd()
		most += uint64(pool.Crowd()) * uint64(each)
	}
	if most == 0 {
		return ""
	}
	told := fmt.Sprintf("While new code rolls in there may be %d children of pools with a limit of memory, with %s together", children, humanize.IBytes(most))
	switch {
	case host == 0:
	case most > host:
		told += fmt.Sprintf(": more than the %s of this host", humanize.IBytes(host))
	default:
		told += fmt.Sprintf("; this host has %s", humanize.IBytes(host))
	}
	return told + "."
}

// hostMemory is how much memory the host has, in bytes; 0 if it does not say.
func hostMemory() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return uint64(info.Totalram) * uint64(info.Unit)
}

// needPools refuses a configuration with which there is nothing to supervise.
func needPools(cfg config.Config) error {
	if len(cfg.Pools) > 0 {
		return nil
	}
	if cfg.Path == "" {
		return config.Problems{{Why: strings.Join(append([]string{"there is no configuration file, so there are no pools; `oarlock init` writes one"}, cfg.Doubts...), "; ")}}
	}
	return config.Problems{{File: cfg.Path, Key: "pools", Why: "there is no pool; add a table [pools.NAME] with queues and command"}}
}

func poolNames(cfg config.Config) string {
	names := slices.Sorted(maps.Keys(cfg.Pools))
	if len(names) == 0 {
		return "no pool"
	}
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
