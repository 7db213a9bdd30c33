package plan

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"oarlock/internal/config"
	"oarlock/queue"
)

// Crons are the recurring jobs of the configuration, by name.
func Crons(cfg config.Config) []queue.Cron {
	var crons []queue.Cron
	for _, name := range slices.Sorted(maps.Keys(cfg.Recurring)) {
		r := cfg.Recurring[name]
		crons = append(crons, queue.Cron{
			Name: name, Schedule: r.Schedule(), Zone: r.Zone, Missed: queue.Missed(r.Missed), Overlap: queue.Overlap(r.Overlap),
			CronWork: queue.CronWork{Queue: r.Queue, Klass: r.Klass, Data: []byte(r.Data), Priority: r.Priority, Retries: r.Retries, Tags: r.Tags},
		})
	}
	return crons
}

// Fleet names those who share the configuration, as far as recurring jobs are concerned: who is named there, or this host with this file.
func Fleet(cfg config.Config) string {
	if cfg.Supervisor.Fleet != "" {
		return cfg.Supervisor.Fleet
	}
	name := cfg.Supervisor.Name
	if name == "" {
		name, _ = os.Hostname() // "" will do
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		path = cfg.Path
	}
	return name + ":" + path
}
