package cli

import (
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/control"
	"oarlock/internal/doctor"
	"oarlock/internal/plan"
	"oarlock/internal/screen"
	"oarlock/internal/setup"
	"oarlock/internal/show"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
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
	if err := d.Server(c.Context); err != nil {
		return err
	}
	if err := d.Settings(c.Context); err != nil {
		return err
	}
	if err := d.Keys(c.Context); err != nil {
		return err
	}
	if err := d.OldStats(c.Context); err != nil {
		return err
	}
	if err := d.Crons(c.Context); err != nil {
		return err
	}
	if err := d.Unserved(c.Context, poolsOf(c)); err != nil {
		return err
	}
	examineHost(c, d)
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

// poolsOf tells which pools of the configuration work a queue; none, if it cannot be read.
func poolsOf(c *cli.Context) func(string) []string {
	cfg, _ := load(c, config.Options{}) // what is wrong with it is told with the host
	return func(name string) (pools []string) {
		for _, pool := range slices.Sorted(maps.Keys(cfg.Pools)) {
			if queue.MatchAny(cfg.Pools[pool].Queues, name) {
				pools = append(pools, pool)
			}
		}
		return pools
	}
}

// examineHost looks at this host, and at the unit, as far as there is a configuration
// to compare them with.
func examineHost(c *cli.Context, d *doctor.Doctor) {
	host, err := runner.NewHost(runner.HostOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		d.Report(doctor.Finding{Subject: "killing", Level: doctor.Bad, Text: err.Error()})
	} else {
		strength, why := host.KillStrength()
		f := doctor.Finding{Subject: "killing", Level: doctor.OK, Text: "Children are killed with all they started, by " + strength.String() + "."}
		if why != "" {
			f.Level, f.Advice = doctor.Note, "Not stronger: "+why
		}
		d.Report(f)
		defer host.Close() // it has no children
	}
	here := plan.CapacityOf(host)
	cfg, err := load(c, config.Options{})
	if err != nil {
		d.Report(doctor.Finding{Subject: "configuration", Level: doctor.Bad, Text: err.Error(), Advice: "oarlock check"})
		return
	}
	examineCapacity(d, cfg, here)
	for _, text := range here.WatchedMemory(cfg) {
		d.Report(doctor.Finding{Subject: "memory of children", Level: doctor.Warning, Text: text})
	}
	examineRunning(c, d, cfg)
	d.Host(cfg.Supervisor.StatePath())
	text, err := os.ReadFile(c.String("unit"))
	switch {
	case os.IsNotExist(err) && !c.IsSet("unit"), len(cfg.Pools) == 0:
		return
	case err != nil:
		d.Report(doctor.Finding{Subject: "unit", Level: doctor.Bad, Text: err.Error()})
		return
	}
	misfits := setup.Misfits(string(text), cfg)
	for _, misfit := range misfits {
		d.Report(doctor.Finding{Subject: "unit", Level: doctor.Warning, Text: misfit, Advice: "oarlock unit prints one that fits."})
	}
	if len(misfits) == 0 {
		d.Report(doctor.Finding{Subject: "unit", Level: doctor.OK, Text: "It fits the configuration."})
	}
}

// examineCapacity compares the children of a configuration with what this host allows.
func examineCapacity(d *doctor.Doctor, cfg config.Config, here plan.Capacity) {
	told, err := plan.Supervisor(cfg, nil)
	if err != nil {
		return // it was validated; a file has changed since
	}
	f := doctor.Finding{Subject: "room for children", Level: doctor.OK}
	var fits bool
	if f.Text, fits = here.Told(told.Pools); !fits {
		f.Level, f.Advice = doctor.Warning, "Have fewer children, or raise that limit (TasksMax=, LimitNPROC=, LimitNOFILE=, MemoryMax= in the unit)."
	}
	if f.Text != "" {
		d.Report(f)
	}
}

// examineRunning asks the supervisor that runs here, if one does, whether it has run short.
func examineRunning(c *cli.Context, d *doctor.Doctor, cfg config.Config) {
	s, err := control.Find(c.Context, cfg.Supervisor.StatePath(), "")
	if err != nil {
		return // none runs, or several do
	}
	var shot supervisor.Snapshot
	if err := s.Status(c.Context, &shot); err == nil && shot.Short != "" {
		d.Report(doctor.Finding{Subject: "room for children", Level: doctor.Warning, Text: "The supervisor here (pid " + s.PID + ") has run short: " + show.Short(shot.Short) + ".",
			Advice: "Have fewer children, raise that limit, or find who else takes what is short. No job is blamed."})
	}
}
