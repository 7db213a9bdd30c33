package systemd

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/internal/must"
)

// manager is the socket of a service manager.
func manager(t *testing.T) func() string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn := must.Get(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"}))(t)
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return func() string {
		t.Helper()
		message := make([]byte, 1024)
		conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		n := must.Get(conn.Read(message))(t)
		return string(message[:n])
	}
}

func TestWhatTheManagerIsTold(t *testing.T) {
	next := manager(t)
	for _, tt := range []struct {
		say  func()
		want string
	}{
		{Ready, "READY=1"},
		{Stopping, "STOPPING=1"},
		{func() { Status("%d jobs", 3) }, "STATUS=3 jobs"},
		{func() { Extend(1500 * time.Millisecond) }, "EXTEND_TIMEOUT_USEC=1500000"},
	} {
		tt.say()
		if got := next(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	Reloading()
	if got := next(); !strings.HasPrefix(got, "RELOADING=1\nMONOTONIC_USEC=") || strings.HasSuffix(got, "=0") {
		t.Errorf("got %q", got)
	}
}

func TestWatchdogStarvesWhenTheServiceIsNotAlive(t *testing.T) {
	next := manager(t)
	t.Setenv("WATCHDOG_USEC", "20000")
	ctx, cancel := context.WithCancel(context.Background())
	var alive atomic.Bool
	asked := make(chan struct{}, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		Watchdog(ctx, func() bool { asked <- struct{}{}; return alive.Load() })
	}()
	for range 3 {
		<-asked
	}
	Status("still nothing")
	if got := next(); got != "STATUS=still nothing" {
		t.Errorf("a service that is not alive fed the watchdog: %q", got)
	}
	alive.Store(true)
	if got := next(); got != "WATCHDOG=1" {
		t.Errorf("got %q", got)
	}
	cancel()
	<-done
}

// However long each beat takes, none begins when the service has ended.
func TestTheWatchdogEndsWithTheService(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "nobody"))
	t.Setenv("WATCHDOG_USEC", "2000000")
	for range 20 { // of a beat and the end, select takes any
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			beats := 0
			Watchdog(ctx, func() bool {
				beats++
				time.Sleep(3 * time.Second) // the next is due
				cancel()
				return true
			})
			if beats != 1 {
				t.Fatalf("%d beats, of which one was before the end", beats)
			}
		})
	}
}
