package connection

import (
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// slowest is the rate, in bytes per second, below which a connection counts as broken.
	slowest = 256 << 10
	// portion is after how many bytes a deadline is moved: calls that carry less have the deadline they were given.
	portion = 64 << 10
	// inBuffers is how much of what was sent may still lie in buffers of the system when a write returns.
	inBuffers = 4 << 20
)

// patientConn is a connection whose deadlines move while bytes flow. A call may take the timeout and the time that its bytes need at
// the slowest rate; it fails as soon as nothing came for the timeout. One goroutine may read while another writes.
type patientConn struct {
	net.Conn
	timeout time.Duration // of a call that carries little
	epoch   *epoch
	made    time.Time
	read    flow
	write   flow
	sent    atomic.Int64 // bytes of the call that was written last
}

// flow is one direction of a connection, since its deadline was set.
type flow struct {
	limit time.Time // the deadline; zero: there is none, or it is shorter than the timeout, by the context of the call, and does not move
	bytes int       // moved since
	moved int       // of these, those by which the deadline was moved
}

// set notes a new deadline. The driver's has the wall clock only, which may step: f.limit has the monotonic one as well.
func (f *flow) set(limit time.Time, timeout time.Duration) {
	*f = flow{}
	now := time.Now()
	if left := limit.Sub(now); !limit.IsZero() && left > timeout/4*3 { // the driver's clock may lag by some milliseconds
		f.limit = now.Add(left)
	}
}

// carried counts n bytes and returns the deadline that they earn, if it is another.
func (f *flow) carried(n int, timeout time.Duration) (limit time.Time, moves bool) {
	f.bytes += n
	if f.bytes-f.moved < portion || f.limit.IsZero() {
		return limit, false
	}
	f.moved = f.bytes
	limit, soon := f.limit.Add(time.Duration(f.bytes)*time.Second/slowest), time.Now().Add(timeout)
	if soon.Before(f.limit) {
		soon = f.limit
	}
	if soon.Before(limit) {
		limit = soon
	}
	return limit, true
}

// patient gives a connection that carries large calls the time for them.
func patient(conn net.Conn, timeout time.Duration, epoch *epoch) net.Conn {
	return &patientConn{Conn: conn, timeout: timeout, epoch: epoch, made: time.Now()}
}

func (c *patientConn) SetDeadline(t time.Time) error {
	c.sent.Store(0)
	c.read.set(t, c.timeout)
	c.write.set(t, c.timeout)
	return c.Conn.SetDeadline(t)
}

// SetWriteDeadline begins a call.
func (c *patientConn) SetWriteDeadline(t time.Time) error {
	c.sent.Store(0)
	c.write.set(t, c.timeout)
	return c.Conn.SetWriteDeadline(t)
}

// SetReadDeadline allows for what the server has yet to receive of a large call.
func (c *patientConn) SetReadDeadline(t time.Time) error {
	c.read.set(t, c.timeout)
	if sent := min(c.sent.Load(), inBuffers); sent >= portion && !c.read.limit.IsZero() {
		t = c.read.limit.Add(time.Duration(sent) * time.Second / slowest)
		c.read.limit = t
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *patientConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if limit, moves := c.read.carried(n, c.timeout); moves && err == nil {
		err = c.Conn.SetReadDeadline(limit)
	}
	return n, err
}

func (c *patientConn) Write(b []byte) (written int, err error) {
	for {
		n, err := c.Conn.Write(b[:min(len(b), portion)])
		written, b = written+n, b[n:]
		c.sent.Add(int64(n))
		if limit, moves := c.write.carried(n, c.timeout); moves && err == nil {
			err = c.Conn.SetWriteDeadline(limit)
		}
		if err != nil || len(b) == 0 {
			return written, err
		}
	}
}

// SyscallConn lets the driver look before each use whether the peer has hung up. It does not use an old connection.
func (c *patientConn) SyscallConn() (syscall.RawConn, error) {
	if c.epoch.isOver(c.made) {
		return nil, errOld
	}
	if socket, ok := c.Conn.(syscall.Conn); ok {
		return socket.SyscallConn()
	}
	return opaque{}, nil
}

// opaque is a connection into which one cannot look: it passes for sound.
type opaque struct{ syscall.RawConn }

func (opaque) Read(func(fd uintptr) (done bool)) error { return nil }
