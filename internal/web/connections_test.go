package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"
)

// healthy says that it lives, and that it is ready.
type healthy struct{}

func (healthy) Alive(w http.ResponseWriter, _ *http.Request)         { w.WriteHeader(http.StatusOK) }
func (healthy) Ready(w http.ResponseWriter, _ *http.Request, _ bool) { w.WriteHeader(http.StatusOK) }

// narrow is an App at a listener that has few places, and the address of that.
func narrow(t *testing.T, proxies []netip.Prefix, most, each, spare int) (*connections, string) {
	t.Helper()
	a := New(Options{Supervisor: aSupervisor(), Log: slog.New(slog.DiscardHandler), Monitor: Monitor{Health: healthy{}}})
	_, line, err := NewToken("anna", "read")
	must.Do(t, err)
	way := doorway{a, &Door{Name: "test", Gate: &Gate{Tokens: tokensOf(t, line), Proxies: proxies}}}
	listener := must.Get(Loopback(t.Context(), "127.0.0.1:0"))(t)
	c := newConnections(listener, way.proxied)
	c.most, c.each, c.spare = most, each, spare
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serveAt(ctx, c, way, nil, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() { stop(); <-done })
	return c, listener.Addr().String()
}

// dial opens a connection, and says something.
func dial(t *testing.T, address, says string) net.Conn {
	t.Helper()
	conn := must.Get(new(net.Dialer).DialContext(t.Context(), "tcp", address))(t)
	t.Cleanup(func() { conn.Close() })
	must.Get(io.WriteString(conn, says))(t)
	return conn
}

// get is the status by a new connection, 0 if that is closed.
func get(t *testing.T, address, path string) int {
	t.Helper()
	conn := dial(t, address, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	must.Do(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	w, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer w.Body.Close()
	return w.StatusCode
}

// counts waits until so many connections are open, so many of them busy.
func (c *connections) counts(t *testing.T, open, busy int) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		n, b := len(c.all), 0
		for one := range c.all {
			if one.busy {
				b++
			}
		}
		c.mu.Unlock()
		if n == open && b == busy {
			return
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("%d connections are open and %d busy, want %d and %d", n, b, open, busy)
		}
	}
}

const slow = "POST /login HTTP/1.1\r\nHost: localhost\r\nX-Oarlock: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"

// Whoever holds connections shuts nobody out: the longest idle one goes for a new one, and where none is idle, whoever asks
// whether we live is answered still, again and again, and others are told to try again.
func TestConnectionsAreHeld(t *testing.T) {
	everywhere := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} // a proxy has any number
	c, address := narrow(t, everywhere, 8, 2, 2)
	var first net.Conn
	for i := range 8 {
		conn := dial(t, address, "")
		if c.counts(t, i+1, 0); i == 0 {
			first = conn
		}
	}
	for range 3 {
		if code := get(t, address, "/api/v1/"); code != http.StatusUnauthorized {
			t.Fatalf("beside idle ones: %d", code)
		}
	}
	must.Do(t, first.SetDeadline(time.Now().Add(time.Minute)))
	if _, err := first.Read(make([]byte, 1)); err == nil {
		t.Error("the longest idle one is still there")
	}

	c, address = narrow(t, everywhere, 8, 2, 2)
	for i := range 8 {
		dial(t, address, slow)
		c.counts(t, i+1, i+1)
	}
	for range 10 {
		answersHealthOnly(t, address)
		dial(t, address, slow) // who holds the spare ones, too
	}
}

// answersHealthOnly is how a listener answers when its connections are all busy.
func answersHealthOnly(t *testing.T, address string) {
	t.Helper()
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusOK, "/api/v1/": http.StatusServiceUnavailable} {
		if code := get(t, address, path); code != want {
			t.Fatalf("%s beside busy connections: %d, want %d", path, code, want)
		}
	}
}

// One address has so many connections, and takes no others' away.
func TestConnectionsOfOneAddress(t *testing.T) {
	c, address := narrow(t, []netip.Prefix{}, 8, 3, 2)
	other, remote := net.Pipe()
	defer remote.Close()
	theirs := c.admit(elsewhere{other})
	for i := range 3 {
		dial(t, address, slow)
		c.counts(t, i+2, i+1)
	}
	for range 5 {
		answersHealthOnly(t, address)
		dial(t, address, slow)
	}
	c.mu.Lock()
	_, there := c.all[theirs]
	c.mu.Unlock()
	if !there {
		t.Error("it went for one of another address")
	}
	theirs.Close()
	c, address = narrow(t, []netip.Prefix{}, 8, 3, 2)
	for i := range 3 {
		dial(t, address, "")
		c.counts(t, i+1, 0)
	}
	if code := get(t, address, "/api/v1/"); code != http.StatusUnauthorized {
		t.Errorf("beside its own idle ones it is answered %d", code)
	}
}

// elsewhere is a connection from another address.
type elsewhere struct{ net.Conn }

func (elsewhere) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.9:7"))
}

// Whoever does not say who that is sends 4 KiB at most, at every route that is open, and keeps none of the places of bodies; nor does
// who has the address of one job.
func TestBodiesOfUnknown(t *testing.T) {
	a, _ := callbacks(t)
	_, line, err := NewToken("anna", "write")
	must.Do(t, err)
	gate := &Gate{Tokens: tokensOf(t, line), Cookie: "c"}
	for _, route := range a.Routes() {
		if route.Right == Open && !route.safe() {
			g := guest{door: &Door{Gate: gate}, shows: []string{"X-Oarlock", "1", "Content-Type", "application/x-www-form-urlencoded"}}
			if w := g.ask(a, route.Method, route.Path, strings.Repeat("x", unknownBody+1)); w.Code != http.StatusRequestEntityTooLarge {
				t.Errorf("%s of %d bytes: %d", route.pattern(), unknownBody+1, w.Code)
			}
		}
	}
	server := httptest.NewServer(a.Handler(&Door{Gate: gate}))
	t.Cleanup(server.Close) // when the connections are closed
	address := server.Listener.Addr().String()
	long := fmt.Sprintf("POST /api/v1/respond/Pay/_?jid=a&token=T-Pay-a&correlation=order-1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\nx", 2*shortBody)
	for range mostBodies {
		dial(t, address, slow)
		dial(t, address, long)
	}
	for begun := time.Now(); len(a.limits.answers) < mostBodies; time.Sleep(time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatalf("%d answers are sent", len(a.limits.answers))
		}
	}
	if n := len(a.limits.bodies); n != 0 {
		t.Errorf("they have %d of the places for bodies", n)
	}
}
