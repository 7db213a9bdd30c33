package cli

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/must"
)

// longDrain is longer than these tests wait for a supervisor with nothing in flight, which leaves at once.
const longDrain = "1h"

// stuckFile replaces a file by a pipe that nobody writes to.
func stuckFile(t *testing.T, path string) {
	t.Helper()
	must.Do(t, syscall.Mkfifo(path+".new", 0o600))
	must.Do(t, os.Rename(path+".new", path))
}

// A configuration that does not answer makes the supervisor deaf to nothing.
func TestAConfigurationThatStandsStill(t *testing.T) {
	s := newScript(t, workFiles)
	s.env["OARLOCK_SUPERVISOR_DRAIN_TIMEOUT"] = longDrain
	p := running(t, s, "--config", "oarlock.toml")
	stuckFile(t, filepath.Join(s.dir, "oarlock.toml"))
	p.signal(syscall.SIGHUP)
	p.signal(syscall.SIGHUP)
	p.signal(syscall.SIGUSR2)
	p.await("quiet: no more jobs")
	p.terminate()
}

// A service manager that reads nothing holds nobody up.
func TestANotifySocketThatStandsStill(t *testing.T) {
	s := newScript(t, workFiles)
	path := filepath.Join(s.dir, "notify")
	conn := must.Get(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"}))(t)
	defer conn.Close()
	full, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for err == nil {
		full.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		_, err = full.Write([]byte("x"))
	}
	s.env["OARLOCK_SUPERVISOR_DRAIN_TIMEOUT"] = longDrain
	s.env["NOTIFY_SOCKET"] = path
	p := launchUnread(t, s, nil, "run")
	p.terminate()
}

// A Redis that takes connections and never answers holds nobody up, nor does an idle child
// that will not go, however long its grace.
func TestARedisAndChildrenThatStandStill(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		s := newScript(t, workFiles)
		deaf := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		defer deaf.Close() // what is never accepted connects all the same
		s.env["OARLOCK_SUPERVISOR_DRAIN_TIMEOUT"] = longDrain
		p := launchUnread(t, s, nil, "run", "--redis", "redis://"+deaf.Addr().String())
		p.terminate()
	})
	t.Run("child", func(t *testing.T) {
		s := newScript(t, `
-- oarlock.toml --
[log]
format = "text"
[pools.work]
queues = ["work"]
command = ["sh", "work.sh"]
mode = "reuse"
kill_grace = "5m"
-- work.sh --
trap '' TERM
echo here
while :; do sleep 1; done
`)
		s.env["OARLOCK_SUPERVISOR_DRAIN_TIMEOUT"] = longDrain
		p := begin(t, s, "run")
		p.await(`child line=here`)
		p.terminate()
	})
}
