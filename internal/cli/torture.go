package cli

import (
	"errors"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/screen"
	"oarlock/internal/trial"
)

func tortureCommand() *cli.Command {
	return &cli.Command{
		Name:      "torture",
		Usage:     "find out which rules a worker program keeps, without Redis",
		ArgsUsage: "COMMAND [ARGUMENT…]",
		Description: "The program is started, fed, canceled, killed, flooded and fed twice. Exits 0 if it keeps\n" +
			"all obligatory rules, and 1 if not; the first is that it acknowledges a job. It works jobs\n" +
			"that look like --job, many of them: name one that it can do, and that does no harm.\n" +
			"Without --mode the mode is found out by trying.",
		Flags: append(programFlags(),
			&cli.DurationFlag{Name: "grace", Value: 3 * time.Second, Usage: "how long it may take to leave"},
			&cli.DurationFlag{Name: "limit", Value: 10 * time.Second, Usage: "how long it may take to be ready, and to answer"},
			jsonFlag(),
		),
		Action: tortureProgram,
	}
}

func tortureProgram(c *cli.Context) error {
	pool, err := tryPool(c)
	if err != nil {
		return err
	}
	if c.Duration("grace") <= 0 || c.Duration("limit") <= 0 {
		return misused("--grace and --limit must be more than 0")
	}
	pool.KillGrace = config.Duration(c.Duration("grace"))
	job, err := tryJob(c, pool)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	t, err := newTrial("torture", pool, job)
	if err != nil {
		return err
	}
	defer t.Close()
	t.Limit = c.Duration("limit")
	if c.String("mode") == "" && c.String("pool") == "" {
		t.Spec.Mode = t.Guess(ctx)
	}
	out, text := c.App.Writer, !c.Bool("json")
	if text {
		screen.Printf(out, "%s, mode %s\n\n", strings.Join(t.Spec.Command, " "), t.Spec.Mode)
	}
	findings := []trial.Finding{}
	good, err := t.Torture(ctx, func(f trial.Finding) {
		findings = append(findings, f)
		if text {
			f.Print(out)
		}
	})
	if errors.Is(err, trial.ErrNoProgram) {
		return misused("%v", err)
	}
	if err != nil {
		return err
	}
	if text {
		trial.PrintSum(out, findings)
	} else if err := screen.PrintJSON(out, map[string]any{"command": t.Spec.Command, "mode": t.Spec.Mode.String(), "good": good, "rules": findings}); err != nil {
		return err
	}
	if !good {
		return silent{exitFailed}
	}
	return nil
}
