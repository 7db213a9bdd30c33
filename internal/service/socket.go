package service

import (
	"context"
	"time"

	"oarlock/internal/control"
)

// socket is a service as the control socket asks for it.
type socket struct{ *Service }

func (s socket) Asked(verb string, by control.Peer) {
	s.log.Info("asked over the control socket", "to", verb, "pid", by.PID, "uid", by.UID)
}

// Status is how the service is. A command that asks can wait for the loop of a busy pool: nothing would be told of that.
func (s socket) Status() any { return s.Service.status(s.sup.SnapshotWithin(statusWait)) }

// statusWait is less than a client waits.
const statusWait = 5 * time.Second

func (s socket) Reload() any { return s.Service.Reload("the command") }

func (s socket) Output(ctx context.Context, jid string, attempt int, run string) (any, error) {
	return s.Service.Output(ctx, jid, attempt, run)
}
