package service

import (
	"fmt"
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
		Host: host, Version: s.options.Version, URL: cfg.Web.URL, Tail: s.tail, Disagrees: s.disagrees,
	}
}

// tail is what the children of a slot printed last, without secrets, for somebody on another host.
func (s *Service) tail(pool string, slot, lines int) ([]rollcall.Line, error) {
	kept := s.hub.Lines(pool, slot, 0, lines)
	if len(kept) == 0 {
		return nil, fmt.Errorf("nothing that slot %d of pool %s printed is kept here", slot, pool)
	}
	redactor := s.redactor.Load()
	told := make([]rollcall.Line, len(kept))
	for i, l := range kept {
		text, _ := redactor.Line(l.Text)
		told[i] = rollcall.Line{At: l.At, Stream: l.Stream, Level: l.Level, JID: l.JID, Text: text}
	}
	return told, nil
}
