package service

import (
	"context"
	"fmt"
	"net/http"

	"oarlock/internal/control"
	"oarlock/internal/web"
	"oarlock/queue"
	"oarlock/supervisor"
)

// newWeb makes what answers over HTTP, with a connection to Redis of its own.
func (s *Service) newWeb(redis *queue.Client) *web.App {
	return web.New(web.Options{
		Redis: redis, Supervisor: steered{s}, Log: s.log, Version: s.options.Version, Host: s.config().Supervisor.HostName(),
	})
}

// controlDoor is the control socket: who may connect to it is this user, or root, and may everything.
func controlDoor() *web.Door {
	return &web.Door{
		Name: "control socket", Private: true,
		Who: func(r *http.Request) (web.Caller, web.Proof, error) {
			peer := control.PeerOf(r.Context())
			return web.All(fmt.Sprintf("uid %d, pid %d", peer.UID, peer.PID)), web.ByDoor, nil
		},
	}
}

// steered is a service as the web asks for it.
type steered struct{ *Service }

func (s steered) Snapshot() supervisor.Snapshot { return s.sup.Snapshot() }

func (s steered) Status() any { return s.Service.Status() }

func (s steered) Reload(by string) any { return s.Service.Reload(by) }

func (s steered) Do(_ context.Context, verb string) error {
	switch verb {
	case "quiet":
		s.Quiet()
	case "resume":
		s.Resume()
	case "drain":
		s.Drain()
	case "stop":
		s.Stop()
	default:
		return fmt.Errorf("there is no verb %s", verb)
	}
	return nil
}

func (s steered) Scale(_ context.Context, pool string, children int) error {
	return s.Service.Scale(pool, children)
}

func (s steered) Recycle(_ context.Context, pool string) error { return s.Service.Recycle(pool) }
