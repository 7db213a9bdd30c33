package cli

import (
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/logging"
)

// leaveBound is within what a supervisor leaves that has nothing in flight.
const leaveBound = 10 * time.Second

// stuckFile replaces a file by a pipe that nobody writes to.
func stuckFile(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path+".new", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// A configuration that does not answer makes the supervisor deaf to nothing.
func TestAConfigurationThatStandsStill(t *testing.T) {
	s := newScript(t, workFiles)
	p := begin(t, s, "run", "--config", "oarlock.toml")
	p.await(`INFO  ready`)
	stuckFile(t, filepath.Join(s.dir, "oarlock.toml"))
	p.signal(syscall.SIGHUP)
	p.signal(syscall.SIGHUP)
	p.signal(syscall.SIGUSR2)
	p.await("quiet: no more jobs")
	began := time.Now()
	p.signal(syscall.SIGTERM)
	p.leaves(exitOK)
	if took := time.Since(began); took > leaveBound {
		t.Errorf("it took %v to leave", took)
	}
}

// A reload gives up a file that does not answer, and the next one does not wait for it.
func TestAReloadThatStandsStill(t *testing.T) {
	logger, out := slog.Default(), log.Writer() // a service makes its own the program's, which must not outlive the bubble
	defer log.SetOutput(out)
	defer slog.SetDefault(logger)
	synctest.Test(t, func(t *testing.T) {
		logs := logging.New(io.Discard, "text", "info")
		s := newService(logs, config.Log{}, nil)
		free := make(chan struct{})
		s.reread = func() (cfg config.Config, err error) { <-free; return cfg, errors.New("too late") }
		s.cfg.Path = "c.toml"
		began := time.Now()
		if r := s.reload("HUP"); !strings.Contains(r.Refused, "c.toml does not answer") || time.Since(began) != readPatience {
			t.Errorf("after %v: %+v", time.Since(began), r)
		}
		began = time.Now()
		if r := s.reload("HUP"); !strings.Contains(r.Refused, "still being read") || time.Since(began) != 0 {
			t.Errorf("after %v: %+v", time.Since(began), r)
		}
		close(free)
		time.Sleep(time.Second) // it reads twice
		if r := s.reload("HUP"); r.Refused != "too late" {
			t.Errorf("when it answers again: %+v", r)
		}
		logs.Close()
	})
}

// A service manager that reads nothing holds nobody up.
func TestANotifySocketThatStandsStill(t *testing.T) {
	s := newScript(t, workFiles)
	path := filepath.Join(s.dir, "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
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
	p := ready(t, s, "run")
	p.cmd.Env = append(p.cmd.Env, "NOTIFY_SOCKET="+path)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill() })
	p.answers()
	p.signal(syscall.SIGTERM)
	p.ends(leaveBound)
}

// A Redis that takes connections and never answers holds nobody up, nor does an idle child
// that will not go, however long its grace.
func TestARedisAndChildrenThatStandStill(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		s := newScript(t, workFiles)
		deaf, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer deaf.Close() // what is never accepted connects all the same
		p := begin(t, s, "run", "--redis", "redis://"+deaf.Addr().String())
		p.answers()
		p.signal(syscall.SIGTERM)
		p.leaves(exitOK)
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
		p := begin(t, s, "run")
		p.await(`child line=here`)
		began := time.Now()
		p.signal(syscall.SIGTERM)
		p.leaves(exitOK)
		if took := time.Since(began); took > leaveBound {
			t.Errorf("it took %v to leave", took)
		}
	})
}

// Where something stands still that nobody foresaw, a stop gives up.
func TestTheLastResort(t *testing.T) {
	none := func() int { return 0 }
	one := func() int { return 1 }
	minute := func() time.Duration { return time.Minute }
	tests := []struct {
		name     string
		inFlight func() int
		ends     bool
		least    time.Duration
		most     time.Duration
	}{
		{"nothing in flight", none, false, 9 * time.Second, leaveBound},
		{"something in flight", one, false, time.Minute, time.Minute + leaveBound},
		{"all is well", one, true, 0, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan error, 1)
				if tt.ends {
					ended <- nil
				}
				began := time.Now()
				err := lastResort(ended, tt.inFlight, minute)
				if took := time.Since(began); took < tt.least || took > tt.most || (err == nil) != tt.ends {
					t.Errorf("after %v: %v; want between %v and %v", took, err, tt.least, tt.most)
				}
			})
		})
	}
}
