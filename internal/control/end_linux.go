package control

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// End is the end of a supervisor, a process that is not our child. Whoever asked for it closes it.
type End struct {
	fd     int         // of the process; negative if it cannot be seen from here
	listen func() bool // whether somebody still listens where it does
}

// End watches for the end of the supervisor. It is asked for before the supervisor is told to leave: later its
// process id may be another's.
//
// Who listens is asked of the kernel: in a container of its own a supervisor goes by another id than here, or by none.
func (c *Client) End(ctx context.Context) (End, error) {
	number, err := strconv.Atoi(c.PID)
	if err != nil {
		return End{}, fmt.Errorf("%q is no process id", c.PID)
	}
	listen := func() bool {
		conn, err := c.dial(ctx)
		if err != nil {
			return !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, unix.ENOENT)
		}
		return conn.Close() == nil
	}
	if conn, err := c.dial(ctx); err == nil {
		if peer := credOf(conn); peer != nil {
			number = int(peer.Pid)
		}
		conn.Close()
	}
	if number == 0 {
		return End{fd: -1, listen: listen}, nil
	}
	fd, err := unix.PidfdOpen(number, 0)
	if err != nil {
		return End{}, fmt.Errorf("watch process %d: %w", number, err)
	}
	return End{fd, listen}, nil
}

// Close ends the watch.
func (e End) Close() {
	if e.fd >= 0 {
		unix.Close(e.fd)
	}
}

// endingLook bounds how long the end of a context stays unnoticed.
const endingLook = 100 * time.Millisecond

// Await waits until the process has ended, for timeout at most; 0 is for ever. It reports
// whether it has.
func (e End) Await(ctx context.Context, timeout time.Duration) (bool, error) {
	for began := time.Now(); ; {
		wait := endingLook
		if timeout > 0 {
			wait = max(min(wait, timeout-time.Since(began)), 0)
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(e.fd), Events: unix.POLLIN}}, int(wait.Milliseconds())) // a negative one is passed over
		switch {
		case err != nil && err != unix.EINTR:
			return false, fmt.Errorf("watch the process: %w", err)
		case n > 0, e.fd < 0 && !e.listen():
			return true, nil
		case ctx.Err() != nil:
			return false, ctx.Err()
		case timeout > 0 && time.Since(began) >= timeout:
			return false, nil
		}
	}
}
