package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/screen"
	"oarlock/internal/torture"
	"oarlock/runner"
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
	spec, err := specOf("torture", pool)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	host, err := runner.NewHost(runner.HostOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer host.Close()
	trial := &torture.Trial{Host: host, Spec: spec, Job: *wire(job, pool), Limit: c.Duration("limit")}
	if c.String("mode") == "" && c.String("pool") == "" {
		trial.Spec.Mode = trial.Guess(ctx)
	}
	out, text := c.App.Writer, !c.Bool("json")
	if text {
		screen.Printf(out, "%s, mode %s\n\n", strings.Join(spec.Command, " "), trial.Spec.Mode)
	}
	findings := []torture.Finding{}
	good, err := trial.Run(ctx, func(f torture.Finding) {
		findings = append(findings, f)
		if text {
			printFinding(out, f)
		}
	})
	if errors.Is(err, torture.ErrNoProgram) {
		return misused("%v", err)
	}
	if err != nil {
		return err
	}
	if text {
		printTortured(out, findings)
	} else if err := screen.PrintJSON(out, map[string]any{"command": spec.Command, "mode": trial.Spec.Mode.String(), "good": good, "rules": findings}); err != nil {
		return err
	}
	if !good {
		return silent{exitFailed}
	}
	return nil
}

// printFinding shows a rule and what became of it.
func printFinding(w io.Writer, f torture.Finding) {
	switch {
	case f.Left:
		screen.PrintLine(w, screen.Paint(w, screen.Dim, "  –  "+f.Rule+": says nothing of this program"))
	case f.Kept:
		screen.Printf(w, "%s%s\n", screen.Paint(w, screen.Green, "  ✓  "), f.Rule)
	case f.Must:
		screen.Printf(w, "%s%s\n%s\n", screen.Paint(w, screen.Red, "  ✗  "), f.Rule, screen.Lines(indent(f.Why)))
	default:
		screen.Printf(w, "%s%s\n%s\n", screen.Paint(w, screen.Yellow, "  ○  "), f.Rule, screen.Lines(indent(f.Why)))
	}
}

// printTortured sums up.
func printTortured(w io.Writer, findings []torture.Finding) {
	all, broken, advice := 0, 0, 0
	for _, f := range findings {
		switch {
		case f.Left:
		case !f.Must && !f.Kept:
			advice++
		case f.Must:
			all++
			if !f.Kept {
				broken++
			}
		}
	}
	if broken > 0 {
		screen.Printf(w, "\n%s\n", screen.Paint(w, screen.Red, fmt.Sprintf("It breaks %d of %d obligatory rules.", broken, all)))
		return
	}
	screen.Printf(w, "\n%s", screen.Paint(w, screen.Green, fmt.Sprintf("It keeps all %d obligatory rules", all)))
	if advice > 0 {
		screen.Printf(w, "; %d more would be good", advice)
	}
	screen.PrintLine(w, ".")
}
