package cli

import (
	"slices"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/doctor"
	"oarlock/internal/screen"
	"oarlock/internal/service"
	"oarlock/internal/show"
	"oarlock/queue"
)

// installedUnit is where an administrator puts what `oarlock unit` prints.
const installedUnit = "/etc/systemd/system/oarlock.service"

func doctorCommand() *cli.Command {
	command := verb{
		name: "doctor", usage: "look for what could lose jobs or hold them up: in Redis, in its keys, on this host",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "fix", Usage: "repair jobs that are not where they say they are, and say so of each"},
			&cli.BoolFlag{Name: "dry-run", Usage: "with --fix: only say what it would repair, and how; it does so without --fix, too"},
			&cli.StringFlag{Name: "unit", Value: installedUnit, Usage: "the unit `FILE` to compare with the configuration"},
			jsonFlag(),
		},
		do: examine,
	}.command()
	command.Description = "Exits 1 if anything is bad. Without --fix it changes nothing."
	return command
}

func examine(c *cli.Context, q *queue.Client) error {
	var findings []doctor.Finding
	d := &doctor.Doctor{Client: q, Fix: c.Bool("fix") && !c.Bool("dry-run"), Report: func(f doctor.Finding) {
		findings = append(findings, f)
		if !c.Bool("json") {
			show.Finding(c.App.Writer, f)
		}
	}}
	err := d.Examine(c.Context, doctor.Place{
		Config:   func() (config.Config, error) { return reload(c, config.Options{}) }, // what reached Redis has told the doubts
		Warnings: func(cfg config.Config) []string { return slices.Concat(cfg.Doubts, service.Warnings(cfg)) },
		Unit:     c.String("unit"), UnitNamed: c.IsSet("unit"),
	})
	if err != nil {
		return err
	}
	bad := 0
	for _, f := range findings {
		if f.Level == doctor.Bad {
			bad++
		}
	}
	if c.Bool("json") {
		if err := screen.PrintJSON(c.App.Writer, findings); err != nil {
			return err
		}
	}
	if bad > 0 {
		return silent{exitFailed}
	}
	return nil
}
