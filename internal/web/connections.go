package web

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// How many connections a listener has open at a time, how many of them one address, and how many more for those who ask whether we
// live.
const (
	mostConnections = 2048
	mostPerAddress  = 512
	mostSpare       = 64
)

// connections is a listener that never stops accepting. Where it has as many connections as it may, the one that has been idle for
// longest goes; where none is idle, the new one is spare: it may ask whether we live, and goes if there are too many of its kind.
// Of an address with too many its own idle ones go, and its spare ones are few.
type connections struct {
	net.Listener
	exempt func(*http.Request) bool // reports whether an address may have any number, as that of a proxy; nil: none may

	most, each, spare int

	mu  sync.Mutex
	all map[*connection]struct{}
}

// connection is one of them. Its fields are guarded by connections.mu.
type connection struct {
	net.Conn
	of      *connections
	address string // "" counts for none
	spare   bool
	busy    bool      // a request is under way
	since   time.Time // when it was accepted, or became idle
}

func newConnections(l net.Listener, exempt func(*http.Request) bool) *connections {
	return &connections{Listener: l, exempt: exempt, most: mostConnections, each: mostPerAddress, spare: mostSpare, all: map[*connection]struct{}{}}
}

func (c *connections) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return c.admit(conn), nil
}

// admit gives a new connection a place, for which another one may have to go.
func (c *connections) admit(conn net.Conn) *connection {
	one := &connection{Conn: conn, of: c, address: c.counted(conn), since: time.Now()}
	c.mu.Lock()
	var usual, spare, same, sameSpare int
	for other := range c.all {
		from := other.address == one.address
		switch {
		case other.spare && from:
			spare, sameSpare = spare+1, sameSpare+1
		case other.spare:
			spare++
		case from:
			usual, same = usual+1, same+1
		default:
			usual++
		}
	}
	mine := func(o *connection) bool { return o.address == one.address }
	var leaves *connection
	switch {
	case one.address != "" && same >= c.each:
		leaves = c.oldest(func(o *connection) bool { return !o.busy && !o.spare && mine(o) })
		one.spare = leaves == nil
	case usual >= c.most:
		leaves = c.oldest(func(o *connection) bool { return !o.busy && !o.spare })
		one.spare = leaves == nil
	}
	switch {
	case !one.spare:
	case one.address != "" && sameSpare >= max(c.spare/4, 1):
		leaves = c.oldest(func(o *connection) bool { return o.spare && mine(o) })
	case spare >= c.spare:
		leaves = c.oldest(func(o *connection) bool { return o.spare })
	}
	if leaves != nil {
		delete(c.all, leaves)
	}
	c.all[one] = struct{}{}
	c.mu.Unlock()
	if leaves != nil {
		leaves.Conn.Close()
	}
	return one
}

// oldest is the one that has been as it is for longest, of some; nil if there is none. The caller holds mu.
func (c *connections) oldest(of func(*connection) bool) *connection {
	var oldest *connection
	for one := range c.all {
		if of(one) && (oldest == nil || one.since.Before(oldest.since)) {
			oldest = one
		}
	}
	return oldest
}

// counted is the address by which a connection is counted, "" if it may have any number.
func (c *connections) counted(conn net.Conn) string {
	remote := conn.RemoteAddr().String()
	if _, err := netip.ParseAddrPort(remote); err != nil || c.exempt != nil && c.exempt(&http.Request{RemoteAddr: remote}) {
		return ""
	}
	return networkOf(remote)
}

func (o *connection) Close() error {
	o.of.mu.Lock()
	delete(o.of.all, o)
	o.of.mu.Unlock()
	return o.Conn.Close()
}

// state is for http.Server.ConnState.
func (c *connections) state(conn net.Conn, is http.ConnState) {
	if one := connectionOf(conn); one != nil && (is == http.StateActive || is == http.StateIdle) {
		c.mu.Lock()
		one.busy, one.since = is == http.StateActive, time.Now()
		c.mu.Unlock()
	}
}

// connectionOf is the connection of ours below another one; nil if there is none.
func connectionOf(conn net.Conn) *connection {
	if secure, is := conn.(*tls.Conn); is {
		conn = secure.NetConn()
	}
	one, _ := conn.(*connection)
	return one
}

// spareKey is under what the context of a connection says that it is spare.
type spareKey struct{}

// context is for http.Server.ConnContext.
func (c *connections) context(ctx context.Context, conn net.Conn) context.Context {
	one := connectionOf(conn)
	return context.WithValue(ctx, spareKey{}, one != nil && one.spare)
}

// isSpare reports whether a request came by a spare connection.
func isSpare(r *http.Request) bool {
	spare, _ := r.Context().Value(spareKey{}).(bool)
	return spare
}
