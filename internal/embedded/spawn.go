package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// maxSocket is how long the path of a socket may be, with the zero at its end.
const maxSocket = 108

// startLimit is how long a redis-server may take to read its data and answer.
const startLimit = 60 * time.Second

// Private is a redis-server of our own, beside this process: faster than the embedded
// one, and it keeps its data on disk. It belongs to one goroutine.
type Private struct {
	dir, addr string
	socket    string // beside addr; "": the path would be too long for one
	command   []string
	cmd       *exec.Cmd     // of the process that runs now
	gone      chan struct{} // closed when it was reaped
}

// Spawn starts the redis-server found in PATH with dir, which is created if need be, on
// a free port of the loopback, and returns when it answers. It ends with Close, or with
// this process. more is added to its options: "--appendonly", "no".
func Spawn(ctx context.Context, dir string, more ...string) (*Private, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errors.New("there is no redis-server in PATH; install it")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(addr)
	p := &Private{dir: dir, addr: addr, command: append([]string{
		program, "--bind", "127.0.0.1", "--port", port, "--dir", dir, "--logfile", filepath.Join(dir, "redis.log"),
		"--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--maxmemory-policy", "noeviction", "--daemonize", "no",
	}, more...)}
	if socket := filepath.Join(dir, "redis.sock"); len(socket) < maxSocket && filepath.IsAbs(socket) {
		p.socket = socket
		p.command = append(p.command, "--unixsocket", socket, "--unixsocketperm", "700")
	}
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// start runs the server and returns when it answers.
func (p *Private) start(ctx context.Context) error {
	cmd, gone := exec.Command(p.command[0], p.command[1:]...), make(chan struct{})
	p.cmd, p.gone = cmd, gone
	// A group of its own: ^C at the terminal is for us, who drain first.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	started := make(chan error)
	go func() {
		// The death signal comes when the thread ends that started the process, so this
		// one stays with it. It reports on gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
		close(gone)
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", p.command[0], err)
	}
	err := p.answers(ctx)
	if err != nil {
		p.Close()
	}
	return err
}

// Restart kills the server and starts it again, with what it had written to its file. It
// returns when the server takes connections; it may be reading its file by then.
func (p *Private) Restart(ctx context.Context) error {
	_ = p.cmd.Process.Kill() // it may be gone already
	<-p.gone
	return p.start(ctx)
}

// answers waits until the server takes connections.
func (p *Private) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if conn, err := p.dial(); err == nil {
			return conn.Close()
		}
		select {
		case <-ticker.C:
		case <-p.gone:
			return fmt.Errorf("redis-server has ended; %s says why", filepath.Join(p.dir, "redis.log"))
		case <-ctx.Done():
			return fmt.Errorf("redis-server does not answer: %w", ctx.Err())
		}
	}
}

// dial connects to what the server listens on last.
func (p *Private) dial() (net.Conn, error) {
	if p.socket == "" {
		return net.Dial("tcp", p.addr)
	}
	return net.Dial("unix", p.socket)
}

// URL is what any client on this machine can connect to.
func (p *Private) URL() string { return "redis://" + p.addr + "/0" }

// ShortestURL is the way of this user, by a Unix socket: a round trip costs both ends a
// third less.
func (p *Private) ShortestURL() string {
	if p.socket == "" {
		return p.URL()
	}
	return "unix://" + p.socket
}

// Dir is where it keeps its data.
func (p *Private) Dir() string { return p.dir }

// Close ends the server, which writes down what is left, and returns when it is gone.
func (p *Private) Close() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
	<-p.gone
}

// freeAddress finds a port of the loopback that nobody listens on at the moment.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
