package cli

import (
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/connect"
	"oarlock/internal/ops"
	"oarlock/internal/plan"
	"oarlock/internal/schedule"
	"oarlock/internal/screen"
	"oarlock/internal/service"
	"oarlock/internal/show"
)

func checkCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "validate the configuration; exits 78 if it is wrong",
		ArgsUsage: "[FILE]",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "rules", Usage: "ask Redis, too, whether the files of others say anything else of its rules"},
			jsonFlag(),
		},
		Action: check,
	}
}

func check(c *cli.Context) error {
	if err := wantArgs(c, 0, 1, "a file"); err != nil {
		return err
	}
	if c.NArg() == 1 {
		if c.Args().First() == "" {
			return misused("the name of the file is empty; give it one, or none for the configuration that is found")
		}
		if err := c.Set("config", c.Args().First()); err != nil {
			return err
		}
	}
	cfg, err := load(c, config.Options{})
	if err == nil {
		err = cfg.NeedPools()
	}
	if err == nil && cfg.Web.Listen != "" {
		_, _, err = service.WebDoor(cfg.Web, slog.New(slog.DiscardHandler))
	}
	if _, unread := cfg.Park.Secrets(); err == nil && unread != nil {
		err = config.Wrong("park.secret_file", unread)
	}
	if err == nil && c.Bool("rules") {
		err = checkRules(c, cfg)
	}
	if c.Bool("json") {
		problems := config.Problems{}
		if err != nil && !errors.As(err, &problems) {
			return err
		}
		return errors.Join(screen.PrintJSON(c.App.Writer, map[string]any{"files": cfg.Files, "problems": problems, "warnings": slices.Concat(cfg.Doubts, service.Warnings(cfg))}), exitQuietly(err))
	}
	if err != nil {
		return err
	}
	return answer(c, nil, func(w io.Writer) {
		screen.Printf(w, "%s is good: %s.\n", strings.Join(cfg.Files, ", "), cfg.PoolNames())
		if told := plan.MemoryNeeded(cfg, plan.HostMemory()); told != "" {
			screen.PrintLine(w, told)
		}
		here := plan.CapacityHere()
		sentence, fits := here.Needs(cfg)
		show.Capacity(w, sentence, fits)
		for _, warning := range slices.Concat(service.Warnings(cfg), here.WatchedMemory(cfg)) {
			screen.Printf(w, "%s %s\n", screen.Paint(w, screen.Yellow, "Warning:"), warning)
		}
		for _, r := range plan.Crons(cfg) {
			if s, err := schedule.Parse(r.Schedule, r.Zone); err == nil { // it was checked
				screen.Printf(w, "recurring.%s: %s comes %s.\n", r.Name, ops.CronWhen(r), show.Comes(s, time.Now()))
			}
		}
	})
}

// checkRules tells, as config.Problems, which rules of the file do not count, for another file says otherwise.
func checkRules(c *cli.Context, cfg config.Config) error {
	q, err := connect.Reach(c.Context, cfg.Redis)
	if err != nil {
		return err
	}
	defer q.Close()
	problems, err := ops.CheckRules(c.Context, q, cfg)
	if err == nil && len(problems) > 0 {
		return problems
	}
	return err
}

// exitQuietly keeps the exit code of err, whose words were printed already.
func exitQuietly(err error) error {
	if err == nil {
		return nil
	}
	return silent{exitCode(err)}
}
