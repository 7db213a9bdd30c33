package service

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/control"
	"oarlock/internal/rollcall"
	"oarlock/internal/web"
	"oarlock/queue"
	"oarlock/supervisor"
)

// newWeb makes what answers over HTTP, with a connection to Redis of its own.
func (s *Service) newWeb(cfg config.Config, redis *queue.Client) *web.App {
	return web.New(web.Options{
		Redis: redis, Supervisor: steered{s}, Log: s.log, Version: s.options.Version, Host: cfg.Supervisor.HostName(),
		Prefix: cfg.Web.Prefix, Hub: s.hub, Census: s.census, Others: s.others(cfg, redis), Redactor: WebRedactor(cfg.Web), MaxStreams: cfg.Web.MaxStreams,
		Klasses: func() map[string]config.Klass { return s.config().Klass },
		Monitor: s.monitor(cfg.Metrics), Rules: s.rules.File, Disagrees: s.disagrees, Risk: cfg.Web.Risk(),
		Callback: func(klass, jid, token string) bool { return s.secrets.Load().Good(klass, jid, token) },
	})
}

// learnSecrets reads by what addresses for answers are signed. After an error the old ones count.
func (s *Service) learnSecrets(p config.Park) error {
	secrets, err := p.Secrets()
	if err == nil {
		s.secrets.Store(&secrets)
	}
	return err
}

// others asks the other supervisors; nil: nobody is asked.
func (s *Service) others(cfg config.Config, redis *queue.Client) web.Others {
	if !cfg.Web.RollCall {
		return nil
	}
	return rollcall.New(redis)
}

// controlDoor is the control socket: who may connect to it is this user, or root, and may everything.
func controlDoor() *web.Door {
	return &web.Door{
		Name: "control socket", Profiles: true,
		Who: func(r *http.Request) web.Caller {
			peer := control.PeerOf(r.Context())
			return web.All(fmt.Sprintf("uid %d, pid %d", peer.UID, peer.PID))
		},
	}
}

// refuse returns why a process may not use the control socket, or "". A process of a job may not, unless its pool has socket = true:
// allow and next_queues would not bind it. Neither may a process that has ended: it may have handed on its connection, and what it
// was can no longer be proved.
func (s *Service) refuse(peer control.Peer) string {
	if peer.Gone() {
		return "the process that connected has ended, so nobody can tell whether it may"
	}
	pool, is := s.host.ChildOf(peer.PID)
	if !is || s.config().Pools[pool].Socket {
		return ""
	}
	if n, worth := s.refusals.add(time.Now()); worth {
		s.log.Warn("a job's process tried to use the control socket", "pool", pool, "pid", peer.PID, "times", n)
	}
	return fmt.Sprintf("this process belongs to a job of pool %s, and jobs may not use the control socket; set socket = true in the pool if they are to", cmp.Or(pool, "(it has ended)"))
}

// refusals counts connections that were refused, so that a job cannot flood the log. The zero value is ready.
type refusals struct {
	mu    sync.Mutex
	n     int       // since the last line
	quiet time.Time // until then there is no line
}

// refusalsEach is the least time between two lines about refused connections.
const refusalsEach = 10 * time.Second

// add counts one at now. It returns how many there were since the last line, and whether this is worth one.
func (r *refusals) add(now time.Time) (n int, worth bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	if now.Before(r.quiet) {
		return r.n, false
	}
	n, r.n, r.quiet = r.n, 0, now.Add(refusalsEach)
	return n, true
}

// Page is where a service answers browsers unless its configuration says where.
type Page struct {
	Address string               // on loopback; where it is taken, another port will do
	Ready   func(address string) // is told what to open, which lets in who opens it
}

// webDoor is the part that answers at the door of the configuration, or of Options.Page; nil where there is none. The error is
// config.Problems.
func (s *Service) webDoor(cfg config.Web) (part, error) {
	if cfg.Listen == "" && s.options.Page == nil {
		return nil, nil
	}
	if cfg.Listen == "" {
		return func(ctx context.Context) error { return s.page(ctx, *s.options.Page) }, nil
	}
	door, certificate, err := WebDoor(cfg, s.log)
	if err != nil {
		return nil, err
	}
	if risk := cfg.Risk(); risk != "" {
		s.log.Warn(risk)
	}
	return func(ctx context.Context) error {
		listener, err := listenWeb(ctx, cfg.Listen)
		if err != nil {
			return err
		}
		s.log.Info("answering over HTTP", "at", listener.Addr(), "auth", cfg.Auth)
		return s.answer(ctx, listener, door, certificate)
	}, nil
}

// monitorDoor answers scrapers and orchestrators at where, and nobody else.
func (s *Service) monitorDoor(ctx context.Context, where string) error {
	listener, err := listenWeb(ctx, where)
	if err != nil {
		return err
	}
	s.log.Info("answering scrapers", "at", listener.Addr())
	return s.answer(ctx, listener, web.MonitorDoor(where), nil)
}

// page answers on loopback who has the address with the key.
func (s *Service) page(ctx context.Context, p Page) error {
	listener, err := web.Loopback(ctx, p.Address)
	if err != nil {
		return err
	}
	key := web.NewKey("whoever has its address", false)
	address := listener.Addr().String()
	p.Ready(key.Address("http://" + address + s.config().Web.Prefix))
	return s.answer(ctx, listener, LoopbackDoor(address, key), nil)
}

func (s *Service) answer(ctx context.Context, listener net.Listener, door *web.Door, certificate *tls.Config) error {
	return web.Serve(ctx, listener, s.web.Handler(door), certificate, s.log)
}

// listenWeb listens where a key of [web] says. A socket that a process left which is gone is removed.
func listenWeb(ctx context.Context, where string) (net.Listener, error) {
	network, address := config.NetworkOf(where)
	var listening net.ListenConfig
	if network != "unix" {
		return listening.Listen(ctx, network, address)
	}
	if info, err := os.Lstat(address); err == nil && info.Mode().Type() == fs.ModeSocket {
		if conn, err := new(net.Dialer).DialContext(ctx, network, address); err == nil {
			conn.Close()
			return nil, fmt.Errorf("somebody answers at %s already", address)
		}
		if err := os.Remove(address); err != nil {
			return nil, err
		}
	}
	listener, err := listening.Listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(address, 0o660); err != nil { // for the group of a proxy
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// steered is a service as the web asks for it.
type steered struct{ *Service }

func (s steered) Snapshot() supervisor.Snapshot { return s.sup.Snapshot() }

func (s steered) Status(shot supervisor.Snapshot) any { return s.status(shot) }

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

func (s steered) QuietPool(pool string) error { return s.sup.QuietPool(pool) }

func (s steered) ResumePool(pool string) error { return s.sup.ResumePool(pool) }

func (s steered) RecycleSlot(pool string, slot int) error { return s.sup.RecycleSlot(pool, slot) }

func (s steered) StopRun(pool, run string) error { return s.sup.StopRun(pool, run) }

func (s steered) AbandonRoll(pool string) error { return s.sup.AbandonRoll(pool) }

func (s steered) Scale(_ context.Context, pool string, children int) error {
	return s.Service.Scale(pool, children)
}

func (s steered) Recycle(_ context.Context, pool string) error { return s.Service.Recycle(pool) }
