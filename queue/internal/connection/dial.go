package connection

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"time"

	"oarlock/internal/nowait"
)

// dialer is how the driver gets its connections.
//
// A failed attempt yields a connection, too: one on which everything fails, for the reason
// that the attempt did. If the driver knew of failures, it would after some of them dial by
// itself once a second, for each of its pools, and answer callers with old errors meanwhile.
// When to try again is up to whoever makes the call.
func dialer(o Config, secure *tls.Config, epoch *epoch) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := o.Dialer
	if dial == nil {
		dial = (&net.Dialer{Timeout: o.ReadTimeout, KeepAlive: 5 * time.Minute}).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err == nil {
			conn = nowait.Conn(conn)
		}
		if err == nil && secure != nil {
			conn, err = shakeHands(ctx, conn, addr, secure)
		}
		if err != nil {
			return failedConn{&DialError{addr, reason(err)}}, nil
		}
		return patient(conn, o.ReadTimeout, epoch), nil
	}
}

// shakeHands makes a connection a secure one, or closes it.
func shakeHands(ctx context.Context, conn net.Conn, addr string, config *tls.Config) (net.Conn, error) {
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

// DialError says that there is no connection, and so nothing was sent. It does not unwrap,
// because the driver would take it off.
type DialError struct {
	addr string
	err  error
}

// Error tells the address and the reason.
func (e *DialError) Error() string { return "connect to " + e.addr + ": " + e.err.Error() }

// reason takes off what a DialError says itself.
func reason(err error) error {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "dial" {
		return err
	}
	var call *os.SyscallError
	if errors.As(op.Err, &call) {
		return call.Err
	}
	return op.Err
}

// failedConn is a connection that could not be made.
type failedConn struct{ err error }

func (c failedConn) Read([]byte) (int, error)         { return 0, c.err }
func (c failedConn) Write([]byte) (int, error)        { return 0, c.err }
func (c failedConn) Close() error                     { return nil }
func (c failedConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c failedConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c failedConn) SetDeadline(time.Time) error      { return nil }
func (c failedConn) SetReadDeadline(time.Time) error  { return nil }
func (c failedConn) SetWriteDeadline(time.Time) error { return nil }
