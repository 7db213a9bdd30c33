package service

import (
	"context"

	"oarlock/internal/control"
)

// socket is a service as the control socket asks for it.
type socket struct{ *Service }

func (s socket) Asked(verb string, by control.Peer) {
	s.log.Info("asked over the control socket", "to", verb, "pid", by.PID, "uid", by.UID)
}

func (s socket) Status() any { return s.Service.Status() }

func (s socket) Reload() any { return s.Service.Reload("the command") }

func (s socket) Output(ctx context.Context, jid string, attempt int, run string) (any, error) {
	return s.Service.Output(ctx, jid, attempt, run)
}
