package top

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"oarlock/internal/must"
	"oarlock/internal/service"
)

// asProgram makes the test binary the program that the tests watch on a terminal.
const asProgram = "OARLOCK_TEST_TOP"

func TestMain(m *testing.M) {
	if kind := os.Getenv(asProgram); kind != "" {
		source := Source(ordinary())
		if kind == "panic" {
			source = &panicking{told: ordinary()}
		}
		if err := Run(context.Background(), Options{Source: source, Every: 20 * time.Millisecond, In: os.Stdin, Out: os.Stdout}); err != nil {
			os.Stdout.WriteString("ended: " + err.Error())
			os.Exit(1)
		}
		os.Stdout.WriteString("ended well")
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// panicking is a Source with a mistake in it, which shows at the third look.
type panicking struct {
	*told
	mu    sync.Mutex
	looks int
}

func (p *panicking) Status(ctx context.Context) (*service.Status, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.looks++; p.looks == 3 {
		panic("a mistake of the tests")
	}
	return p.told.Status(ctx)
}

// terminal is a terminal on which the program runs.
type terminal struct {
	t        *testing.T
	cmd      *exec.Cmd
	pty, tty *os.File
	before   *unix.Termios

	mu   sync.Mutex
	seen strings.Builder
	done chan struct{}
	more chan struct{} // of size 1: more was seen
}

func startOn(t *testing.T, kind string, env ...string) *terminal {
	t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, pty: ptmx, tty: tty, done: make(chan struct{}), more: make(chan struct{}, 1)}
	must.Do(t, pty.Setsize(ptmx, &pty.Winsize{Rows: 24, Cols: 80}))
	term.before = term.termios()
	self := must.Get(os.Executable())(t)
	term.cmd = exec.Command(self)
	term.cmd.Env = append([]string{asProgram + "=" + kind, "TERM=xterm-256color"}, env...)
	term.cmd.Stdin, term.cmd.Stdout, term.cmd.Stderr = tty, tty, tty
	term.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must.Do(t, term.cmd.Start())
	go func() { // ends when the terminal is closed, which the cleanup waits for
		defer close(term.done)
		buffer := make([]byte, 4096)
		for {
			n, err := ptmx.Read(buffer)
			term.mu.Lock()
			term.seen.Write(buffer[:n])
			term.mu.Unlock()
			select {
			case term.more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = term.cmd.Process.Kill()
		_ = term.cmd.Wait()
		tty.Close()
		<-term.done
		ptmx.Close()
	})
	return term
}

func (term *terminal) termios() *unix.Termios {
	term.t.Helper()
	state := must.Get(unix.IoctlGetTermios(int(term.tty.Fd()), unix.TCGETS))(term.t)
	return state
}

func (term *terminal) text() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.seen.String()
}

// await returns when the words were written to the terminal, after what was there before.
func (term *terminal) await(from int, words string) {
	term.t.Helper()
	timeout := time.After(time.Minute)
	for !strings.Contains(term.text()[from:], words) {
		select {
		case <-term.more:
		case <-timeout:
			term.t.Fatalf("no %q on the terminal: %q", words, term.text()[from:])
		}
	}
}

func (term *terminal) press(keys string) (from int) {
	term.t.Helper()
	from = len(term.text())
	must.Get(io.WriteString(term.pty, keys))(term.t)
	return from
}

// restored checks that the terminal is as it was: its modes, its screen, its cursor.
func (term *terminal) restored() {
	term.t.Helper()
	if now := term.termios(); *now != *term.before {
		term.t.Errorf("the modes of the terminal are %+v, and were %+v", now, term.before)
	}
	text := term.text()
	for _, pair := range [][2]string{{"\x1b[?1049h", "\x1b[?1049l"}, {"\x1b[?25l", "\x1b[?25h"}} {
		on, off := strings.LastIndex(text, pair[0]), strings.LastIndex(text, pair[1])
		if on < 0 || off < on {
			term.t.Errorf("%q was written at %d, and %q at %d", pair[0], on, pair[1], off)
		}
	}
}

// The screen is drawn, follows keys and the size of the terminal, and is given back however it ends.
func TestTheTerminalIsGivenBack(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(*terminal)
		says string
	}{
		{"q", func(term *terminal) { term.press("nq") }, "ended well"},
		{"^C", func(term *terminal) { term.press("\x03") }, "ended well"},
		{"TERM", func(term *terminal) { term.cmd.Process.Signal(syscall.SIGTERM) }, "ended well"},
		{"INT", func(term *terminal) { term.cmd.Process.Signal(syscall.SIGINT) }, "ended well"},
		{"HUP", func(term *terminal) { term.cmd.Process.Signal(syscall.SIGHUP) }, "ended well"},
		{"QUIT", func(term *terminal) { term.cmd.Process.Signal(syscall.SIGQUIT) }, "ended well"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			term := startOn(t, "run")
			term.await(0, "render")
			from := term.press("2")
			term.await(from, "WAITING")
			from = len(term.text())
			must.Do(t, pty.Setsize(term.pty, &pty.Winsize{Rows: 40, Cols: 140}))
			term.await(from, "mail")
			from = term.press("p")
			term.await(from, "Pause")
			tt.end(term)
			term.await(0, tt.says)
			if err := term.cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, term.text())
			}
			term.restored()
		})
	}
}

func TestTheTerminalIsGivenBackAfterAPanic(t *testing.T) {
	term := startOn(t, "panic")
	term.await(0, "a mistake of ours ended top")
	var exit *exec.ExitError
	if err := term.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("it ended with %v", err)
	}
	term.restored()
}

// Colours are of the sixteen, and none where nobody wants them.
func TestColours(t *testing.T) {
	colour := regexp.MustCompile(`\x1b\[[0-9;:]*m`)
	wide := regexp.MustCompile(`[34]8[;:][25]`)
	coloured := func(env ...string) (all []string) {
		term := startOn(t, "run", env...)
		term.await(0, "render")
		term.press("q")
		term.await(0, "ended well")
		return colour.FindAllString(term.text(), -1)
	}
	some := strings.Join(coloured(), "")
	if !strings.Contains(some, "31") || wide.MatchString(some) {
		t.Errorf("colours are %q", some)
	}
	for _, code := range coloured("NO_COLOR=1") {
		if regexp.MustCompile(`(^|[^0-9])[34][0-7]([^0-9]|$)`).MatchString(code) {
			t.Errorf("with NO_COLOR: %q", code)
		}
	}
}
