package service

import (
	"os"

	"oarlock/internal/config"
	"oarlock/internal/rollcall"
	"oarlock/queue"
)

// voice is what answers when all supervisors of the namespace are asked how they are.
func (s *Service) voice(cfg config.Config, client *queue.Client) *rollcall.Voice {
	host, _ := os.Hostname() // "" will do
	return &rollcall.Voice{
		Client: client, Snapshot: s.sup.Snapshot, Log: s.log,
		Who:  rollcall.Who{Name: cfg.Supervisor.HostName(), PID: os.Getpid()},
		Host: host, Version: s.options.Version,
	}
}
