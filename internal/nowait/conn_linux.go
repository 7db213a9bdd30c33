package nowait

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// conn reads and writes by Read and Write, and waits by Go's poller as before.
type conn struct {
	net.Conn
	syscall.RawConn
}

// Conn returns c with reads and writes of this package, if it is a socket of the system;
// else c as it is. Deadlines and all other methods are those of c.
func Conn(c net.Conn) net.Conn {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return c
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return c
	}
	return &conn{c, raw}
}

// SyscallConn lets a pool of connections look whether the peer has hung up, before each
// use. Nearly always it has not and there is nothing to read, which is found out here.
func (c *conn) SyscallConn() (syscall.RawConn, error) { return watched{c.RawConn}, nil }

// watched is a connection on which nobody waits for anything to read.
type watched struct{ syscall.RawConn }

// Read calls f only if f would find something: bytes, the end, or an error.
func (w watched) Read(f func(fd uintptr) (done bool)) error {
	var err error
	var b [1]byte
	if waitErr := w.Control(func(fd uintptr) { _, err = Peek(int(fd), b[:]) }); waitErr != nil {
		return waitErr
	}
	if err == syscall.EAGAIN {
		return nil
	}
	return w.RawConn.Read(f)
}

func (c *conn) Read(b []byte) (n int, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	waitErr := c.RawConn.Read(func(fd uintptr) (done bool) {
		n, err = Read(int(fd), b)
		return err != syscall.EAGAIN
	})
	if waitErr == nil && n == 0 && err == nil {
		err = io.EOF
	}
	return n, c.failure("read", waitErr, err)
}

func (c *conn) Write(b []byte) (n int, err error) {
	waitErr := c.RawConn.Write(func(fd uintptr) (done bool) {
		for n < len(b) {
			var part int
			if part, err = Write(int(fd), b[n:]); err != nil {
				return err != syscall.EAGAIN
			}
			n += part
		}
		return true
	})
	return n, c.failure("write", waitErr, err)
}

// failure is the error that package net would have returned.
func (c *conn) failure(op string, waitErr, err error) error {
	var errno syscall.Errno
	switch {
	case waitErr != nil: // a deadline, or closed
		err = errors.Unwrap(waitErr)
	case err == nil, err == io.EOF:
		return err
	case errors.As(err, &errno):
		err = os.NewSyscallError(op, errno)
	}
	return &net.OpError{Op: op, Net: c.LocalAddr().Network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}
