// Package redistest gives a test a Redis: a database on the server that all tests of the process share, or a
// private redis-server, on a unix socket in a short directory of its own, gone when the test ends.
package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is a redis-server that belongs to one test. Its methods fail the test
// rather than return an error, and may be called from any goroutine of it.
type Server struct {
	URL  string // unix://…, for queue.Open and redis.ParseURL
	Addr string // path of the unix socket

	t      testing.TB
	dir    string
	args   []string
	shared bool // by all tests of the process
	db     int

	mu   sync.Mutex
	cmd  *exec.Cmd
	gone chan struct{} // closed when cmd was reaped
}

// startTimeout bounds the wait for a server to answer; loading a large append-only
// file is part of it.
const startTimeout = time.Minute

// AOF makes the server keep its data over Restart and Kill.
var AOF = []string{"--appendonly", "yes", "--appendfsync", "everysec"}

// InMemory are arguments by which a server keeps what it writes in memory until the test ends, if the machine has such a
// place with room: for a server that is killed while it works. To a disk that is busy it writes late, or slowly.
func InMemory(t testing.TB) []string {
	const place, room = "/dev/shm", 512 << 20
	var fs syscall.Statfs_t
	if syscall.Statfs(place, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < room {
		return nil
	}
	dir, err := os.MkdirTemp(place, "oar")
	if err != nil {
		return nil
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return []string{"--dir", dir}
}

// Start runs redis-server with args added to its command line and waits until it
// answers. It keeps nothing on disk unless AOF is among args.
//
// Without a redis-server on the machine ($REDIS_SERVER, else from PATH) the test is
// skipped; with REQUIRE_ALL=1 in the environment it fails.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	require(t)
	// Not t.TempDir: with the name of the test in it, a path soon exceeds what a
	// unix socket may have (107 bytes).
	dir, err := os.MkdirTemp("", "oar")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, dir: dir, args: args, Addr: filepath.Join(dir, "r.sock")}
	s.URL = "unix://" + s.Addr
	t.Cleanup(func() {
		s.Kill()
		os.RemoveAll(dir)
	})
	s.start()
	return s
}

// require skips or fails the test if the machine has no redis-server.
func require(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath(program()); err != nil {
		const hint = "redis-server not found: install it (apt install redis-server) or set REDIS_SERVER"
		if os.Getenv("REQUIRE_ALL") == "1" {
			t.Fatal(hint)
		}
		t.Skip("SKIPPED " + hint)
	}
}

// arguments are the command line of a server that listens on the socket addr.
func arguments(addr, dir string, more ...string) []string {
	return append([]string{
		program(), "--port", "0", "--unixsocket", addr, "--dir", dir, "--save", "", "--daemonize", "no",
		"--maxmemory-policy", "noeviction",
	}, more...)
}

func program() string {
	if path := os.Getenv("REDIS_SERVER"); path != "" {
		return path
	}
	return "redis-server"
}

// Client returns a plain client of the server, closed when the test ends.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	c := redis.NewClient(s.options())
	t.Cleanup(func() { c.Close() })
	return c
}

func (s *Server) options() *redis.Options {
	const busy = time.Minute // the machine may be
	return &redis.Options{Network: "unix", Addr: s.Addr, DB: s.db, MaxRetries: -1, Protocol: 2, ReadTimeout: busy, WriteTimeout: busy}
}

// PID is the server's process id, 0 while it is down.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

// Kill ends the server with SIGKILL and waits until it is gone. What it had not
// written to its append-only file is lost.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Stop ends the server in an orderly way and waits until it is gone.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Restart starts a server that Kill or Stop ended, on the same socket and directory.
func (s *Server) Restart() { s.start() }

// Pause freezes the server: it accepts connections, and answers nothing.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume ends a Pause.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) start() {
	s.t.Helper()
	s.private()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		s.t.Fatal("redistest: the server is running")
	}
	os.Remove(s.Addr)
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	line := arguments(s.Addr, s.dir, s.args...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { // ends when end or the server's own death is over; end waits for it
		cmd.Wait()
		close(gone)
	}()
	s.cmd, s.gone = cmd, gone
	if err := await(s.Addr, gone); err != nil {
		words, _ := os.ReadFile(log.Name())
		s.t.Fatalf("redistest: %v\n%s", err, words)
	}
}

// await returns when the server at addr answers PING, or gone is closed.
func await(addr string, gone <-chan struct{}) error {
	late := time.After(startTimeout)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		answer, err := ping(addr)
		// NOAUTH: it is up, and wants a password that we need not know.
		if strings.HasPrefix(answer, "+PONG") || strings.HasPrefix(answer, "-NOAUTH") {
			return nil
		}
		select {
		case <-gone:
			return errors.New("redis-server ended at once")
		case <-late:
			return fmt.Errorf("redis-server does not answer: %q, %v", answer, err)
		case <-tick.C:
		}
	}
}

// ping asks over a connection of its own; the driver would log every refusal.
func ping(addr string) (answer string, err error) {
	conn, err := net.Dial("unix", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return "", err
	}
	return bufio.NewReader(conn).ReadString('\n')
}

// private fails the test if it shares the server with others.
func (s *Server) private() {
	s.t.Helper()
	if s.shared {
		s.t.Fatal("redistest: a test that stops its server takes Start, not Shared")
	}
}

func (s *Server) end(sig syscall.Signal) {
	s.private()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Signal(sig)
	s.cmd.Process.Signal(syscall.SIGCONT) // a paused server hears SIGTERM only then
	<-s.gone
	s.cmd = nil
}

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	s.private()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		s.t.Fatal("redistest: the server is down")
	}
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}
