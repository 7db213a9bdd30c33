//go:build linux

package nowait

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/must"

	"golang.org/x/sys/unix"
)

// pair is a connection of this package and its peer.
func pair(t *testing.T) (ours, peer net.Conn) {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	dialed := must.Get(net.Dial("tcp", l.Addr().String()))(t)
	peer = must.Get(l.Accept())(t)
	ours = Conn(dialed)
	if _, ok := ours.(*conn); !ok {
		t.Fatalf("a socket became %T", ours)
	}
	t.Cleanup(func() { ours.Close(); peer.Close() })
	return ours, peer
}

// Much more than the buffers of a socket hold arrives whole, in both directions.
func TestConnCarriesAll(t *testing.T) {
	ours, peer := pair(t)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	echoed := make(chan error, 1)
	go func() {
		_, err := io.Copy(peer, peer)
		echoed <- errors.Join(err, peer.Close())
	}()
	wrote := make(chan error, 1)
	go func() {
		n, err := ours.Write(sent)
		if n != len(sent) {
			t.Errorf("wrote %d of %d bytes", n, len(sent))
		}
		wrote <- errors.Join(err, ours.(*conn).Conn.(*net.TCPConn).CloseWrite())
	}()
	got, err := io.ReadAll(ours) // to the end, which is io.EOF
	must.Do(t, errors.Join(err, <-wrote, <-echoed))
	if !bytes.Equal(got, sent) {
		t.Errorf("%d bytes came back, or others; want the %d sent", len(got), len(sent))
	}
}

func TestConnErrors(t *testing.T) {
	ours, peer := pair(t)
	b := make([]byte, 10)

	ours.SetReadDeadline(time.Now().Add(time.Millisecond))
	var timeout net.Error
	if _, err := ours.Read(b); !errors.As(err, &timeout) || !timeout.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after its deadline a read returns %v", err)
	}
	ours.SetReadDeadline(time.Time{})

	if err := peer.(*net.TCPConn).SetLinger(0); err != nil { // its end is a reset
		t.Fatal(err)
	}
	peer.Close()
	var op *net.OpError
	if _, err := ours.Read(b); !errors.Is(err, syscall.ECONNRESET) || !errors.As(err, &op) || op.Op != "read" || op.Addr.String() != peer.LocalAddr().String() {
		t.Errorf("after a reset a read returns %v", err)
	}
	if _, err := ours.Write(b); !errors.Is(err, syscall.EPIPE) || !errors.As(err, &op) || op.Op != "write" {
		t.Errorf("after a reset a write returns %v", err)
	}

	ours.Close()
	if _, err := ours.Read(b); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a read of what is closed returns %v", err)
	}
	if _, err := ours.Write(b); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a write to what is closed returns %v", err)
	}
}

// Whoever looks whether the peer has hung up is called only if there is something to see.
func TestConnIsLookedAt(t *testing.T) {
	ours, peer := pair(t)
	look := func() (seen string) {
		raw := must.Get(ours.(syscall.Conn).SyscallConn())(t)
		must.Do(t, raw.Read(func(fd uintptr) bool {
			n, _ := Peek(int(fd), make([]byte, 1))
			seen = map[int]string{0: "the end", 1: "a byte"}[n]
			return true
		}))
		return seen
	}
	if got := look(); got != "" {
		t.Errorf("saw %s of a silent peer", got)
	}
	peer.Write([]byte("x"))
	if n, err := ours.Read(nil); n != 0 || err != nil {
		t.Errorf("a read of nothing returns %d, %v", n, err)
	}
	awaitInput(t, ours)
	if got := look(); got != "a byte" {
		t.Errorf("saw %q of a peer that wrote", got)
	}
	must.Get(ours.Read(make([]byte, 1)))(t)
	peer.Close()
	awaitInput(t, ours)
	if got := look(); got != "the end" {
		t.Errorf("saw %q of a peer that hung up", got)
	}
}

// awaitInput returns when a read would not wait.
func awaitInput(t *testing.T, c net.Conn) {
	t.Helper()
	must.Do(t, c.(*conn).RawConn.Read(func(fd uintptr) bool {
		_, err := Peek(int(fd), make([]byte, 1))
		return err != syscall.EAGAIN
	}))
}

// What is no socket stays what it is.
func TestConnOfAPipe(t *testing.T) {
	ours, peer := net.Pipe()
	defer peer.Close()
	defer ours.Close()
	if got := Conn(ours); got != ours {
		t.Errorf("a pipe became %T", got)
	}
}

func TestPipe(t *testing.T) {
	var p [2]int
	must.Do(t, unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC))
	defer unix.Close(p[0])
	b := make([]byte, 10)
	if n, err := Read(p[0], b); n != 0 || err != syscall.EAGAIN {
		t.Errorf("reading an empty pipe: %d, %v", n, err)
	}
	if n, err := Write(p[1], []byte("abc")); n != 3 || err != nil {
		t.Errorf("writing: %d, %v", n, err)
	}
	if n, err := Read(p[0], b); n != 3 || err != nil || string(b[:n]) != "abc" {
		t.Errorf("reading: %q, %v", b[:n], err)
	}
	big := make([]byte, 1<<20)
	n, err := Write(p[1], big)
	if n == 0 || n == len(big) || err != nil {
		t.Errorf("a pipe takes %d bytes at once: %v", n, err)
	}
	if n, err := Write(p[1], big); n != 0 || err != syscall.EAGAIN {
		t.Errorf("writing to a full pipe: %d, %v", n, err)
	}
	unix.Close(p[1])
	if _, err := Read(p[0], nil); err != nil {
		t.Errorf("reading nothing: %v", err)
	}
	if _, err := Read(-1, b); err != syscall.EBADF {
		t.Errorf("reading from nowhere: %v", err)
	}
}

func TestClock(t *testing.T) {
	before := must.Get(Clock(unix.CLOCK_MONOTONIC))(t)
	boot, err := Clock(unix.CLOCK_BOOTTIME)
	if err != nil || before <= 0 || boot < before {
		t.Errorf("up %v, of which awake %v: %v", boot, before, err)
	}
	if _, err := Clock(-1000000 << 3); err == nil {
		t.Error("a process that cannot be has a clock")
	}
}
