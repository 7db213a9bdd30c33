// Package systemd tells the service manager how the service is, where there is one. All
// of it does nothing elsewhere.
package systemd

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"
)

// Ready says that the service has started, or has finished a reload.
func Ready() { notify(daemon.SdNotifyReady) }

// Stopping says that the service is on its way out.
func Stopping() { notify(daemon.SdNotifyStopping) }

// Reloading says that a reload has begun; Ready must follow.
func Reloading() {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // cannot fail with that clock
	notify(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", daemon.SdNotifyReloading, now.Nano()/1000))
}

// Status sets the line that `systemctl status` shows.
func Status(format string, args ...any) { notify("STATUS=" + fmt.Sprintf(format, args...)) }

// Extend asks for more time, from now, to start or to stop.
func Extend(d time.Duration) { notify(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", d.Microseconds())) }

// Watchdog feeds the watchdog, if the unit has one, at half of its interval and only
// while alive says so, until ctx ends.
func Watchdog(ctx context.Context, alive func() bool) {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil || interval == 0 {
		return
	}
	ticker := time.NewTicker(interval / 2)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			// With a manager that does not read, a tick is always there, too.
			if ctx.Err() == nil && alive() {
				notify(daemon.SdNotifyWatchdog)
			}
		}
	}
}

// notifyWait bounds how long a manager whose socket is full may hold us up.
const notifyWait = time.Second

// notify sends a state. A manager that does not listen is no reason to fail, or to wait.
func notify(state string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetWriteDeadline(time.Now().Add(notifyWait))
	_, _ = conn.Write([]byte(state))
}
