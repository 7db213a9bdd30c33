package doctor

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/control"
	"oarlock/internal/plan"
	"oarlock/internal/setup"
	"oarlock/runner"
	"oarlock/supervisor"
)

// Place is what a doctor examines beside Redis.
type Place struct {
	Config    func() (config.Config, error) // reads the configuration
	Warnings  func(config.Config) []string  // what is no mistake in it and may become one, with the remedy; nil: nothing
	Unit      string                        // the file of the systemd unit
	UnitNamed bool                          // the unit must be there
}

// Examine looks at Redis, at its keys and at the place. It returns the error of a Redis that does not answer; what it
// finds is reported.
func (d *Doctor) Examine(ctx context.Context, p Place) error {
	cfg, _ := p.Config() // what is wrong with it is told with the host
	if err := d.Redis(ctx, func(queue string) []string { return plan.Working(cfg, queue) }, plan.Lists(cfg)); err != nil {
		return err
	}
	d.here(ctx, p)
	return nil
}

// Redis looks at Redis and at all that is kept in it, and nowhere else. worked tells which pools of the configuration here
// work a queue, lists which lists are worked here, as of Lists. It returns the error of a Redis that does not answer.
func (d *Doctor) Redis(ctx context.Context, worked func(queue string) []string, lists map[string]time.Duration) error {
	for _, look := range []func(context.Context) error{d.Needs, d.Server, d.Settings, d.Keys, d.Rules, d.OldStats, d.Crons} {
		if err := look(ctx); err != nil {
			return err
		}
	}
	return errors.Join(d.Lists(ctx, lists), d.Unserved(ctx, worked))
}

// here looks at this host, and at the unit, as far as there is a configuration to compare them with.
func (d *Doctor) here(ctx context.Context, p Place) {
	host, err := runner.NewHost(runner.HostOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		d.found(Bad, "killing", "", "%v", err)
	} else {
		d.killing(host)
		defer host.Close() // it has no children
	}
	here := plan.CapacityOf(host)
	cfg, err := p.Config()
	if err != nil {
		d.found(Bad, "configuration", "oarlock check", "%v", err)
		return
	}
	if p.Warnings != nil {
		for _, text := range p.Warnings(cfg) {
			d.found(Warning, "configuration", "", "%s", text)
		}
	}
	d.capacity(cfg, here)
	for _, text := range here.WatchedMemory(cfg) {
		d.found(Warning, "memory of children", "", "%s", text)
	}
	d.running(ctx, cfg)
	d.Host(cfg.Supervisor.StatePath())
	d.unit(p, cfg)
}

// killing says how children would be killed.
func (d *Doctor) killing(host *runner.Host) {
	strength, why := host.KillStrength()
	f := Finding{Subject: "killing", Level: OK, Text: "Children are killed with all they started, by " + strength.String() + "."}
	if why != "" {
		f.Level, f.Advice = Note, "Not stronger: "+why
	}
	d.Report(f)
}

// unit compares the systemd unit with the configuration.
func (d *Doctor) unit(p Place, cfg config.Config) {
	text, err := os.ReadFile(p.Unit)
	switch {
	case os.IsNotExist(err) && !p.UnitNamed, len(cfg.Pools) == 0:
		return
	case err != nil:
		d.found(Bad, "unit", "", "%v", err)
		return
	}
	misfits := setup.Misfits(string(text), cfg)
	for _, misfit := range misfits {
		d.found(Warning, "unit", "oarlock unit prints one that fits.", "%s", misfit)
	}
	if len(misfits) == 0 {
		d.found(OK, "unit", "", "It fits the configuration.")
	}
}

// capacity compares the children of a configuration with what this host allows.
func (d *Doctor) capacity(cfg config.Config, here plan.Capacity) {
	f := Finding{Subject: "room for children", Level: OK}
	var fits bool
	if f.Text, fits = here.Needs(cfg); !fits {
		f.Level, f.Advice = Warning, "Have fewer children, or raise that limit (TasksMax=, LimitNPROC=, LimitNOFILE=, MemoryMax= in the unit)."
	}
	if f.Text != "" {
		d.Report(f)
	}
}

// running asks the supervisor that runs here, if one does, whether it has run short.
func (d *Doctor) running(ctx context.Context, cfg config.Config) {
	s, err := control.Find(ctx, cfg.Supervisor.StatePath(), "")
	if err != nil {
		return // none runs, or several do
	}
	var shot supervisor.Snapshot
	if err := s.Status(ctx, &shot); err == nil && shot.Short != "" {
		d.found(Warning, "room for children", "Have fewer children, raise that limit, or find who else takes what is short. No job is blamed.",
			"The supervisor here (pid %s) has run short: %s.", s.PID, shot.ShortWords())
	}
}
