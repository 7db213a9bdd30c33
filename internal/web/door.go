package web

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Proof is how somebody showed who that is.
type Proof int

// The proofs. A browser sends along all but ByBearer without being asked to by our page.
const (
	ByDoor   Proof = iota + 1 // whoever comes by this door may
	ByBearer                  // Authorization: Bearer
	ByBasic                   // Authorization: Basic
	ByCookie                  // what login left
	ByProxy                   // a header of a proxy
)

// Door is one way in, and who may come by it. It must not be changed once it is in use.
type Door struct {
	Name string // for the audit: "control socket"
	// Who says who comes by a door that only those can reach who may everything; no browser can, so that names and
	// origins are not asked. Nil where Gate says it.
	Who  func(*http.Request) Caller
	Gate *Gate

	// Monitor is a door by which nothing can be asked but how the supervisor is, as monitorRoutes say.
	Monitor bool

	Profiles bool     // of this process may be taken, by who may everything
	ReadOnly bool     // nobody who comes by it may change anything
	Hosts    []string // by which names it is reached, beside localhost and addresses
	Origins  []string // from which pages of ours come, as Origin has them, beside the one at which a request came in
}

// who says who asks.
func (d *Door) who(r *http.Request) (Caller, Proof, error) {
	if d.Who != nil {
		return d.Who(r), ByDoor, nil
	}
	return d.Gate.Who(r)
}

// program is who asks, if it is a program: who shows a token as such, or, where everybody may come in, anybody but a page of others.
func (d *Door) program(r *http.Request) (Caller, error) {
	if d.Gate.All == "" {
		return d.Gate.bearer(r)
	}
	if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		if err := d.sameOrigin(r, ByDoor); err != nil {
			return Caller{}, err
		}
	}
	return All(d.Gate.All), nil
}

// MonitorDoor is a door at an address for scrapers and orchestrators, who are not asked who they are.
func MonitorDoor(address string) *Door {
	return &Door{Name: address, Monitor: true, ReadOnly: true, Who: func(*http.Request) Caller { return Caller{Name: "whoever scrapes", Read: true} }}
}

// Handler is the App by way of a door.
func (a *App) Handler(d *Door) http.Handler { return doorway{a, d} }

// doorway is an App by way of a door.
type doorway struct {
	app  *App
	door *Door
}

func (d doorway) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.app.serve(d.door, w, r) }

// proxied reports whether a request comes from a proxy of the door, which has the connections of many.
func (d doorway) proxied(r *http.Request) bool { return d.door.Gate != nil && d.door.Gate.believes(r) }

// readOnlyHeader takes the right to change anything from a request: `oarlock web --read-only` sends it to the supervisor.
const readOnlyHeader = "X-Oarlock-Read-Only"

// How long a client may take, and how much it may send.
const (
	headerPatience = 5 * time.Second
	bodyPatience   = 30 * time.Second
	writePatience  = 30 * time.Second // for all of an answer but a stream
	idlePatience   = 60 * time.Second
	leavePatience  = time.Second
	mostHeader     = 32 << 10
	defaultBody    = 1 << 20
	unknownBody    = 4 << 10 // of a caller without a token or session
)

// Loopback listens at an address of this host, or, where its port is taken, at any other one.
func Loopback(ctx context.Context, address string) (net.Listener, error) {
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", address)
	if err == nil {
		return listener, nil
	}
	host, _, wrong := net.SplitHostPort(address)
	if wrong != nil {
		return nil, err
	}
	return listening.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
}

// Serve answers at a listener, which it closes, until ctx ends; by TLS where a configuration is given. Requests under way have
// a second to end. What a client did wrong on the way is told to log at level debug.
func Serve(ctx context.Context, listener net.Listener, h http.Handler, certificate *tls.Config, log *slog.Logger) error {
	var exempt func(*http.Request) bool
	if way, is := h.(doorway); is {
		exempt = way.proxied
	}
	return serveAt(ctx, newConnections(listener, exempt), h, certificate, log)
}

// serveAt is Serve at a listener that counts.
func serveAt(ctx context.Context, listener *connections, h http.Handler, certificate *tls.Config, log *slog.Logger) error {
	server := &http.Server{
		ConnState: listener.state, ConnContext: listener.context,
		Handler: h, ReadHeaderTimeout: headerPatience, IdleTimeout: idlePatience, MaxHeaderBytes: mostHeader,
		TLSConfig: certificate, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	done := make(chan error, 1)
	go func() {
		if certificate != nil {
			done <- server.ServeTLS(listener, "", "")
		} else {
			done <- server.Serve(listener)
		}
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leavePatience)
	defer cancel()
	err := server.Shutdown(ctx)
	<-done
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	}
	return err
}
